import type { Sql } from '../../server/database/sql.ts'
import type { Ask } from './client.ts'
import type { Books, Cart } from './load.ts'
import type { Endpoint, Market, Seller } from './market.ts'
import { OPERATOR_TOKEN } from './processes.ts'
import type { Delivery, Receiver } from './receiver.ts'

/** An order row as its seller reads it. */
export type Row = {
  id: number
  slice_key: string
  checkout_id: number
  status: string
  quantity: number
  price: number
  listing_id: number
  buyer: { name: string }
  created_at: string
}

/** All that came of it, to be held against one another. */
export type Outcome = {
  ask: Ask
  db: Sql
  market: Market
  books: Books
  receiver: Receiver
  /** By id. */
  rows: Map<number, Row & { seller: Seller }>
}

const ALL_AT_ONCE = 8
const ANSWERS_ASKED_AGAIN = 500

/** Everything that is not as it must be, in words. */
export async function findWrongs(outcome: Outcome): Promise<string[]> {
  return [
    ...outcome.books.wrong,
    ...outcome.receiver.wrong,
    ...wrongOfEvents(outcome),
    ...wrongOfCarts(outcome),
    ...(await wrongOfAnswers(outcome)),
    ...(await wrongOfStock(outcome)),
    ...(await wrongOfDeliveries(outcome)),
    ...(await wrongOfLabels(outcome)),
    ...(await wrongOfRows(outcome)),
  ]
}

/** Every order row that exists, as the sellers' pages show them. */
export async function readRows(ask: Ask, { sellers }: Market): Promise<Outcome['rows']> {
  const rows: Outcome['rows'] = new Map()
  for (const seller of sellers) {
    for (const row of await allPages<Row>(ask, '/v1/orders', seller.key)) {
      rows.set(row.id, { ...row, seller })
    }
  }
  return rows
}

/** Each fact reached both endpoints, under one delivery for each; and nothing else did. */
function wrongOfEvents({ market, books, receiver, rows }: Outcome): string[] {
  const wrong: string[] = []
  const told = new Map<string, number[]>()
  const endpoints = new Map(
    market.sellers.flatMap(({ endpoints }) => endpoints.map((one) => [one.path, one] as const)),
  )
  for (const delivery of receiver.deliveries.values()) {
    const place = `${delivery.event} ${delivery.data.order_id} ${delivery.path}`
    told.set(place, [...(told.get(place) ?? []), delivery.id])
    wrong.push(...wrongOfFacts(delivery, endpoints.get(delivery.path), { books, rows }))
  }

  for (const { id, status, seller } of rows.values()) {
    const events = ['order.created', 'listing.sold']
    if (status === 'cancelled') events.push('order.cancelled')
    for (const event of events) {
      for (const { path } of seller.endpoints) {
        if (!told.has(`${event} ${id} ${path}`)) wrong.push(`${path} never got ${event} of ${id}.`)
      }
    }
  }
  for (const [place, ids] of told) {
    if (ids.length > 1) wrong.push(`${place} has several deliveries: ${ids.join(', ')}.`)
  }
  return wrong
}

/** What an event says is so, and was committed. */
function wrongOfFacts(
  { id, event, createdAt, data }: Delivery,
  endpoint: Endpoint | undefined,
  { books, rows }: Pick<Outcome, 'books' | 'rows'>,
): string[] {
  const row = rows.get(data.order_id)
  if (!row) return [`${event} ${id} is of order ${data.order_id}, which doesn’t exist.`]
  const facts: Record<string, [unknown, unknown]> = { seller: [endpoint?.seller, row.seller] }
  switch (event) {
    case 'order.created':
      facts.slice = [data.slice_key, row.slice_key]
      facts.listing = [data.listing_id, row.listing_id]
      facts.quantity = [data.quantity, row.quantity]
      facts.price = [data.price, row.price]
      facts.buyer = [data.buyer_name, row.buyer.name]
      facts.time = [createdAt, row.created_at]
      break
    case 'listing.sold':
      facts.listing = [data.listing_id, row.listing_id]
      facts.quantity = [data.quantity_sold, row.quantity]
      facts.rest = [data.remaining_quantity >= 0, true]
      facts.time = [createdAt, row.created_at]
      break
    case 'order.cancelled':
      facts.status = [row.status, 'cancelled']
      facts.by = [data.cancelled_by, books.cancellations.get(row.id)?.by]
      break
    case 'order.label_ready':
      facts.label = [data.has_label, true]
      facts.wish = [books.labels.some(({ orderId }) => orderId === row.id), true]
      break
    default:
      return [`Delivery ${id} is a ${event}.`]
  }
  return Object.entries(facts)
    .filter(([, [said, so]]) => said !== so)
    .map(
      ([fact, [said, so]]) => `${event} ${id} of order ${row.id} has ${fact} ${said}, not ${so}.`,
    )
}

/** A cart was sold once, as a whole, or not at all; and it was when its buyer was told so. */
function wrongOfCarts({ books, rows }: Outcome): string[] {
  const wrong: string[] = []
  const rowsOf = Map.groupBy(rows.values(), ({ buyer }) => buyer.name)
  for (const cart of books.carts) {
    const sold = rowsOf.get(cart.buyer) ?? []
    rowsOf.delete(cart.buyer)
    if (cart.answer?.status === 201) {
      const told = cart.answer.body.data.slices.flatMap(
        (slice: { order_ids: number[] }) => slice.order_ids,
      )
      if (!sameIds(told, sold))
        wrong.push(`${cart.buyer} was told of ${told}, not of ${idsOf(sold)}.`)
    } else if (cart.answer && sold.length > 0) {
      wrong.push(`${cart.buyer} was refused (${cart.answer.text}), and ${idsOf(sold)} were sold.`)
    }
    if (sold.length === 0) continue
    if (new Set(sold.map((row) => row.checkout_id)).size > 1 || !isWhole(cart, sold)) {
      wrong.push(`The cart of ${cart.buyer} was not sold once and as a whole: ${idsOf(sold)}.`)
    }
    if (cart.isHopeless) wrong.push(`The cart of ${cart.buyer} can’t be sold, and was.`)
  }
  for (const buyer of rowsOf.keys()) wrong.push(`Nobody is ${buyer}, and there are orders of them.`)
  return wrong
}

const isWhole = ({ body: { lines } }: Cart, sold: Row[]) =>
  lines.length === sold.length &&
  lines.every(({ listing_id, quantity }) =>
    sold.some((row) => row.listing_id === listing_id && row.quantity === quantity),
  )

const idsOf = (rows: Row[]) => rows.map(({ id }) => id).toSorted((a, b) => a - b)
const sameIds = (ids: number[], rows: Row[]) =>
  String(ids.toSorted((a, b) => a - b)) === String(idsOf(rows))

/** What buyers were told still holds, also for who sends the cart again. */
async function wrongOfAnswers({ ask, books }: Outcome): Promise<string[]> {
  const wrong: string[] = []
  const answered = books.carts.filter(({ answer }) => answer?.status === 201)
  const every = Math.ceil(answered.length / ANSWERS_ASKED_AGAIN)
  await atATime(
    answered.filter((_cart, i) => i % every === 0),
    async ({ buyer, answer, body, idempotencyKey }) => {
      const token = OPERATOR_TOKEN
      const { id } = answer!.body.data
      const again = [
        await ask.insist('GET', `/operator/v1/checkouts/${id}`, { token }),
        await ask.insist('POST', '/operator/v1/checkouts', { token, body, idempotencyKey }),
      ]
      for (const { text } of again) {
        if (text !== answer!.text) wrong.push(`${buyer} was told ${answer!.text}, now ${text}.`)
      }
    },
  )
  return wrong
}

/** What there was is what is left and what was sold, but for what came back. */
async function wrongOfStock({ ask, market, books, rows }: Outcome): Promise<string[]> {
  const left = new Map<number, number>()
  for (const { key } of market.sellers) {
    for (const { id, quantity } of await allPages<Row>(ask, '/v1/listings', key)) {
      left.set(id, quantity)
    }
  }
  const taken = new Map<number, number>()
  for (const { id, status, listing_id, quantity } of rows.values()) {
    const cameBack = status === 'cancelled' && books.cancellations.get(id)?.restock
    if (!cameBack) taken.set(listing_id, (taken.get(listing_id) ?? 0) + quantity)
  }
  return market.listings
    .map(({ id, stock }) => ({ id, stock, left: left.get(id), taken: taken.get(id) ?? 0 }))
    .filter(({ stock, left, taken }) => left === undefined || left < 0 || left + taken !== stock)
    .map(
      ({ id, stock, left, taken }) =>
        `Listing ${id} had ${stock}; ${taken} are sold, and ${left} are left.`,
    )
}

/** All are delivered, and no more than the receivers know of. */
async function wrongOfDeliveries({ ask, receiver }: Outcome): Promise<string[]> {
  const wrong: string[] = []
  for (const status of ['pending', 'failed', 'skipped']) {
    const count = await countDeliveries(ask, `status=${status}`)
    if (count > 0) wrong.push(`${count} deliveries are ${status}.`)
  }
  const delivered = await countDeliveries(ask, 'status=delivered')
  const taken = [...receiver.deliveries.values()].filter((delivery) => delivery.taken > 0)
  if (delivered !== taken.length) {
    wrong.push(`${delivered} deliveries are delivered, and ${taken.length} were taken.`)
  }
  return wrong
}

export const countDeliveries = async (ask: Ask, query: string): Promise<number> => {
  const path = `/operator/v1/deliveries?per_page=1&${query}`
  return (await ask.must('GET', path, { token: OPERATOR_TOKEN })).body.meta.total
}

/** A slice has one shipment at the most, here and at the carrier, and its seller was told of it once. */
async function wrongOfLabels({ db, books, receiver, rows }: Outcome): Promise<string[]> {
  const wrong: string[] = []
  const bought = await db<{ slice: string; count: number }[]>`
    select parcel ->> 'sliceKey' as slice, count(*)::int from simulated_shipments group by 1
  `
  const noted = await db<{ slice: string }[]>`
    select slice_key as slice
    from shipments
    join slices on slices.id = shipments.slice_id
    where state = 'bought'
  `
  for (const { slice, count } of bought) {
    if (count > 1) wrong.push(`${count} labels were bought for slice ${slice}.`)
  }
  const told = [...receiver.deliveries.values()].filter((one) => one.event === 'order.label_ready')
  const slicesTold = told.map(({ data, path }) => `${rows.get(data.order_id)?.slice_key} ${path}`)
  const slices = {
    'bought at the carrier': bought.map(({ slice }) => slice),
    'noted as bought': noted.map(({ slice }) => slice),
  }
  for (const { sliceKey, seller } of books.labels) {
    const places = seller.endpoints.filter(({ path }) => slicesTold.includes(`${sliceKey} ${path}`))
    const [atCarrier, here] = Object.values(slices).map((keys) => keys.includes(sliceKey))
    if (atCarrier !== here || places.length !== (here ? seller.endpoints.length : 0)) {
      wrong.push(
        `The label of slice ${sliceKey}: bought ${atCarrier}, noted ${here}, told to ${places.length} endpoints.`,
      )
    }
    const isWanted = [...rows.values()].some(
      (row) => row.slice_key === sliceKey && row.status === 'pending',
    )
    if (isWanted && !here) wrong.push(`Slice ${sliceKey} has no label.`)
  }
  return wrong
}

/** The sellers' pages show every row there is. */
async function wrongOfRows({ db, rows }: Outcome): Promise<string[]> {
  const [there] = await db<{ count: number }[]>`select count(*)::int from orders`
  return there!.count === rows.size
    ? []
    : [`There are ${there!.count} order rows, and sellers see ${rows.size}.`]
}

async function allPages<T>(ask: Ask, path: string, token: string): Promise<T[]> {
  const all: T[] = []
  for (let page = 1; ; page++) {
    const { body } = await ask.must('GET', `${path}?per_page=100&page=${page}`, { token })
    all.push(...body.data)
    if (body.links.next === null) return all
  }
}

async function atATime<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const hand = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: ALL_AT_ONCE }, hand))
}
