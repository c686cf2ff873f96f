import type { Db, Fragment } from './sql.ts'
import type { Begin } from './transactions.ts'

/** A requested page of a list (§8). */
export type Page = { perPage: number; offset: number }

/** The rows of a page: `size` rows after `skipped` ones, counted from the start or the end of the list. */
export type Window = {
  size: number
  skipped: number
  fromEnd: boolean
  /**
   * The list has few rows. PostgreSQL doesn't know that: because of LIMIT, it may go through a table in the order of the
   * list until it finds the last one. If no index has all filters, a subquery with `offset 0` finds all rows, which are
   * then sorted.
   */
  isShort: boolean
}

/** Rows of a list that is short: more than some pages, and few enough to sort. */
const MAX_SHORT = 1_000

/**
 * The window of a page, reached from the nearer end, because OFFSET reads every skipped row. The last page costs as
 * much as the first. Undefined for a page past the end. `total` must come from the same snapshot as the rows; otherwise
 * the page skips rows that were added in between.
 */
export function windowOf({ perPage, offset }: Page, total: number): Window | undefined {
  const size = Math.min(perPage, total - offset)
  if (size <= 0) return undefined
  const after = total - offset - size
  const fromEnd = after < offset
  return { size, fromEnd, skipped: fromEnd ? after : offset, isShort: total <= MAX_SHORT }
}

/**
 * Reads a page of a list and the total of the matching rows, in one snapshot. `rows` selects those of the window in the
 * order of the list, or in the opposite order if the window is counted from the end.
 */
export const readPage = <Row>(
  { begin }: { begin: Begin },
  page: Page,
  list: (db: Db) => {
    total: PromiseLike<{ total: number }[]>
    rows: (window: Window) => PromiseLike<Row[]>
  },
): Promise<{ rows: Row[]; total: number }> =>
  begin(async (db) => {
    const { total: counting, rows: select } = list(db)
    const [counted] = await counting
    const total = counted?.total ?? 0
    const window = windowOf(page, total)
    const rows = window ? await select(window) : []
    return { rows: window?.fromEnd ? rows.toReversed() : rows, total }
  }, 'snapshot')

/**
 * Reads a page of records, newest first, and the total of the matching ones, in one snapshot.
 *
 * @param idsIn selects the ids of the matching records, in any order
 * @param read reads the records with these ids, in this order
 * @param kept selects their number as `total` where that is kept; otherwise they are counted
 */
export const readNewestPage = <Row>(
  ctx: { begin: Begin },
  page: Page,
  idsIn: (db: Db) => Fragment,
  read: (db: Db, ids: number[]) => Promise<Row[]>,
  kept?: (db: Db) => Fragment,
): Promise<{ rows: Row[]; total: number }> =>
  readPage(ctx, page, (db) => {
    const matching = idsIn(db)
    return {
      total: db<{ total: number }[]>`${
        kept?.(db) ?? db`select count(*) as total from (${matching}) matching`
      }`,
      rows: async ({ size, skipped, fromEnd }) => {
        const rows = await db<{ id: number }[]>`
          select id
          from (${matching}) matching
          order by id ${fromEnd ? db`` : db`desc`}
          limit ${size}
          offset ${skipped}
        `
        return read(
          db,
          rows.map(({ id }) => id),
        )
      },
    }
  })
