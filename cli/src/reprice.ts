import { readFile } from 'node:fs/promises'
import { type ListingChange, NotFoundError, type OwnListing } from '@cardstall/sdk'
import type { Command } from 'commander'
import { messagesOf } from '../../sdk/src/csv.ts'
import { type Failure, fingerprint, newJournal, readJournal, sendBatches } from './batches.ts'
import { counted, csvOf } from './import.ts'
import { agree } from './questions.ts'
import { CommandError, EXIT, openSession, type Session } from './session.ts'

const BATCH_SIZE = 1_000

const UNKNOWN = 'It may be changed already: check it before you change it again.'

/** Columns of the file, and how their values are read. */
const READERS: Record<string, (text: string) => unknown> = {
  id: whole,
  reference: (text) => text,
  price: (text) => decimal(text),
  quantity: whole,
  quantity_delta: whole,
  status: (text) => text.toLowerCase(),
}

/** `listings reprice`. */
export function repriceCommand(listings: Command): void {
  listings
    .command('reprice')
    .argument('<file>', 'CSV file')
    .description(
      'change listings from a CSV file with id or reference, and price, quantity, quantity_delta or status',
    )
    .option('--yes', 'do not ask')
    .action(async (path: string, { yes }: { yes?: boolean }, command: Command) => {
      const session = await openSession(command)
      const { client, out, profile } = session
      const bytes = await readFile(path).catch((error: Error) => {
        throw new CommandError(`${path} cannot be read: ${error.message}`, EXIT.usage)
      })
      const changes = readChanges(bytes)
      const { id } = await client.me()
      const file = `${path}.reprice`
      const of = fingerprint(bytes, JSON.stringify([profile.url, id]))
      let journal = await readJournal(file, of)
      if (journal) {
        out.note(`Continuing after ${journal.done} of ${journal.rows.length} rows.`)
      } else {
        const rows = await rowsThatChange(session, changes)
        const same = changes.length - rows.length
        if (same > 0) out.note(`${counted(same)} would change nothing.`)
        if (rows.length > 0 && !yes) await agree(`Change ${rows.length} listings?`)
        journal = newJournal(of, rows)
      }
      const { length } = journal.rows
      const failed = await sendBatches(file, journal, {
        size: BATCH_SIZE,
        send: async (rows, idempotencyKey) => {
          const batch = rows.map((row) => changes[row]!)
          const { results } = await client.tools.listings.changeMany(batch, { idempotencyKey })
          return results.flatMap((result): Failure[] =>
            result.status === 'failed' ? [[rows[result.index]!, messagesOf(result.errors)]] : [],
          )
        },
        unknown: UNKNOWN,
        waiting: (seconds) => out.progress(`Waiting ${seconds} s for the write limit`),
        progress: (done) => out.progress(`Changed ${done} of ${length} listings`),
      })
      out.endProgress()
      for (const [row, messages] of failed) {
        process.stderr.write(`row ${row + 2}: ${messages.join(' ')}\n`)
      }
      out.records(
        [{ changed: length - failed.length, failed: failed.length }],
        [
          ['CHANGED', ({ changed }) => changed],
          ['FAILED', ({ failed }) => failed],
        ],
      )
      if (failed.length > 0) throw new CommandError(`${counted(failed.length)} failed.`)
    })
}

/**
 * The rows whose listings differ from them, by their positions. It reads the listings of the rows one by one, or all pages
 * of the shop if these are fewer requests. Rows without a listing are sent: the service says what is wrong with them.
 */
async function rowsThatChange(
  { client, out }: Session,
  changes: ListingChange[],
): Promise<number[]> {
  const { listings } = client.tools
  const options = { maxRetries: 5 }
  const found = new Map<string, OwnListing>()
  const keep = (listing: OwnListing) => {
    found.set(`id ${listing.id}`, listing)
    if (listing.reference !== null) found.set(`reference ${listing.reference}`, listing)
  }
  const { meta } = await listings.list({ per_page: 1 }, options)
  if (changes.length < meta.total / 100) {
    for (const { id, reference } of changes) {
      const query = { reference: reference ?? '' }
      if (id === undefined) (await listings.list(query, options)).data.forEach(keep)
      else await listings.get(id, options).then(keep, ignoreMissing)
    }
  } else {
    let read = 0
    for await (const { data } of listings.list({}, options).pages()) {
      data.forEach(keep)
      read += data.length
      out.progress(`Comparing with ${read} of ${meta.total} listings`)
    }
    out.endProgress()
  }
  const sent = new Set<OwnListing>()
  return changes.flatMap((change, row) => {
    const { id, reference } = change
    const listing = found.get(id === undefined ? `reference ${reference}` : `id ${id}`)
    // An earlier row may have changed what a later one restores.
    if (listing && !sent.has(listing) && isSame(change, listing)) return []
    if (listing) sent.add(listing)
    return row
  })
}

const isSame = ({ quantity_delta: delta = 0, ...change }: ListingChange, listing: OwnListing) =>
  delta === 0 &&
  Object.entries(change).every(([name, value]) => listing[name as keyof OwnListing] === value)

function ignoreMissing(error: unknown): void {
  if (!(error instanceof NotFoundError)) throw error
}

/** @throws CommandError for a file with unknown columns or values that are no numbers */
function readChanges(bytes: Uint8Array): ListingChange[] {
  const { columns, rows } = csvOf(bytes)
  const names = columns.map((column) => column.trim().toLowerCase())
  if (!names.includes('id') && !names.includes('reference')) {
    throw new CommandError('The file needs a column "id" or "reference".', EXIT.usage)
  }
  return rows.map((row, index) => {
    const change: Record<string, unknown> = {}
    names.forEach((name, i) => {
      const text = row[i]!.trim()
      const read = READERS[name]
      if (text === '' || !read) return
      const value = read(text)
      if (Number.isNaN(value)) {
        throw new CommandError(`Row ${index + 2}: ${name} must be a number: "${text}".`, EXIT.usage)
      }
      change[name] = value
    })
    return change as unknown as ListingChange
  })
}

function whole(text: string): number {
  return /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN
}

function decimal(text: string): number {
  return /^\d+([.,]\d+)?$/.test(text) ? Number(text.replace(',', '.')) : Number.NaN
}
