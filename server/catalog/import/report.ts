export type ImportCounts = { created: number; updated: number; unchanged: number; rejected: number }

/**
 * The result of an import. Every line counts once; a line that a later one of the same key supersedes counts as
 * unchanged. `errors` and `warnings` hold the first hundred rejected and superseded lines in the order of the source.
 */
export type ImportReport<Place = number> = ImportCounts & {
  errors: { line: Place; message: string }[]
  warnings: Warning<Place>[]
  /** All superseded lines, also those that `warnings` leaves out. */
  superseded: number
}

/** `line` has the same key as the later line `superseded_by`, which wins. */
export type Warning<Place> = { line: Place; superseded_by: Place; message: string }

const MAX_LISTED = 100

/** Counts the lines of one import. A position is a line's place in the order of the source. */
export class Tally<Place> {
  readonly counts: ImportCounts = { created: 0, updated: 0, unchanged: 0, rejected: 0 }
  #superseded = 0
  readonly #errors = new FirstByPosition<ImportReport<Place>['errors'][number]>()
  readonly #warnings = new FirstByPosition<Warning<Place>>()

  reject(position: number, line: Place, message: string): void {
    this.counts.rejected++
    this.#errors.add(position, { line, message })
  }

  /** @param label type and key of the record, such as `card base1-4` */
  supersede(position: number, line: Place, supersededBy: Place, label: string): void {
    this.counts.unchanged++
    this.#superseded++
    const message = `${label}: line ${line} is superseded by line ${supersededBy}`
    this.#warnings.add(position, { line, superseded_by: supersededBy, message })
  }

  report(): ImportReport<Place> {
    return {
      ...this.counts,
      errors: this.#errors.values,
      warnings: this.#warnings.values,
      superseded: this.#superseded,
    }
  }
}

/** Keeps the first entries by position; they may be added in any order. */
class FirstByPosition<T> {
  readonly #entries: { position: number; value: T }[] = []

  add(position: number, value: T): void {
    const before = this.#entries.findLastIndex((entry) => entry.position <= position)
    if (before + 1 >= MAX_LISTED) return
    this.#entries.splice(before + 1, 0, { position, value })
    if (this.#entries.length > MAX_LISTED) this.#entries.pop()
  }

  get values(): T[] {
    return this.#entries.map(({ value }) => value)
  }
}
