import { readFile } from 'node:fs/promises'
import type { ListingChange, ListingChangesResult } from '@cardstall/sdk'
import type { Command } from 'commander'
import { readCsv } from '../../sdk/src/csv.ts'
import { fingerprint, inBatches, openJournal, sendBatches } from './batches.ts'
import { agree } from './questions.ts'
import { CommandError, EXIT, openSession } from './session.ts'

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
      const { client, out, profile } = await openSession(command)
      const bytes = await readFile(path).catch((error: Error) => {
        throw new CommandError(`${path} cannot be read: ${error.message}`, EXIT.usage)
      })
      const changes = readChanges(bytes)
      if (!yes) await agree(`Change ${changes.length} listings?`)
      const file = `${path}.reprice`
      const journal = await openJournal(file, fingerprint(bytes, profile.url))
      const batches = inBatches(changes, BATCH_SIZE)
      const all = await sendBatches<ListingChange, ListingChangesResult['results'][number]>(
        file,
        journal,
        batches,
        {
          send: async (batch, idempotencyKey) =>
            (await client.tools.listings.changeMany(batch, { idempotencyKey })).results,
          unknown: (batch) =>
            batch.map((_, index) => ({ status: 'failed', index, errors: { row: [UNKNOWN] } })),
          waiting: (seconds) => out.progress(`Waiting ${seconds} s for the write limit`),
          progress: (done) =>
            out.progress(
              `Changed ${Math.min(done * BATCH_SIZE, changes.length)} of ${changes.length}`,
            ),
        },
      )
      out.endProgress()
      const results = all.flat()
      let failed = 0
      results.forEach((result, i) => {
        if (result.status !== 'failed') return
        failed++
        process.stderr.write(`row ${i + 2}: ${Object.values(result.errors).flat().join(' ')}\n`)
      })
      out.records(
        [{ changed: results.length - failed, failed }],
        [
          ['CHANGED', ({ changed }) => changed],
          ['FAILED', ({ failed }) => failed],
        ],
      )
      if (failed > 0) throw new CommandError(`${failed} rows failed.`)
    })
}

/** @throws CommandError for a file with unknown columns or values that are no numbers */
function readChanges(bytes: Uint8Array): ListingChange[] {
  const { columns, rows } = readCsv(bytes)
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
