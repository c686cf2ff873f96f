import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { Cardstall, OwnListing } from '@cardstall/sdk'
import { type Command, Option } from 'commander'
import Papa from 'papaparse'
import { FIELDS, FORMULA } from '../../../sdk/src/csv.ts'
import { eachNoted } from '../each.ts'
import { importCommand } from '../import.ts'
import { STDIO } from '../input.ts'
import { noteCut, printList } from '../lists.ts'
import { count, counts, price, quantity } from '../numbers.ts'
import { type Column, endProgress, euros, plural } from '../output.ts'
import { agree } from '../questions.ts'
import { repriceCommand } from '../reprice.ts'
import { CommandError, EXIT, openSession, refuseJson, unrepeatable } from '../session.ts'

/** The service's maximum. */
const PER_PAGE = 100

const STATUSES = ['active', 'sold', 'hidden'] as const

const listingColumns: Column<OwnListing>[] = [
  ['ID', ({ id }) => id],
  ['STATUS', ({ status }) => status],
  ['ITEM', ({ listable }) => listable?.name],
  ['CONDITION', ({ condition, graded }) => graded?.label ?? condition],
  ['LANGUAGE', ({ language }) => language],
  ['PRICE', ({ price }) => euros(price)],
  ['QUANTITY', ({ quantity }) => quantity],
  ['REFERENCE', ({ reference }) => reference],
]

type Filters = { status?: OwnListing['status']; card?: string; since?: string; limit: number }

type Changes = {
  price?: number
  quantity?: number
  status?: OwnListing['status']
  description?: string
}

/** `listings`. */
export function listingCommands(program: Command): void {
  const listings = program.command('listings').description('list, change, import and export stock')
  listings
    .command('list')
    .description('list your listings, newest first; with --since, the oldest change first')
    .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
    .option('--card <id>', 'only listings of this card')
    .option('--since <time>', 'only listings changed since this date or time')
    .option('--limit <n>', 'number of listings; with --since, those that changed first', count, 100)
    .action(async (filters: Filters, command: Command) => {
      const { client, out } = await openSession(command)
      const { limit, since, ...query } = filters
      if (since === undefined) {
        const list = client.tools.listings.list(query)
        return printList(out, list, { limit, columns: listingColumns, name: 'listings' })
      }
      const { listings, total } = await changedListings(client, { ...query, since, limit })
      out.records(listings, listingColumns)
      noteCut(out, { limit, total, name: 'listings' })
    })
  listings
    .command('show')
    .argument('<listing>', 'id of the listing', count)
    .description('show a listing')
    .action(async (id: number, _options, command: Command) => {
      const { client, out } = await openSession(command)
      const listing = await client.tools.listings.get(id)
      out.record(
        listing,
        listingColumns.map(([title, text]) => [
          title.charAt(0) + title.slice(1).toLowerCase(),
          text(listing),
        ]),
      )
    })
  listings
    .command('set')
    .argument('<listing>', 'id of the listing', count)
    .description('change a listing')
    .option('--price <euros>', 'price of one unit', price)
    .option('--quantity <n>', 'stock', quantity)
    .addOption(new Option('--status <status>', 'status').choices(STATUSES))
    .option('--description <text>', 'description')
    .action(async (id: number, changes: Changes, command: Command) => {
      if (Object.keys(changes).length === 0) {
        throw new CommandError(
          'Name what to change: --price, --quantity, --status or --description.',
          EXIT.usage,
        )
      }
      const { client, out } = await openSession(command)
      const listing = await unrepeatable(client.listings.update(id, changes))
      out.record(listing, [
        ['ID', listing.id],
        ['Status', listing.status],
        ['Price', euros(listing.price)],
        ['Quantity', listing.quantity],
      ])
    })
  listings
    .command('delete')
    .argument('<listings...>', 'ids of listings', counts)
    .description('delete listings permanently')
    .option('--yes', 'do not ask before several are deleted')
    .action(async (ids: number[], { yes }: { yes?: boolean }, command: Command) => {
      const session = await openSession(command)
      if (ids.length > 1 && !yes) await agree(`Delete ${ids.length} listings?`, { isFinal: true })
      await eachNoted(session, ids, {
        handle: (id) => session.client.listings.delete(id),
        text: (id) => `Deleted ${id}.`,
      })
    })
  listings
    .command('export')
    .argument('[file]', 'CSV file; stdout without it, or with -')
    .description('write your listings as CSV, in the columns of an import')
    .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
    .action(async (path: string | undefined, query: Pick<Filters, 'status'>, command: Command) => {
      const file = path === STDIO ? undefined : path
      if (file === undefined) refuseJson(command, 'name a file, or use "cardstall listings list"')
      const { client, out } = await openSession(command)
      let exported = 0
      async function* lines() {
        // Spreadsheets read a file as UTF-8 only after a byte order mark; programs at the end of a pipe don't expect one.
        const mark = file === undefined ? '' : '\ufeff'
        let header = `${mark}${Papa.unparse([['id', ...EXPORTED, 'status']])}\r\n`
        let read = 0
        // All of them: listings of one status move between its pages when others get or lose the status.
        for await (const { data, meta } of client.tools.listings.list().pages()) {
          const wanted = data.filter(({ status }) => !query.status || status === query.status)
          const rows = Papa.unparse(wanted.map(rowOf), { escapeFormulae: FORMULA })
          yield header + (wanted.length > 0 ? `${rows}\r\n` : '')
          header = ''
          exported += wanted.length
          read += data.length
          out.progress(`${read} of ${meta.total} listings`)
        }
      }
      if (file !== undefined) {
        const texts: string[] = []
        for await (const text of lines()) texts.push(text)
        // Only now, because it empties the file: the service may refuse any of the pages.
        await writeFile(file, texts)
        out.json({ file, listings: exported })
        return out.note(`Wrote ${plural(exported, 'listing')} to ${file}.`)
      }
      for await (const text of lines()) {
        endProgress()
        if (!process.stdout.write(text)) await once(process.stdout, 'drain')
      }
    })
  importCommand(listings)
  repriceCommand(listings)
}

async function changedListings(
  client: Cardstall,
  { limit, since, ...query }: Filters & { since: string },
): Promise<{ listings: OwnListing[]; total: number }> {
  const pageOf = (page: number) =>
    client.tools.listings.list({ ...query, updated_since: since, per_page: PER_PAGE, page })
  const { data, meta } = await pageOf(1)
  const last = Math.min(meta.last_page, Math.ceil(limit / PER_PAGE))
  const { total } = meta
  if (last <= 1) return { listings: data.slice(0, limit), total }
  // From the last page to the first: a listing that changes meanwhile moves to the end, and the others move towards us,
  // never past us. A listing that is read twice keeps its first place.
  const pages: OwnListing[][] = []
  for (let page = last; page >= 1; page--) pages.unshift((await pageOf(page)).data)
  const byId = new Map(pages.flat().map((listing) => [listing.id, listing]))
  return { listings: [...byId.values()].slice(0, limit), total }
}

/** The columns of an import; a hint is for cards of unknown language, which listings never have. */
const EXPORTED = FIELDS.filter((field) => field !== 'language_hint')

function rowOf(listing: OwnListing): unknown[] {
  const { listable, graded } = listing
  const values: Record<string, unknown> = {
    ...listing,
    card: listable?.type === 'card' ? listable.id : '',
    product: listable?.type === 'product' ? listable.id : '',
    price: euros(listing.price),
    grading_company: graded?.company,
    grading_grade: graded?.grade,
    // The API has only the addresses of thumbnails (docs/photos.md).
    photo_urls: listing.photos.map((url) => url.replace(/-thumb\.jpg$/, '.jpg')).join(' '),
  }
  return [listing.id, ...EXPORTED.map((field) => values[field] ?? ''), listing.status]
}
