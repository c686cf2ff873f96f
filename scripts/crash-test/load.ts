import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADDRESS } from '../../server/test/fixtures/orders.ts'
import type { Random } from '../random.ts'
import { type AfterSaleJournal, continueDeal, type Deal } from './after-sale.ts'
import type { Client, Response } from './client.ts'
import { doFinance, type FinanceJournal, newBank } from './finance.ts'
import type { Listing, Market, Seller } from './market.ts'
import { OPERATOR_TOKEN } from './processes.ts'

/** A cart of the marketplace's back end. Its buyer's name is unique and appears on its order rows. */
export type Cart = {
  buyer: string
  idempotencyKey: string
  body: { buyer: object; address: object; lines: { listing_id: number; quantity: number }[] }
  /** One of its listings is hidden or has too little stock. */
  isUnsellable: boolean
  /** undefined if no response arrived and the back end didn't retry. */
  response: Response | undefined
}

/** A request for the label of a slice, through one of its order rows. */
export type LabelRequest = { seller: Seller; orderId: number; sliceKey: string }

/** The clients' own record of their requests and responses, independent of the service. */
export type Journal = AfterSaleJournal &
  FinanceJournal & {
    carts: Cart[]
    labelRequests: LabelRequest[]
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
/** A buyer continues with one of the latest slices. */
const MAX_DEALS = 6
/** Staff who run payouts and report their results. */
const FINANCE_STAFF = 2

/**
 * Starts buyers and staff. Each buyer sends one cart after the other; in between, the orders continue (after-sale.ts),
 * labels are requested and prices changed. The staff pays the sellers (finance.ts).
 */
export function startLoad(client: Client, market: Market, random: Random, buyers: number): Load {
  const journal: Journal = {
    carts: [],
    labelRequests: [],
    cancellations: new Map(),
    refunds: [],
    reviews: new Set(),
    bank: newBank(),
    runs: [],
    violations: [],
  }
  let isOver = false
  let burst = Promise.withResolvers<void>()
  let responded = Promise.withResolvers<void>()

  const pause = (random: Random) =>
    Promise.race([sleep(random.between(0, MAX_PAUSE_MS)), burst.promise])

  const buy = async (random: Random) => {
    const deals: Deal[] = []
    const slices: Slice[] = []
    while (!isOver) {
      await pause(random)
      const roll = random.between(0, 1)
      if (roll < 0.05 && slices.length > 0) {
        await requestLabel(client, journal, market, slices.pop()!)
      } else if (roll < 0.1) {
        await changePrice(client, journal, market, random)
      } else if (roll < 0.55 && deals.length > 0) {
        const index = random.integer(Math.max(0, deals.length - MAX_DEALS), deals.length - 1)
        const isOpen = await continueDeal(client, journal, random, deals[index]!)
        if (!isOpen) deals.splice(index, 1)
      } else {
        const bought = await checkOut(client, journal, market, random)
        responded.resolve()
        slices.push(...bought)
        deals.push(...bought.map((slice) => dealOf(market, slice)))
      }
    }
  }
  const pay = async (random: Random) => {
    while (!isOver) {
      await pause(random)
      await doFinance(client, journal, market, random)
    }
  }
  const done = Promise.all([
    ...Array.from({ length: buyers }, () => buy(random.fork())),
    ...Array.from({ length: FINANCE_STAFF }, () => pay(random.fork())),
  ])
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

const dealOf = (
  { sellers }: Market,
  { slice_key: sliceKey, account_id, order_ids }: Slice,
): Deal => ({
  seller: sellers.find(({ id }) => id === account_id)!,
  sliceKey,
  rows: new Map(order_ids.map((id) => [id, 'pending'])),
})

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
