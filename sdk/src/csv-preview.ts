import { type CsvFile, type Item, type Mapping, NO_COLUMN } from './csv.ts'

/** Facts about a file that a seller sees before its import. The dashboard and the command line share this module. */

/** Columns of an export, and of a file of failed rows, that are not fields. They are not worth a message. */
export const UNREAD = ['id', 'name', 'status', 'reason', NO_COLUMN]

/** The names of columns that have values and are not read. A later column with the same name has its position as well. */
export function ignoredColumns({ columns, rows }: CsvFile, mapping: Mapping): string[] {
  const read = new Set(Object.values(mapping))
  return columns.flatMap((name, i) => {
    if (read.has(i) || UNREAD.includes(name.toLowerCase())) return []
    if (rows.every(({ values }) => values[i]!.trim() === '')) return []
    return columns.indexOf(name) < i ? `${name} (column ${i + 1})` : name
  })
}

/** The stock of listable items, and its value in euros. The service rounds prices to cents. */
export function totalsOf(items: Item[]): { units: number; value: number } {
  let units = 0
  let cents = 0
  for (const { price, quantity } of items) {
    units += Number(quantity)
    cents += Math.round(Number(`${price}e2`)) * Number(quantity)
  }
  return { units, value: cents / 100 }
}

/**
 * The warning about an export of this shop, whose listings would be on sale twice; undefined for another file. This shop has
 * no listing with the ids of another shop's export.
 *
 * @param rows those that can be listed
 * @param hasListing asks the service; false without a response
 */
export async function ownExportWarning(
  { columns }: CsvFile,
  rows: { values: string[] }[],
  hasListing: (id: number) => Promise<boolean>,
): Promise<string | undefined> {
  const column = columns.findIndex((name) => name.toLowerCase() === 'id')
  const ids = rows
    .map(({ values }) => (values[column] ?? '').trim())
    .filter((id) => /^\d+$/.test(id) && Number.isSafeInteger(Number(id)))
  if (ids.length === 0) return undefined
  // Some may be deleted.
  const asked = new Set([0, ids.length >> 1, ids.length - 1].map((i) => Number(ids[i])))
  const areOwn = await Promise.all([...asked].map(hasListing))
  return areOwn.includes(true)
    ? `The file looks like an export of this shop: ${ids.length} ${ids.length === 1 ? 'row' : 'rows'} with an id would be listed again. To change listings, use the dashboard’s page Listings, or "cardstall listings reprice".`
    : undefined
}
