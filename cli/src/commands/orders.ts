import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Address, CancelOwnOrderBody, Cardstall, Order, PickLine } from '@cardstall/sdk'
import { type Command, Option } from 'commander'
import { each } from '../each.ts'
import { makeDirectory } from '../files.ts'
import { count, counts } from '../numbers.ts'
import { type Column, euros, type Output, plural } from '../output.ts'
import { agree } from '../questions.ts'
import { CommandError, EXIT, openSession, unrepeatable } from '../session.ts'

const STATUSES = ['pending', 'shipped', 'received', 'cancelled', 'disputed'] as const

/** Rows of one slice, which is shipped as one parcel. */
const sliceColumns: Column<Order[]>[] = [
  ['ORDER', ([first]) => first!.id],
  ['STATUS', (rows) => [...new Set(rows.map(({ status }) => status))].join(', ')],
  ['ITEMS', (rows) => rows.map(({ quantity, item }) => `${quantity} × ${item.name}`).join(', ')],
  ['NET', netOf],
  ['BUYER', ([first]) => first!.buyer.name],
  ['SOLD', ([first]) => first!.created_at?.slice(0, 10)],
]

/** The place of the card comes first, because a narrow terminal shortens the other columns. */
const pickColumns: Column<PickLine>[] = [
  ['SET AND NUMBER', ({ item }) => item.subtitle],
  ['QUANTITY', ({ quantity }) => quantity],
  ['ITEM', ({ item }) => item.name],
  ['CONDITION', ({ item }) => item.condition],
  ['LANGUAGE', ({ item }) => item.language],
  ['REFERENCE', ({ reference }) => reference],
]

const MAX_PARCELS = 100

const CANCEL_REASONS = ['out_of_stock', 'buyer_asked', 'other'] as const
type CancelOptions = CancelOwnOrderBody & { yes?: boolean }
type LabelOptions = { out: string; merge?: string }

/** The seller's part of the prices of rows that are not cancelled. */
function netOf(rows: Order[]): string {
  const nets = rows.map(({ status, financial }) =>
    status === 'cancelled' ? 0 : financial.seller_net,
  )
  return euros(nets.reduce((sum, net) => sum + net))
}

/** The suffix is apart from the number: 12 with the suffix 2 is another house than 122. */
const streetOf = ({ street, house_number, house_number_suffix }: Address) =>
  [street, house_number, house_number_suffix].filter(Boolean).join(' ')

/** `orders` and `labels`. */
export function orderCommands(program: Command): void {
  const orders = program.command('orders').description('list, show, ship and cancel orders')
  orders
    .command('list')
    .description(
      'list your slices, newest first: what a buyer bought from you in one checkout; NET is the price minus the commission, without cancelled rows and before refunds',
    )
    .addOption(new Option('--status <status>', 'only rows with this status').choices(STATUSES))
    .option('--since <time>', 'only orders since this date or time')
    .option('--limit <n>', 'number of slices', count, 100)
    .action(
      async (
        { limit, ...query }: { limit: number; status?: Order['status']; since?: string },
        command: Command,
      ) => {
        const { client, out } = await openSession(command)
        const slices = new Map<string, Order[]>()
        let isCut = false
        for await (const order of client.orders.list(query)) {
          const rows = slices.get(order.slice_key)
          isCut = !rows && slices.size === limit
          if (isCut) break
          slices.set(order.slice_key, [...(rows ?? []), order])
        }
        // JSON has the rows of the API.
        out.groups([...slices.values()], sliceColumns)
        if (isCut) out.warn(`${plural(limit, 'slice')}, and there are more: --limit shows them.`)
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
          address && `${streetOf(address)}, ${address.zip} ${address.city}, ${address.country}`,
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
        out.json({ file })
        return out.note(`Written to ${file}: open it and print.`)
      }
      const { data, meta } = await client.tools.orders.packing(query)
      out.records(data.pick_list, pickColumns)
      const left = meta.total - data.slips.length
      if (left > 0)
        out.warn(
          `${plural(left, 'more parcel follows', 'more parcels follow')} when these are shipped.`,
        )
    })
  orders
    .command('ship')
    .argument('<orders...>', 'ids of a row of each slice', counts)
    .description('mark slices as shipped; the buyers get an e-mail')
    .option('--tracking <code>', 'tracking code, for one slice')
    .action(async (ids: number[], { tracking }: { tracking?: string }, command: Command) => {
      if (tracking !== undefined && ids.length > 1) {
        throw new CommandError(
          'A tracking code belongs to one slice: ship them one by one.',
          EXIT.usage,
        )
      }
      const session = await openSession(command)
      const shipped = await eachSlice(ids, async (id) => {
        const slice = await unrepeatable(session.client.orders.ship(id, { trackingCode: tracking }))
        return { orders: slice.orders, record: slice }
      })
      shipped.print(session.out, [
        ['SLICE', ({ slice_key }) => slice_key],
        ['SHIPPED ROWS', ({ shipped_lines }) => shipped_lines],
      ])
      shipped.throwIfFailed()
    })
  orders
    .command('cancel')
    .argument('<order>', 'id of the row', count)
    .description('cancel a pending row; the buyer is refunded and gets an e-mail')
    .addOption(new Option('--reason <reason>', 'why').choices(CANCEL_REASONS).makeOptionMandatory())
    .option('--no-restock', 'do not put the units back on sale; the default for out_of_stock')
    .option('--yes', 'do not ask')
    .action(async (id: number, { yes, reason, restock }: CancelOptions, command: Command) => {
      const { client, out } = await openSession(command)
      if (!yes) await agree(`Cancel order ${id}?`, { isFinal: true })
      // `true` only says that the option is absent: then the service decides.
      const order = await unrepeatable(
        client.tools.orders.cancel(id, { reason, ...(!restock && { restock: false }) }),
      )
      out.record(order, [
        ['Order', order.id],
        ['Status', order.status],
      ])
    })

  const labels = program.command('labels').description('buy labels')
  labels
    .command('buy')
    .argument('<orders...>', 'ids of a row of each slice', counts)
    .description(
      'buy or read labels, and save their PDFs; no label is bought twice; the exit code is 1 if an order has no label yet, or if there is none to merge',
    )
    .option('--out <directory>', 'directory of the PDFs', '.')
    .option('--merge <file>', 'write all labels, at most 50, into one PDF instead')
    .action(async (ids: number[], { out: directory, merge }: LabelOptions, command: Command) => {
      const session = await openSession(command)
      const { client, out } = session
      if (merge === undefined) await makeDirectory(directory)
      const bought = await eachSlice(ids, async (id) => {
        out.progress(`Label of order ${id}`)
        const { order, ...label } = await client.orders.waitForLabel(id)
        const isSaved = merge === undefined && isToPrint(label)
        const file = isSaved ? await save(label.label_url!, directory, id) : null
        return { orders: order.orders, record: { order_id: id, file, ...label } }
      })
      const labels = bought.records
      const ready = labels.filter(isToPrint)
      let missing: number[] = []
      try {
        if (merge !== undefined && ready.length > 0) {
          const ids = ready.map(({ order_id }) => order_id)
          const merged = await mergedLabels(client, ids)
          await writeFile(merge, merged.pdf)
          missing = merged.missing
          for (const label of ready) if (!missing.includes(label.order_id)) label.file = merge
        }
      } finally {
        // Also without a file: the labels are bought.
        bought.print(out, [
          ['ORDER', ({ order_id }) => order_id],
          ['STATUS', ({ status }) => status],
          ['FILE', ({ file }) => file],
          ['MESSAGE', ({ message }) => message],
        ])
      }
      bought.throwIfFailed()
      if (missing.length > 0) {
        throw new CommandError(
          `${plural(missing.length, 'label is', 'labels are')} bought, but not in ${merge}: run "cardstall labels buy ${missing.join(' ')}".`,
        )
      }
      const left = labels.filter(({ status }) => status === 'processing').length
      if (left > 0) {
        throw new CommandError(
          `${plural(left, 'label is', 'labels are')} not ready yet: run the same command later.`,
        )
      }
      const withheld = labels.filter(({ status }) => status === 'action_required')
      if (withheld.length > 0) {
        const ids = withheld.map(({ order_id }) => order_id).join(', ')
        throw new CommandError(
          `${plural(withheld.length, 'order has', 'orders have')} no label to print (${ids}): the message of each says why.`,
        )
      }
      // An earlier file of that name could be printed again.
      if (merge !== undefined && ready.length === 0) {
        throw new CommandError(`There is no label to print: ${merge} was not written.`)
      }
    })
}

/** The label of a cancelled order is ready as well, with a message not to use it. */
const isToPrint = ({ status, message }: { status: string; message: string | null }) =>
  status === 'ready' && message === null

/** Labels that one request can merge. */
const MAX_MERGED = 50

async function mergedLabels(client: Cardstall, orders: number[]) {
  if (orders.length > MAX_MERGED) {
    throw new CommandError(
      `One PDF has at most ${MAX_MERGED} labels: they are bought, so fetch them in several runs.`,
    )
  }
  return client.tools.labels.merge(orders)
}

async function save(url: string, directory: string, id: number): Promise<string> {
  const fail = (error: Error & { cause?: { code?: string } }) => {
    const reason = error.cause?.code ?? error.message
    throw new CommandError(
      `The label is bought, but ${new URL(url).host} cannot be reached (${reason}): run the same command again.`,
    )
  }
  const response = await fetch(url).catch(fail)
  if (response.status === 404) {
    throw new CommandError(
      'The label is bought, but its file is missing: run the same command later; if it stays missing, ask the marketplace.',
    )
  }
  if (!response.ok) {
    throw new CommandError(
      `The label is bought, but its download failed with status ${response.status}: run the same command again.`,
    )
  }
  const pdf = await response.arrayBuffer().catch(fail)
  const file = path.join(directory, `label-${id}.pdf`)
  await writeFile(file, Buffer.from(pdf))
  return file
}

/** Handles the slices of orders once each, even if several of their rows are named. */
async function eachSlice<T extends object>(
  ids: number[],
  handle: (id: number) => Promise<{ orders: { id: number }[]; record: T }>,
): Promise<{
  records: T[]
  print(out: Output, columns: Column<T>[]): void
  throwIfFailed(): void
}> {
  const handled = new Set<number>()
  const records: T[] = []
  let failure: unknown
  await each(ids, async (id) => {
    if (handled.has(id)) return
    const { orders, record } = await handle(id)
    for (const order of orders) handled.add(order.id)
    records.push(record)
  }).catch((error) => {
    failure = error
  })
  return {
    records,
    print(out, columns) {
      // If all were refused, their errors follow: there is no list that could be empty.
      if (records.length > 0) out.records(records, columns)
      else out.json(records)
    },
    throwIfFailed() {
      if (failure !== undefined) throw failure
    },
  }
}
