import {
  type CsvFile,
  type Item,
  inBatches,
  leftOutRows,
  type Mapping,
  messagesOf,
  otherLanguage,
  readRow,
  repeatedFields,
  repeatedReferences,
} from '../../../sdk/src/csv.ts'
import type { MAX_CHECKED } from '../../../server/http/shapes/checked-item.ts'
import { ApiError, get } from '../client.ts'
import { type Checked, checkItems, untilAnswered } from './api.ts'

const CHECKED_AT_ONCE: typeof MAX_CHECKED = 500

/** A row of the file with all that is known about it. */
export type Row = {
  position: number
  number: number
  item: Item
  warnings: string[]
  risk: number
  note: string | undefined
  reasons: string[]
  candidates: Candidate[]
  /** The name and the card that the check has found. */
  name: string | undefined
  card: string | null | undefined
}

export type Candidate = { id: string; name: string; number: string; set: string; language: string }

/** Whether a row has no mistakes. */
export const isListable = ({ reasons }: Row) => reasons.length === 0

/** Whether the shop has a listing. */
export const hasListing = (id: number, signal: AbortSignal) =>
  untilAnswered(() => get(`listings/${id}`, { signal, isSave: true }), signal).then(
    () => true,
    (error) => {
      if (error instanceof ApiError && error.status === 404) return false
      throw error
    },
  )

/** The fields that tell a seller which card a row means: a choice applies to the rows that share them. */
export const wantedBy = ({ card, language_hint: hint, language }: Item) =>
  JSON.stringify([card, hint, language])

/** The service's answers about items, by the items' JSON. */
export type Answers = Map<string, Checked>

const answerKeyOf = ({ item }: { item: Item }) => JSON.stringify(item)

/** Reads the rows of listings that were on sale, and checks those with the service that have no answer yet. */
export async function checkAll(
  csv: CsvFile,
  mapping: Mapping,
  choices: ReadonlyMap<string, string>,
  answers: Answers,
  signal: AbortSignal,
  report: (done: number) => void,
): Promise<Row[]> {
  const { columns, rows } = csv
  const repeated = repeatedFields(columns).find((field) => mapping[field] === null)
  if (repeated !== undefined) {
    throw new Error(`The file has the column “${repeated}” twice. Choose the one to read.`)
  }
  const leftOut = leftOutRows(csv)
  const read = rows.flatMap(({ values }, position) =>
    leftOut.has(position) ? [] : { position, ...readRow(values, mapping, csv) },
  )
  for (const { item } of read) {
    const chosen = choices.get(wantedBy(item))
    if (chosen !== undefined) item.card = chosen
  }
  const unchecked = read.filter((row) => !answers.has(answerKeyOf(row)))
  let done = read.length - unchecked.length
  report(done)
  const chunks = inBatches(unchecked, CHECKED_AT_ONCE, ({ item }) => item)
  const work = async () => {
    for (let chunk = chunks.shift(); chunk; chunk = chunks.shift()) {
      const { data } = await untilAnswered(() => checkItems(chunk.map(({ item }) => item)), signal)
      signal.throwIfAborted()
      for (const [i, row] of chunk.entries()) answers.set(answerKeyOf(row), data[i]!)
      done += chunk.length
      report(done)
    }
  }
  await Promise.all([work(), work()])
  const all: Row[] = []
  for (const { position, item, errors, warnings, risk, note } of read) {
    const checked = answers.get(answerKeyOf({ item }))!
    // The item lacks a value that is not a number or too long: its own message says more.
    const merged = { ...checked.errors, ...errors }
    const warning = otherLanguage(item, checked.item)
    all[position] = {
      position,
      number: rows[position]!.number,
      item,
      warnings: warning === undefined ? warnings : [...warnings, warning],
      risk: warning === undefined ? risk : Math.max(1, risk),
      note,
      reasons: messagesOf(merged),
      // The likely ones first.
      candidates: (checked.candidates ?? []).toSorted(
        (a, b) => Number(b.language === item.language) - Number(a.language === item.language),
      ),
      name: checked.item && `${checked.item.name}, ${checked.item.details}`,
      card: checked.item?.card,
    }
  }
  // Without the positions of rows that are left out.
  const checked = all.flat()
  const listable = checked.filter(isListable)
  for (const [position, message] of repeatedReferences(listable)) {
    all[position]!.reasons.push(message)
  }
  return checked
}
