import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Order, PickLine } from '@cardstall/sdk'
import { type Command, Option } from 'commander'
import { type Column, euros } from '../output.ts'
import { CommandError, openSession, type Session } from '../session.ts'
import { count } from './catalog.ts'

const STATUSES = ['pending', 'shipped', 'received', 'cancelled', 'disputed'] as const

const orderColumns: Column<Order>[] = [
  ['ORDER', ({ id }) => id],
  ['SLICE', ({ slice_key }) => slice_key],
  ['STATUS', ({ status }) => status],
  ['ITEM', ({ item }) => item.name],
  ['QUANTITY', ({ quantity }) => quantity],
  ['NET', ({ financial }) => euros(financial.seller_net)],
  ['BUYER', ({ buyer }) => buyer.name],
  ['SOLD', ({ created_at }) => created_at?.slice(0, 10)],
]

const pickColumns: Column<PickLine>[] = [
  ['QUANTITY', ({ quantity }) => quantity],
  ['SET AND NUMBER', ({ item }) => item.subtitle],
  ['ITEM', ({ item }) => item.name],
  ['CONDITION', ({ item }) => item.condition],
  ['LANGUAGE', ({ item }) => item.language],
  ['REFERENCE', ({ reference }) => reference],
]

const MAX_PARCELS = 100

/** `orders` and `labels`. */
export function orderCommands(program: Command): void {
  const orders = program.command('orders').description('list, show and ship orders')
  orders
    .command('list')
    .description('list order rows, newest first')
    .addOption(new Option('--status <status>', 'only this status').choices(STATUSES))
    .option('--since <time>', 'only orders since this date or time')
    .option('--limit <n>', 'number of rows', count, 100)
    .action(
      async (
        { limit, ...query }: { limit: number; status?: Order['status']; since?: string },
        command: Command,
      ) => {
        const { client, out } = await openSession(command)
        out.records(await client.orders.list(query).all(limit), orderColumns)
      },
    )
  orders
    .command('show')
    .argument('<order>', 'id of any row', count)
    .description('show a slice with its address')
    .action(async (id: number, _options, command: Command) => {
      const { client, out } = await openSession(command)
      const slice = await client.orders.get(id)
      const { address } = slice.buyer
      out.record(slice, [
        ['Slice', slice.slice_key],
        ...slice.orders.map((order): [string, string] => [
          `Order ${order.id}`,
          `${order.quantity} × ${order.item.name ?? 'item'}, ${order.status}`,
        ]),
        ['Buyer', address?.full_name ?? slice.buyer.name],
        [
          'Address',
          address &&
            `${address.street} ${address.house_number}${address.house_number_suffix ?? ''}, ${address.zip} ${address.city}, ${address.country}`,
        ],
      ])
    })
  orders
    .command('pick')
    .description('list what to pick for the oldest 100 parcels, by set and number')
    .option('--html <file>', 'write the pick list and packing slips to print')
    .action(async ({ html: file }: { html?: string }, command: Command) => {
      const { client, out } = await openSession(command)
      const query = { per_page: MAX_PARCELS } as const
      if (file !== undefined) {
        await writeFile(file, await client.tools.orders.packingPage(query))
        return out.note(`Written to ${file}: open it and print.`)
      }
      const { data, meta } = await client.tools.orders.packing(query)
      out.records(data.pick_list, pickColumns)
      const left = meta.total - data.slips.length
      if (left > 0) out.note(`${left} more parcels follow when these are shipped.`)
    })
  orders
    .command('ship')
    .argument('<orders...>', 'ids of a row of each slice')
    .description('mark slices as shipped; the buyers get an e-mail')
    .option('--tracking <code>', 'tracking code, for one slice')
    .action(async (ids: string[], { tracking }: { tracking?: string }, command: Command) => {
      const session = await openSession(command)
      if (tracking !== undefined && ids.length > 1) {
        throw new CommandError('A tracking code belongs to one slice: ship them one by one.', 2)
      }
      await each(session, ids.map(count), async (id) => {
        const slice = await session.client.orders.ship(id, { trackingCode: tracking })
        session.out.records(
          [slice],
          [
            ['SLICE', ({ slice_key }) => slice_key],
            ['SHIPPED ROWS', ({ shipped_lines }) => shipped_lines],
          ],
        )
      })
    })

  const labels = program.command('labels').description('buy labels')
  labels
    .command('buy')
    .argument('<orders...>', 'ids of a row of each slice')
    .description('buy or read labels, and save their PDFs; no label is bought twice')
    .option('--out <directory>', 'directory of the PDFs', '.')
    .action(async (ids: string[], { out: directory }: { out: string }, command: Command) => {
      const session = await openSession(command)
      await mkdir(directory, { recursive: true })
      await each(session, ids.map(count), async (id) => {
        const label = await session.client.orders.waitForLabel(id)
        const file = label.label_url === null ? null : await save(label.label_url, directory, id)
        session.out.records(
          [{ order_id: id, file, ...label }],
          [
            ['ORDER', ({ order_id }) => order_id],
            ['STATUS', ({ status }) => status],
            ['FILE', ({ file }) => file],
            ['', ({ message }) => message],
          ],
        )
      })
    })
}

async function save(url: string, directory: string, id: number): Promise<string> {
  const response = await fetch(url)
  if (!response.ok) throw new CommandError(`The label of order ${id} could not be downloaded.`)
  const file = path.join(directory, `label-${id}.pdf`)
  await writeFile(file, Buffer.from(await response.arrayBuffer()))
  return file
}

/** Handles records one by one. A refused one does not stop the others; the exit code tells. */
export async function each(
  { out }: Session,
  ids: number[],
  handle: (id: number) => Promise<void>,
): Promise<void> {
  let failed = 0
  for (const id of ids) {
    try {
      await handle(id)
    } catch (error) {
      if (ids.length === 1) throw error
      failed++
      out.endProgress()
      process.stderr.write(`${id}: ${(error as Error).message}\n`)
    }
  }
  if (failed > 0) throw new CommandError(`${failed} of ${ids.length} failed.`)
}
