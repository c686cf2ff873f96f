import type { List } from '@cardstall/sdk'
import type { Column, Output } from './output.ts'

/**
 * Prints the first records of a list. A note says if there are more.
 *
 * @param name of the records, in the plural
 */
export async function printList<T extends object>(
  out: Output,
  list: List<T>,
  { limit, columns, name }: { limit: number; columns: Column<T>[]; name: string },
): Promise<void> {
  const records: T[] = []
  let total = 0
  for await (const { data, meta } of list.pages()) {
    records.push(...data)
    total = meta.total
    if (records.length >= limit) break
  }
  out.records(records.slice(0, limit), columns)
  noteCut(out, { limit, total, name })
}

/** Says that a limit has cut a list, also if the output is JSON: a script would take it for all records. */
export function noteCut(
  out: Output,
  { limit, total, name }: { limit: number; total: number; name: string },
): void {
  if (total > limit) out.warn(`${limit} of ${total} ${name}: --limit shows more.`)
}
