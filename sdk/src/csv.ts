import Papa from 'papaparse'

/**
 * Reads CSV files of listings: bytes → rows → items for a bulk create, with messages. The dashboard and the command line
 * share this module, so that both report the same.
 */

/** The fields of an item that a column can have, in the order of the guide. */
export const FIELDS = [
  'card',
  'product',
  'condition',
  'language',
  'printing',
  'price',
  'quantity',
  'grading_company',
  'grading_grade',
  'description',
  'photo_urls',
  'language_hint',
  'reference',
] as const

export type Field = (typeof FIELDS)[number]

export const MAX_BYTES = 20 * 1024 * 1024
export const MAX_ROWS = 100_000

/** Three quarters of what the service accepts in a request. */
const MAX_BATCH_BYTES = 3 * 1024 * 1024

/**
 * Longest values that the service accepts, in characters. It refuses longer values of the other fields, or ignores them,
 * however long they are.
 */
const MAX_LENGTHS: Partial<Record<Field, number>> = {
  card: 100,
  product: 150,
  price: 100,
  quantity: 100,
  description: 1_000,
  reference: 100,
}
const MAX_PHOTOS = 10
const MAX_URL_LENGTH = 2_048

/** Characters of a refused value that are sent. */
const REFUSED_LENGTH = 100

/**
 * Name of the columns beyond the header, and of columns without a name in a file that commas separate. It is in the file of
 * the failed rows too: a row that nobody has corrected fails again.
 */
export const NO_COLUMN = '(no column)'

/** An empty value beyond the header, where it shows that a decimal comma may have made two values of one. */
const EMPTY = '(empty)'

/** The warning about a price that a comma outside quotes may have cut. It is the same for all rows, to group them. */
export const CUT_PRICE =
  'The price has no decimals, but a comma outside quotes may have cut it: check the price and the values after it.'

/** The file can't be read as a whole. The message is for people. */
export class CsvError extends Error {
  override name = 'CsvError'
}

export type CsvFile = {
  columns: string[]
  rows: CsvRow[]
  /** A spreadsheet of the same person expects it in the file of the failed rows as well. */
  separator: string
  /** Whether commas separate a row into more values than the header has columns: other prices may be cut, too. */
  hasCutRows: boolean
}

export type CsvRow = {
  /** The number that a spreadsheet shows, from 1: empty rows count, line breaks in quotes do not. */
  number: number
  /** Values by column. Short rows are filled with empty values. */
  values: string[]
}

/** The column of each field, by its position; null for a field that the file doesn't have. */
export type Mapping = Record<Field, number | null>

/** An item of a bulk create as far as the row has its fields. */
export type Item = Partial<Record<Field, string | number | string[]>>

export type Messages = Record<string, string[]>

export type ReadRow = {
  item: Item
  /** Values that are not numbers, too long to send, or more than the columns. The service checks everything else. */
  errors: Messages
  /** Values that may mean something else for their writer, or are ignored. */
  warnings: string[]
  /** How important the warnings are: 2 for a price that may be cut, 1 for a doubtful number. */
  risk: number
  /** A number whose decimal comma or euro sign leaves no doubt: one note for the file is enough. */
  note: string | undefined
}

/**
 * Reads UTF-8 with or without a byte order mark, separated by comma, semicolon or tab. Lines end with LF, CRLF or CR; those
 * in quotes become LF. A first line such as `sep=;` names the separator. The first row that is not empty has the columns;
 * other empty rows are left out.
 *
 * @throws CsvError
 */
export function readCsv(bytes: Uint8Array): CsvFile {
  if (bytes.length > MAX_BYTES) throw new CsvError('The file is larger than 20 MB.')
  const whole = decoded(bytes)
  const [line, named] = FIRST_LINE.exec(whole) ?? ['']
  const text = whole.slice(line.length)
  const separator = named ?? separatorOf(text)
  const { data, errors } = Papa.parse<string[]>(text, { delimiter: separator })
  const quotes = errors.find(({ type }) => type === 'Quotes')
  if (quotes) {
    const near = `(near row ${(quotes.row ?? 0) + 1})`
    throw new CsvError(
      quotes.code === 'InvalidQuotes'
        ? `Text follows a closing quotation mark ${near}, or an earlier mark is not closed. Write a mark inside a value twice.`
        : `A quotation mark is not closed ${near}.`,
    )
  }
  const [header, ...rows] = data.flatMap((values, i) =>
    isEmpty(values) ? [] : { number: i + 1, values },
  )
  if (!header || rows.length === 0) throw new CsvError('The file has no rows below its header.')
  if (rows.length > MAX_ROWS) throw new CsvError('The file has more than 100,000 rows.')
  const { length } = header.values
  const width = Math.max(length, ...lengthsOf(rows))
  const hasCommas = separator === ','
  // The first column is often a number that a program has added. No decimal comma moves a value into it.
  const names = header.values.map(
    (name, i) => name.trim() || (hasCommas && i > 0 ? NO_COLUMN : `Column ${i + 1}`),
  )
  const columns = Array.from({ length: width }, (_, i) => names[i] ?? NO_COLUMN)
  const read = rows.map(({ number, values }) => {
    const texts = values.map(withoutMark)
    // Spreadsheets fill all rows to the same width. A longer one has more values, even if the last of them are empty.
    const marked = texts.map((text, i) => (i >= length && text.trim() === '' ? EMPTY : text))
    return { number, values: filled(hasCommas ? marked : texts, width) }
  })
  const hasCutRows =
    hasCommas && read.some(({ values }) => tooManyValuesError(values, columns) !== undefined)
  return { columns, rows: read, separator, hasCutRows }
}

/**
 * Texts that a spreadsheet would take for formulas, which can send a shop's data to others; a number is none. Files that we
 * write have an apostrophe in front of them, which `readCsv` removes.
 */
export const FORMULA = /^'*(?:[=@\t\r]|[+-](?![\d.,]*$))/

const withoutMark = (text: string) =>
  text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text

/** A line of Excel that names the separator. Spreadsheets neither show nor count it. */
const FIRST_LINE = /^"?sep=([,;\t])"?\n/i

/** Guesses the separator, without the empty rows: they have none. */
const separatorOf = (text: string): string =>
  Papa.parse(text, {
    delimitersToGuess: [',', ';', '\t'],
    skipEmptyLines: 'greedy',
    preview: 1,
  }).meta.delimiter

const isEmpty = (values: string[]) => values.every((value) => value.trim() === '')

/** Without spreading the rows: a call can't have a hundred thousand arguments. */
const lengthsOf = (rows: CsvRow[]) => [...new Set(rows.map(({ values }) => values.length))]

const filled = (row: string[], width: number) =>
  row.length === width ? row : Array.from({ length: width }, (_, i) => row[i] ?? '')

/** The text of a file with LF at the end of each line: a file that was joined from two can have several line ends. */
function decoded(bytes: Uint8Array): string {
  // No valid file has NUL, and UTF-16 has it in each separator. Without a byte order mark, such a file can be valid UTF-8.
  if (bytes.includes(0)) throw new CsvError(NOT_UTF8)
  try {
    // It drops a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replaceAll(/\r\n?/g, '\n')
  } catch {
    throw new CsvError(NOT_UTF8)
  }
}

const NOT_UTF8 = 'The file is not UTF-8. In Excel, save it as “CSV UTF-8”.'

/** Other names of columns, in lower case with single underscores. */
const ALIASES: Record<string, Field> = {
  card_id: 'card',
  product_slug: 'product',
  slug: 'product',
  cond: 'condition',
  lang: 'language',
  finish: 'printing',
  price_eur: 'price',
  qty: 'quantity',
  amount: 'quantity',
  stock: 'quantity',
  count: 'quantity',
  grader: 'grading_company',
  grade: 'grading_grade',
  comment: 'description',
  comments: 'description',
  notes: 'description',
  photos: 'photo_urls',
  images: 'photo_urls',
  sku: 'reference',
}

/** The positions of the columns with the name of each field, or with another name for it if no column has this one. */
function positionsOf(columns: string[]): [Field, number[]][] {
  const names = columns.map((column) =>
    column
      .trim()
      .toLowerCase()
      .replaceAll(/[\s_-]+/g, '_'),
  )
  return FIELDS.map((field) => {
    const name = names.includes(field) ? field : names.find((name) => ALIASES[name] === field)
    return [field, names.flatMap((other, i) => (other === name ? [i] : []))]
  })
}

/**
 * Finds the column of each field by its name, or by another name if no column has this one. The first of several other
 * names wins. A field has no column if several have the same name for it.
 */
export const guessMapping = (columns: string[]): Mapping =>
  Object.fromEntries(
    positionsOf(columns).map(([field, [first = null, ...more]]) => [
      field,
      more.length > 0 ? null : first,
    ]),
  ) as Mapping

/** The fields for which several columns have the same name: only the seller knows which one to read. */
export const repeatedFields = (columns: string[]): Field[] =>
  positionsOf(columns).flatMap(([field, positions]) => (positions.length > 1 ? [field] : []))

const OFF_SALE = new Set(['sold', 'hidden'])

/**
 * The positions of rows that an import leaves out: an exported file has the status of each listing, and a listing that was
 * not on sale must not go on sale by its import.
 */
export function leftOutRows({ columns, rows }: CsvFile): Set<number> {
  const status = statusColumn(columns)
  return new Set(
    rows.flatMap(({ values }, position) =>
      OFF_SALE.has((values[status] ?? '').trim().toLowerCase()) ? position : [],
    ),
  )
}

const statusColumn = (columns: string[]) =>
  columns.findIndex((column) => column.toLowerCase() === 'status')

/**
 * The message about a row with the status of another program, such as a draft or “verkauft”: it may mean that the item is
 * not on sale. A column that is read as a field has its values, and no status.
 */
function unknownStatusError(
  row: string[],
  mapping: Mapping,
  columns: string[],
): string | undefined {
  const column = statusColumn(columns)
  const status = (row[column] ?? '').trim()
  const isKnown = ['', 'active', ...OFF_SALE].includes(status.toLowerCase())
  return isKnown || Object.values(mapping).includes(column)
    ? undefined
    : `The status “${short(status)}” is not active, sold or hidden. Rows that are sold or hidden are left out: empty the status to list the row.`
}

/**
 * The message about a row that has a value beyond the header, or under a column without a name: a decimal comma outside
 * quotes has made two values of one, and the values after it are in columns of others.
 *
 * @param read the columns that the seller has chosen
 */
export function tooManyValuesError(
  row: string[],
  columns: string[],
  read: (number | null)[] = [],
): string | undefined {
  return row.some((value, i) => columns[i] === NO_COLUMN && value.trim() && !read.includes(i))
    ? `The row has more values than the header has columns: put each value that contains the separator in quotes, and give each column a name. In the file of failed rows, leave the column ${NO_COLUMN} empty.`
    : undefined
}

/**
 * Whether a comma outside quotes may have made two values of the price: it has no decimals, and either another row of the
 * file has too many values, or this one lacks an empty value at its end and looks like a complete row. Then a number of two
 * or three digits follows the price, and another one is where no number is expected. One digit is enough if that is the
 * description.
 */
export function isPriceCut(
  row: string[],
  { price, quantity, description }: Pick<Mapping, 'price' | 'quantity' | 'description'>,
  { separator, hasCutRows }: CsvFile,
): boolean {
  if (separator !== ',' || price === null) return false
  const at = (position: number) => (row[position] ?? '').trim()
  if (!/\d/.test(at(price)) || /[.,]/.test(at(price))) return false
  if (hasCutRows) return true
  const cents = at(price + 1)
  const moved = Math.max(price, quantity ?? price) + 1
  return (
    /^\d{1,3}$/.test(cents) &&
    /^\d+$/.test(at(moved)) &&
    (cents.length > 1 || moved === description)
  )
}

/** Reads one row of the file. Empty values count as absent. */
export function readRow(row: string[], mapping: Mapping, file: CsvFile): ReadRow {
  const item: Item = {}
  const tooMany = tooManyValuesError(row, file.columns, Object.values(mapping))
  const errors: Messages = tooMany === undefined ? {} : { row: [tooMany] }
  const warnings: string[] = []
  let risk = 0
  let firstNote: string | undefined
  if (isPriceCut(row, mapping, file)) {
    warnings.push(CUT_PRICE)
    risk = 2
  }
  for (const field of FIELDS) {
    const position = mapping[field]
    const text = position === null ? '' : (row[position] ?? '').trim()
    if (text === '' || (text === EMPTY && file.columns[position!] === NO_COLUMN)) continue
    const tooLong =
      field === 'photo_urls' ? photosError(text) : lengthError(field, text, MAX_LENGTHS[field])
    if (tooLong !== undefined) {
      errors[field] = [tooLong]
      // The service still checks the other fields. Without a card it would also say that the row names none.
      item[field] = short(text)
    } else if (field === 'price' || field === 'quantity') {
      const { value, error, warning, note } = readNumberField(field, text)
      if (value !== undefined) item[field] = value
      if (error !== undefined) errors[field] = [error]
      firstNote ??= note
      if (warning !== undefined) {
        warnings.push(warning)
        risk ||= 1
      }
    } else {
      item[field] = READERS[field]?.(text) ?? text
    }
  }
  const status = unknownStatusError(row, mapping, file.columns)
  if (status !== undefined) errors.status = [status]
  const ignored = ignoredGrade(item)
  if (ignored !== undefined) warnings.push(ignored)
  return { item, errors, warnings, risk, note: firstNote }
}

/** Rows in the order in which people should see their warnings. */
export const byRisk = <T extends { risk: number }>(rows: T[]): T[] =>
  [...rows].sort((a, b) => b.risk - a.risk)

/** One note about all numbers of a file whose decimal comma or euro sign leaves no doubt. */
export function usualNote(rows: { note: string | undefined }[]): string | undefined {
  const [first, ...more] = rows.flatMap(({ note = [] }) => note)
  if (first === undefined || more.length === 0) return first && `${first}.`
  const others = `${more.length} more ${more.length === 1 ? 'row' : 'rows'}`
  return `${first}, and ${others} in the same way.`
}

/**
 * The warning about an item of a set in another language than its row's. English cards also stand for languages in which the
 * catalog has no set, and a seller who has named the language of the set knows it.
 *
 * @param found the item that the check has found
 */
export function otherLanguage(
  { language, language_hint: hint }: Item,
  found: { language: string | null } | undefined,
): string | undefined {
  const own = found?.language ?? 'EN'
  return own === 'EN' || own === language || hint !== undefined
    ? undefined
    : `The item is from a set in ${own}, but its language is ${language}: check which of them is right.`
}

/** The warning about the grade of a card that is listed as an ungraded one: the service ignores it. */
function ignoredGrade(item: Item): string | undefined {
  const { product, condition = 'G', grading_company: company, grading_grade: grade } = item
  const given = [company, grade].filter((text) => text !== undefined)
  return product === undefined && condition !== 'G' && given.length > 0
    ? `${given.join(' ')} is ignored, because the condition is ${condition}: a graded card has the condition G.`
    : undefined
}

/** The message about a value that is longer than the service accepts, in the service's words. */
export function lengthError(field: string, text: string, max = Infinity): string | undefined {
  // The service counts code points.
  if (text.length <= max || [...text.slice(0, 2 * max + 1)].length <= max) return undefined
  return `The ${field} field must not be longer than ${max} characters.`
}

function photosError(text: string): string | undefined {
  const urls = urlsIn(text)
  if (urls.length > MAX_PHOTOS) {
    return `The photo_urls field must not have more than ${MAX_PHOTOS} entries.`
  }
  return urls
    .map((url, i) => lengthError(`photo_urls.${i}`, url, MAX_URL_LENGTH))
    .find((error) => error !== undefined)
}

/**
 * Addresses that are separated by spaces, or by one of the separators of other programs: next to a space, in front of
 * another address, or at the end. Addresses can contain these, too.
 */
const urlsIn = (text: string): string[] =>
  text.split(/\s*[,;|]?\s+|[,;|](?=https?:\/\/)|[,;|]$/i).filter(Boolean)

const short = (text: string) => text.slice(0, REFUSED_LENGTH)

const upper = (text: string) => short(text).toUpperCase()

const READERS: Partial<Record<Field, (text: string) => string | string[]>> = {
  condition: upper,
  language: upper,
  language_hint: upper,
  printing: (text) =>
    short(text)
      .toLowerCase()
      .replaceAll(/[\s-]+/g, '_'),
  grading_company: upper,
  // Spreadsheets turn 9.0 into 9.
  grading_grade: (text) => {
    const grade = short(text).replace(',', '.')
    return /^\d+$/.test(grade) ? `${grade}.0` : grade
  },
  photo_urls: urlsIn,
}

/**
 * Reads a number in a column, with the message about a value that is none, the warning about one that may mean another
 * number, or the note about a decimal comma or a euro sign.
 */
export function readNumberField(
  field: string,
  text: string,
): { value?: number; error?: string; warning?: string; note?: string } {
  const { value, reading, meanings } = readNumber(text)
  // An amount of euros is not a quantity: a decimal comma outside quotes may have moved it.
  if (value === undefined || (field !== 'price' && text.search(CURRENCY) >= 0)) {
    const problem = meanings
      ? `can mean two numbers: “${text}”. Write ${meanings.join(' or ')}.`
      : `must be a number: “${text}”.`
    return { error: `The ${field} field ${problem}` }
  }
  if (reading === undefined) return { value }
  // The service rounds prices to cents.
  const cents = field === 'price' && Math.round(Number(`${value}e2`))
  const listed = cents ? (cents / 100).toFixed(2) : value
  const sentence = `${field} “${text}” was read as ${listed}`
  return reading === 'usual' ? { value, note: sentence } : { value, warning: `${sentence}.` }
}

/**
 * `reading` is absent if the text is a number as in the API, 'usual' if only its decimal comma or euro sign differs, and
 * 'doubtful' if it may mean another number for its writer.
 */
type NumberRead = { value?: number; reading?: 'usual' | 'doubtful'; meanings?: [number, number] }

const CURRENCY = /^(?:€|EUR)|(?:€|EUR)$/gi

/** Thousands may be separated, all in the same way. `12,-` has no cents. */
const NUMBER =
  /^([-−]?)(\d+|[1-9]\d{0,2}(?:([.,\s’'])\d{3})(?:\3\d{3})*)(?:([.,])(\d*|[-–—]{1,2}))?$/

/**
 * Reads a number with a decimal point or comma. Separators of thousands and a euro sign at either end are accepted. A comma
 * or point before three digits can separate thousands or decimals: there is no value then, only both meanings. Negative
 * numbers are read as well, so that the service can say which numbers it accepts.
 */
export function readNumber(text: string): NumberRead {
  const bare = text.replaceAll(CURRENCY, '').trim()
  const [matched, sign, whole = '', separator, point, decimals = ''] = NUMBER.exec(bare) ?? []
  if (matched === undefined || (separator && separator === point)) return {}
  const signed = (digits: string) => (sign ? -1 : 1) * Number.parseFloat(digits)
  if (!separator && /^[1-9]\d{0,2}$/.test(whole) && /^\d{3}$/.test(decimals)) {
    const cents = Math.round(Number(`${whole}.${decimals}e2`))
    return { meanings: [signed(whole + decimals), signed(`${cents / 100}`)] }
  }
  const value = signed(`${whole.replaceAll(/\D/g, '')}.${decimals}`)
  if (/^-?\d+(\.\d\d?)?$/.test(text)) return { value }
  const isUsual = !separator && (point === undefined || /^.{1,2}$/.test(decimals))
  return { value, reading: isUsual ? 'usual' : 'doubtful' }
}

/** The messages of a row. The service reports an item without card and product under both fields; it is one mistake. */
export const messagesOf = (errors: Messages = {}): string[] => [
  ...new Set(Object.values(errors).flat()),
]

/**
 * Messages for the rows whose reference an earlier row has, by their positions. The service lists the first row with a
 * reference and refuses the others.
 *
 * @param rows those that can be listed otherwise, in the order of the file
 */
export function repeatedReferences(
  rows: { position: number; number: number; item: Item }[],
): Map<number, string> {
  const first = new Map<string, number>()
  const messages = new Map<number, string>()
  for (const { position, number, item } of rows) {
    if (item.reference === undefined) continue
    const reference = String(item.reference)
    const earlier = first.get(reference)
    if (earlier === undefined) first.set(reference, number)
    else messages.set(position, `Row ${earlier} has the same reference “${reference}”.`)
  }
  return messages
}

/**
 * Cuts rows into batches of at most `max` that fit into one request each. The batches after one of them depend on its end
 * only, so that an interrupted import continues with the same.
 *
 * @param itemOf the item that is sent for a row
 */
export function inBatches<T>(rows: T[], max: number, itemOf: (row: T) => unknown): T[][] {
  const batches: T[][] = []
  const encoder = new TextEncoder()
  let batch: T[] = []
  let bytes = 0
  for (const row of rows) {
    const added = encoder.encode(JSON.stringify(itemOf(row))).length + 1
    if (batch.length === 0 || batch.length === max || bytes + added > MAX_BATCH_BYTES) {
      batch = []
      bytes = 0
      batches.push(batch)
    }
    batch.push(row)
    bytes += added
  }
  return batches
}

/**
 * The item with the canonical id of the card that its check has found: before it is listed, an import of the catalog can
 * give its friendly id to another card.
 *
 * @param card null or undefined for an item without a card
 */
export function withCard(item: Item, card: string | null | undefined): Item {
  if (!card) return item
  const { language_hint, ...rest } = item
  return { ...rest, card }
}

/**
 * The rows that failed, with all of their columns and the reason, to correct and import again. The reason of a former
 * import is replaced.
 */
export function failedCsv(
  columns: string[],
  failed: { row: string[]; reason: string }[],
  separator = ',',
): string {
  const width = columns.at(-1) === 'reason' ? columns.length - 1 : columns.length
  const fields = [...columns.slice(0, width), 'reason']
  const data = failed.map(({ row, reason }) => [...row.slice(0, width), reason])
  // Excel reads UTF-8 only after a byte order mark.
  const text = Papa.unparse([fields, ...data], { delimiter: separator, escapeFormulae: FORMULA })
  return `\ufeff${text}\r\n`
}
