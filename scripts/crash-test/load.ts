import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADDRESS } from '../../server/test/fixtures/orders.ts'
import type { Random } from '../random.ts'
import type { Client, Response } from './client.ts'
import type { Listing, Market, Seller } from './market.ts'
import { OPERATOR_TOKEN } from './processes.ts'

/** A cart of the marketplace's back end. Its buyer's name is unique and appears on its order rows. */
export type Cart = {
  buyer: string
  idempotencyKey: string
  body: { buyer: object; address: object; lines: { listing_id: number; quantity: number }[] }
  /** One of its listings is hidden or has too little stock. */
  isUnsellable: boolean
  /** undefined: no response arrived, and the back end didn't retry. */
  response: Response | undefined
}

/** A request to cancel an order row; at most one for each row. */
export type Cancellation = { orderId: number; by: string; restock: boolean; isDone: boolean }

/** A request for the label of a slice, through one of its order rows. */
export type LabelRequest = { seller: Seller; orderId: number; sliceKey: string }

/** The clients' own record of their requests and responses, independent of the service. */
export type Journal = {
  carts: Cart[]
  cancellations: Map<number, Cancellation>
  labelRequests: LabelRequest[]
  /** Responses that must not occur. */
  violations: string[]
}

export type Load = {
  journal: Journal
  /** Makes all buyers act at once. Resolves with the first checkout response, while other requests are in progress. */
  burst(): Promise<void>
  /** Starts no more requests; resolves when all requests have ended. */
  stop(): Promise<void>
}

type Slice = { slice_key: string; account_id: number; order_ids: number[] }

const MAX_PAUSE_MS = 500
const CANCELLERS = ['buyer', 'seller', 'admin', 'system']

/** Starts buyers. Each sends one cart after the other; in between, orders are cancelled, labels requested and prices changed. */
export function startLoad(client: Client, market: Market, random: Random, buyers: number): Load {
  const journal: Journal = {
    carts: [],
    cancellations: new Map(),
    labelRequests: [],
    violations: [],
  }
  let isOver = false
  let burst = Promise.withResolvers<void>()
  let responded = Promise.withResolvers<void>()

  const buy = async (random: Random) => {
    /** This buyer's order rows that are not cancelled, and slices without a label. */
    const rows: number[] = []
    const slices: Slice[] = []
    while (!isOver) {
      await Promise.race([sleep(random.between(0, MAX_PAUSE_MS)), burst.promise])
      const roll = random.between(0, 1)
      if (roll < 0.1 && rows.length > 0) {
        await cancel(
          client,
          journal,
          random,
          rows.splice(random.integer(0, rows.length - 1), 1)[0]!,
        )
      } else if (roll < 0.15 && slices.length > 0) {
        await requestLabel(client, journal, market, slices.pop()!)
      } else if (roll < 0.2) {
        await changePrice(client, journal, market, random)
      } else {
        const bought = await checkOut(client, journal, market, random)
        responded.resolve()
        slices.push(...bought)
        rows.push(...bought.flatMap(({ order_ids }) => order_ids))
      }
    }
  }
  const done = Promise.all(Array.from({ length: buyers }, () => buy(random.fork())))
  // stop() reports a failure.
  done.catch(() => {})

  return {
    journal,
    async burst() {
      responded = Promise.withResolvers()
      burst.resolve()
      burst = Promise.withResolvers()
      await Promise.race([responded.promise, sleep(MAX_PAUSE_MS)])
    },
    async stop() {
      isOver = true
      await done
    },
  }
}

/** Sends a cart. Nine times out of ten, the back end retries with the same idempotency key until a response arrives. */
async function checkOut(
  client: Client,
  journal: Journal,
  market: Market,
  random: Random,
): Promise<Slice[]> {
  const isUnsellable = random.chance(0.1)
  const buyer = `Buyer ${journal.carts.length + 1}`
  const cart: Cart = {
    buyer,
    idempotencyKey: randomUUID(),
    body: {
      buyer: { name: buyer, email: 'buyer@crash.example' },
      address: ADDRESS,
      lines: linesFor(market, random, isUnsellable),
    },
    isUnsellable,
    response: undefined,
  }
  journal.carts.push(cart)
  const request = {
    token: OPERATOR_TOKEN,
    body: cart.body,
    idempotencyKey: cart.idempotencyKey,
  }
  const send = random.chance(0.1) ? client.sendOnce : client.send
  cart.response = await send('POST', '/operator/v1/checkouts', request)
  if (!cart.response) return []
  const { status, text, body } = cart.response
  if (status !== 409 && (status !== 201 || isUnsellable)) {
    journal.violations.push(`The response to the cart of ${buyer} was ${status}: ${text}`)
  }
  return status === 201 ? body.data.slices : []
}

/** One to three listings of one or two sellers; an unsellable cart has one more line, which can't be sold. */
function linesFor({ sellers, listings }: Market, random: Random, isUnsellable: boolean) {
  const chosenSellers = [random.pick(sellers), random.pick(sellers)]
  const visible = listings.filter(({ isHidden }) => !isHidden)
  const chosen = new Set<Listing>()
  for (let lines = random.integer(1, 3); lines > 0; lines--) {
    const seller = chosenSellers[lines % 2]
    chosen.add(random.pick(visible.filter((listing) => listing.seller === seller)))
  }
  const lines = [...chosen].map(({ id }) => ({ listing_id: id, quantity: random.integer(1, 3) }))
  if (!isUnsellable) return lines
  const hidden = random.pick(listings.filter(({ isHidden }) => isHidden))
  const tooMuch = { listing_id: random.pick(visible).id, quantity: 5_000 }
  return [...lines, random.pick([{ listing_id: hidden.id, quantity: 1 }, tooMuch])]
}

async function cancel(
  client: Client,
  journal: Journal,
  random: Random,
  orderId: number,
): Promise<void> {
  const cancellation = {
    orderId,
    by: random.pick(CANCELLERS),
    restock: random.chance(0.5),
    isDone: false,
  }
  journal.cancellations.set(orderId, cancellation)
  const { status, text, failedAttempts } = await client.send(
    'POST',
    `/operator/v1/orders/${orderId}/cancel`,
    {
      token: OPERATOR_TOKEN,
      body: { cancelled_by: cancellation.by, restock: cancellation.restock },
    },
  )
  // A failed attempt may have cancelled the order: the retry then conflicts.
  cancellation.isDone = status === 200 || (status === 409 && failedAttempts > 0)
  if (!cancellation.isDone)
    journal.violations.push(`Order ${orderId} was not cancelled: ${status} ${text}`)
}

async function requestLabel(
  client: Client,
  journal: Journal,
  { sellers }: Market,
  { account_id, slice_key: sliceKey, order_ids: [orderId] }: Slice,
): Promise<void> {
  const seller = sellers.find(({ id }) => id === account_id)!
  if (!seller.hasLabels) return
  journal.labelRequests.push({ seller, orderId: orderId!, sliceKey })
  // settleLabels checks the result at the end: a purchase that a kill interrupts takes minutes.
  await client.sendOnce('POST', `/v1/orders/${orderId}/label`, { token: seller.key })
}

/** Changes the price of a listing; its existing orders must keep theirs. */
async function changePrice(client: Client, journal: Journal, { listings }: Market, random: Random) {
  const { id, seller } = random.pick(listings)
  const { status, text } = await client.send('PATCH', `/v1/listings/${id}`, {
    token: seller.key,
    body: { price: random.integer(1, 9_999) / 100 },
  })
  if (status !== 200) journal.violations.push(`Listing ${id} was not changed: ${status} ${text}`)
}
