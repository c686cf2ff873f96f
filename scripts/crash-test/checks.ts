import type { Sql } from '../../server/database/sql.ts'
import { allPages, type Client } from './client.ts'
import type { Cart, Journal } from './load.ts'
import type { Endpoint, Market, Seller } from './market.ts'
import { findBankViolations } from './money-checks.ts'
import { OPERATOR_TOKEN } from './processes.ts'
import type { Delivery, Receiver } from './receiver.ts'

/** An order row as the API shows it to its seller. */
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
  financial: { seller_net: number; refunded_amount: number }
}

/** The final records of the clients, the receiver, the API and the database, which the checks compare. */
export type Evidence = {
  client: Client
  db: Sql
  market: Market
  journal: Journal
  receiver: Receiver
  /** Order rows by id. */
  rows: Map<number, Row & { seller: Seller }>
}

const CONCURRENCY = 8
const MAX_REPEATED_CHECKOUTS = 500

/** Returns every violation as a sentence. */
export async function findViolations(evidence: Evidence): Promise<string[]> {
  return [
    ...evidence.journal.violations,
    ...evidence.receiver.violations,
    ...findEventViolations(evidence),
    ...findCartViolations(evidence),
    ...(await findResponseViolations(evidence)),
    ...(await findStockViolations(evidence)),
    ...(await findDeliveryViolations(evidence)),
    ...(await findLabelViolations(evidence)),
    ...(await findRowViolations(evidence)),
    ...(await findBankViolations(evidence, evidence.rows)),
  ]
}

/** Reads every order row through the sellers' API. */
export async function readRows(client: Client, { sellers }: Market): Promise<Evidence['rows']> {
  const rows: Evidence['rows'] = new Map()
  for (const seller of sellers) {
    for (const row of await allPages<Row>(client, '/v1/orders', seller.key)) {
      rows.set(row.id, { ...row, seller })
    }
  }
  return rows
}

/** Each event reaches each endpoint of its seller as exactly one delivery, and there are no other deliveries. */
function findEventViolations({ market, journal, receiver, rows }: Evidence): string[] {
  const violations: string[] = []
  const announced = new Map<string, number[]>()
  const endpoints = new Map(
    market.sellers.flatMap(({ endpoints }) =>
      endpoints.map((endpoint) => [endpoint.path, endpoint] as const),
    ),
  )
  for (const delivery of receiver.deliveries.values()) {
    const key = `${delivery.event} ${delivery.data.order_id} ${delivery.path}`
    announced.set(key, [...(announced.get(key) ?? []), delivery.id])
    violations.push(
      ...findFactViolations(delivery, endpoints.get(delivery.path), { journal, rows }),
    )
  }

  for (const { id, status, seller } of rows.values()) {
    const events = ['order.created', 'listing.sold']
    if (status === 'cancelled') events.push('order.cancelled')
    for (const event of events) {
      for (const { path } of seller.endpoints) {
        if (!announced.has(`${event} ${id} ${path}`)) {
          violations.push(`${path} never received ${event} for order ${id}.`)
        }
      }
    }
  }
  for (const [key, ids] of announced) {
    if (ids.length > 1) violations.push(`${key} has several deliveries: ${ids.join(', ')}.`)
  }
  return violations
}

/** The fields of an event match the committed order row. */
function findFactViolations(
  { id, event, createdAt, data }: Delivery,
  endpoint: Endpoint | undefined,
  { journal, rows }: Pick<Evidence, 'journal' | 'rows'>,
): string[] {
  const row = rows.get(data.order_id)
  if (!row) return [`Delivery ${id} (${event}) is for order ${data.order_id}, which doesn’t exist.`]
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
      facts['remaining quantity ≥ 0'] = [data.remaining_quantity >= 0, true]
      facts.time = [createdAt, row.created_at]
      break
    case 'order.cancelled':
      facts.status = [row.status, 'cancelled']
      facts['cancelled by'] = [data.cancelled_by, journal.cancellations.get(row.id)?.by]
      break
    case 'order.label_ready':
      facts['has label'] = [data.has_label, true]
      facts['label requested'] = [
        journal.labelRequests.some(({ orderId }) => orderId === row.id),
        true,
      ]
      break
    default:
      return [`Delivery ${id} has an unexpected event, ${event}.`]
  }
  return Object.entries(facts)
    .filter(([, [actual, expected]]) => actual !== expected)
    .map(
      ([fact, [actual, expected]]) =>
        `Delivery ${id} (${event} for order ${row.id}): ${fact} is ${actual}, not ${expected}.`,
    )
}

/** Each cart is sold completely in one checkout, or not at all, and a known response agrees. */
function findCartViolations({ journal, rows }: Evidence): string[] {
  const violations: string[] = []
  const rowsOf = Map.groupBy(rows.values(), ({ buyer }) => buyer.name)
  for (const cart of journal.carts) {
    const sold = rowsOf.get(cart.buyer) ?? []
    rowsOf.delete(cart.buyer)
    if (cart.response?.status === 201) {
      const confirmed = cart.response.body.data.slices.flatMap(
        (slice: { order_ids: number[] }) => slice.order_ids,
      )
      if (!sameIds(confirmed, sold)) {
        violations.push(
          `The response to ${cart.buyer} lists orders ${confirmed}, but ${idsOf(sold)} exist.`,
        )
      }
    } else if (cart.response && sold.length > 0) {
      violations.push(
        `The cart of ${cart.buyer} was rejected (${cart.response.text}), but orders ${idsOf(sold)} exist.`,
      )
    }
    if (sold.length === 0) continue
    if (new Set(sold.map((row) => row.checkout_id)).size > 1 || !isWhole(cart, sold)) {
      violations.push(
        `The cart of ${cart.buyer} was sold in part or in several checkouts: orders ${idsOf(sold)}.`,
      )
    }
    if (cart.isUnsellable) violations.push(`The unsellable cart of ${cart.buyer} was sold.`)
  }
  for (const buyer of rowsOf.keys()) {
    violations.push(`There are orders of ${buyer}, who never sent a cart.`)
  }
  return violations
}

const isWhole = ({ body: { lines } }: Cart, sold: Row[]) =>
  lines.length === sold.length &&
  lines.every(({ listing_id, quantity }) =>
    sold.some((row) => row.listing_id === listing_id && row.quantity === quantity),
  )

const idsOf = (rows: Row[]) => rows.map(({ id }) => id).toSorted((a, b) => a - b)
const sameIds = (ids: number[], rows: Row[]) =>
  String(ids.toSorted((a, b) => a - b)) === String(idsOf(rows))

/** A checkout still has the response that its buyer received, and repeating the request returns it again. */
async function findResponseViolations({ client, journal }: Evidence): Promise<string[]> {
  const violations: string[] = []
  const confirmed = journal.carts.filter(({ response }) => response?.status === 201)
  const interval = Math.ceil(confirmed.length / MAX_REPEATED_CHECKOUTS)
  await forEachConcurrently(
    confirmed.filter((_cart, i) => i % interval === 0),
    async ({ buyer, response, body, idempotencyKey }) => {
      const token = OPERATOR_TOKEN
      const { id } = response!.body.data
      const repeated = [
        await client.send('GET', `/operator/v1/checkouts/${id}`, { token }),
        await client.send('POST', '/operator/v1/checkouts', { token, body, idempotencyKey }),
      ]
      for (const { text } of repeated) {
        if (text === response!.text) continue
        violations.push(`The response to ${buyer} was ${response!.text}, and is now ${text}.`)
      }
    },
  )
  return violations
}

/** Initial stock is the remaining stock plus the units sold, less the units that cancellations restocked. */
async function findStockViolations({ client, market, journal, rows }: Evidence): Promise<string[]> {
  const left = new Map<number, number>()
  for (const { key } of market.sellers) {
    for (const { id, quantity } of await allPages<Row>(client, '/v1/listings', key)) {
      left.set(id, quantity)
    }
  }
  const sold = new Map<number, number>()
  for (const { id, status, listing_id, quantity } of rows.values()) {
    const isRestocked = status === 'cancelled' && journal.cancellations.get(id)?.restock
    if (!isRestocked) sold.set(listing_id, (sold.get(listing_id) ?? 0) + quantity)
  }
  return market.listings
    .map(({ id, stock }) => ({ id, stock, left: left.get(id), sold: sold.get(id) ?? 0 }))
    .filter(({ stock, left, sold }) => left === undefined || left < 0 || left + sold !== stock)
    .map(
      ({ id, stock, left, sold }) =>
        `Listing ${id} started with ${stock} units: ${sold} were sold, and ${left} remain.`,
    )
}

/** Every delivery is delivered, the receiver has accepted each of them, and nothing is left in the queue. */
async function findDeliveryViolations({ client, db, receiver }: Evidence): Promise<string[]> {
  const violations: string[] = []
  for (const status of ['pending', 'failed', 'skipped']) {
    const count = await countDeliveries(client, `status=${status}`)
    if (count > 0) violations.push(`${count} deliveries are still ${status}.`)
  }
  const delivered = await countDeliveries(client, 'status=delivered')
  const accepted = [...receiver.deliveries.values()].filter((delivery) => delivery.accepted > 0)
  if (delivered !== accepted.length) {
    violations.push(
      `${delivered} deliveries are delivered, but the receiver accepted ${accepted.length}.`,
    )
  }
  const [left] = await db<{ queued: number; pending: number }[]>`
    select
      (select count(*) from delivery_queue)::int as queued,
      (select count(*) from deliveries where status = 'pending')::int as pending
  `
  if (left!.queued + left!.pending > 0) {
    violations.push(`The queue has ${left!.queued} rows, the log ${left!.pending} pending ones.`)
  }
  return violations
}

/** The number of deliveries that match a query of the operator API. */
export const countDeliveries = async (client: Client, query: string): Promise<number> => {
  const path = `/operator/v1/deliveries?per_page=1&${query}`
  return (await client.sendOk('GET', path, { token: OPERATOR_TOKEN })).body.meta.total
}

/** A slice has at most one label, the service and the carrier agree on it, and each endpoint was notified of it. */
async function findLabelViolations({ db, journal, receiver, rows }: Evidence): Promise<string[]> {
  const violations: string[] = []
  const bought = await db<{ slice: string; count: number }[]>`
    select parcel ->> 'sliceKey' as slice, count(*)::int from simulated_shipments group by 1
  `
  const recorded = await db<{ slice: string }[]>`
    select slice_key as slice
    from shipments
    join slices on slices.id = shipments.slice_id
    where state = 'bought'
  `
  for (const { slice, count } of bought) {
    if (count > 1) violations.push(`${count} labels were bought for slice ${slice}.`)
  }
  const notified = [...receiver.deliveries.values()]
    .filter(({ event }) => event === 'order.label_ready')
    .map(({ data, path }) => `${rows.get(data.order_id)?.slice_key} ${path}`)
  for (const { sliceKey, seller } of journal.labelRequests) {
    const endpoints = seller.endpoints.filter(({ path }) =>
      notified.includes(`${sliceKey} ${path}`),
    )
    const isBought = bought.some(({ slice }) => slice === sliceKey)
    const isRecorded = recorded.some(({ slice }) => slice === sliceKey)
    if (
      isBought !== isRecorded ||
      endpoints.length !== (isRecorded ? seller.endpoints.length : 0)
    ) {
      violations.push(
        `The label of slice ${sliceKey}: bought at the carrier: ${isBought}, recorded: ${isRecorded}, endpoints notified: ${endpoints.length}.`,
      )
    }
    const needsLabel = [...rows.values()].some(
      (row) => row.slice_key === sliceKey && row.status === 'pending',
    )
    if (needsLabel && !isRecorded) violations.push(`Slice ${sliceKey} has no label.`)
  }
  return violations
}

/** The sellers' API shows every order row in the database. */
async function findRowViolations({ db, rows }: Evidence): Promise<string[]> {
  const [stored] = await db<{ count: number }[]>`select count(*)::int from orders`
  return stored!.count === rows.size
    ? []
    : [`The database has ${stored!.count} order rows, but sellers see ${rows.size}.`]
}

async function forEachConcurrently<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  const worker = async () => {
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}
