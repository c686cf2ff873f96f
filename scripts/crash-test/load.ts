import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADDRESS } from '../../server/test/fixtures/orders.ts'
import type { Random } from '../random.ts'
import type { Answer, Ask } from './client.ts'
import type { Listing, Market, Seller } from './market.ts'
import { OPERATOR_TOKEN } from './processes.ts'

/** A cart as the marketplace's back end keeps it. The buyer's name is the cart's: it's on every order row. */
export type Cart = {
  buyer: string
  idempotencyKey: string
  body: { buyer: object; address: object; lines: { listing_id: number; quantity: number }[] }
  /** Some of it isn't there, or not on sale. */
  isHopeless: boolean
  /** undefined: there was none, and the back end didn't ask again. */
  answer: Answer | undefined
}

/** A row that somebody wanted to have cancelled. Nobody wants that of a row twice. */
export type Cancellation = { orderId: number; by: string; restock: boolean; isDone: boolean }

/** A slice that a label was asked for, by one of its rows. */
export type LabelCall = { seller: Seller; orderId: number; sliceKey: string }

/** What the back end and the sellers know of, whatever became of the service. */
export type Books = {
  carts: Cart[]
  cancellations: Map<number, Cancellation>
  labels: LabelCall[]
  /** Answers that nobody should have got. */
  wrong: string[]
}

export type Load = {
  books: Books
  /** All buyers come at once; resolves when the first of them has an answer, and the others are in the middle of it. */
  rush(): Promise<void>
  /** Nobody comes any more; resolves when everybody has their answer. */
  stop(): Promise<void>
}

type Slice = { slice_key: string; account_id: number; order_ids: number[] }

const MAX_PAUSE_MS = 500
const BY = ['buyer', 'seller', 'admin', 'system']

/** So many buyers, one cart after the other each; some change their minds, and sellers do what sellers do. */
export function startLoad(ask: Ask, market: Market, random: Random, buyers: number): Load {
  const books: Books = { carts: [], cancellations: new Map(), labels: [], wrong: [] }
  let isOver = false
  let rush = Promise.withResolvers<void>()
  let answered = Promise.withResolvers<void>()

  const buy = async (random: Random) => {
    /** Rows that are this buyer's and not cancelled, and slices without a label. */
    const rows: number[] = []
    const slices: Slice[] = []
    while (!isOver) {
      await Promise.race([sleep(random.between(0, MAX_PAUSE_MS)), rush.promise])
      const whim = random.between(0, 1)
      if (whim < 0.1 && rows.length > 0) {
        await cancel(ask, books, random, rows.splice(random.integer(0, rows.length - 1), 1)[0]!)
      } else if (whim < 0.15 && slices.length > 0) {
        await askForLabel(ask, books, market, slices.pop()!)
      } else if (whim < 0.2) {
        await changePrice(ask, books, market, random)
      } else {
        const bought = await checkOut(ask, books, market, random)
        answered.resolve()
        slices.push(...bought)
        rows.push(...bought.flatMap(({ order_ids }) => order_ids))
      }
    }
  }
  const done = Promise.all(Array.from({ length: buyers }, () => buy(random.fork())))
  // Whatever fails there is told by stop().
  done.catch(() => {})

  return {
    books,
    async rush() {
      answered = Promise.withResolvers()
      rush.resolve()
      rush = Promise.withResolvers()
      await Promise.race([answered.promise, sleep(MAX_PAUSE_MS)])
    },
    async stop() {
      isOver = true
      await done
    },
  }
}

/** Sends a cart, and again with the same key until there's an answer; now and then a back end gives up. */
async function checkOut(ask: Ask, books: Books, market: Market, random: Random): Promise<Slice[]> {
  const isHopeless = random.chance(0.1)
  const buyer = `Buyer ${books.carts.length + 1}`
  const cart: Cart = {
    buyer,
    idempotencyKey: randomUUID(),
    body: {
      buyer: { name: buyer, email: 'buyer@crash.example' },
      address: ADDRESS,
      lines: linesFor(market, random, isHopeless),
    },
    isHopeless,
    answer: undefined,
  }
  books.carts.push(cart)
  const request = {
    token: OPERATOR_TOKEN,
    body: cart.body,
    idempotencyKey: cart.idempotencyKey,
  }
  const send = random.chance(0.1) ? ask.once : ask.insist
  cart.answer = await send('POST', '/operator/v1/checkouts', request)
  if (!cart.answer) return []
  const { status, text, body } = cart.answer
  if (status !== 409 && (status !== 201 || isHopeless)) {
    books.wrong.push(`The cart of ${buyer} was answered with ${status}: ${text}`)
  }
  return status === 201 ? body.data.slices : []
}

/** One to three listings of one or two sellers; in a hopeless cart one of them can't be had. */
function linesFor({ sellers, listings }: Market, random: Random, isHopeless: boolean) {
  const chosenSellers = [random.pick(sellers), random.pick(sellers)]
  const visible = listings.filter(({ isHidden }) => !isHidden)
  const wanted = new Set<Listing>()
  for (let lines = random.integer(1, 3); lines > 0; lines--) {
    const seller = chosenSellers[lines % 2]
    wanted.add(random.pick(visible.filter((listing) => listing.seller === seller)))
  }
  const lines = [...wanted].map(({ id }) => ({ listing_id: id, quantity: random.integer(1, 3) }))
  if (!isHopeless) return lines
  const hidden = random.pick(listings.filter(({ isHidden }) => isHidden))
  const tooMuch = { listing_id: random.pick(visible).id, quantity: 5_000 }
  return [...lines, random.pick([{ listing_id: hidden.id, quantity: 1 }, tooMuch])]
}

async function cancel(ask: Ask, books: Books, random: Random, orderId: number): Promise<void> {
  const wish = { orderId, by: random.pick(BY), restock: random.chance(0.5), isDone: false }
  books.cancellations.set(orderId, wish)
  const { status, text, lost } = await ask.insist('POST', `/operator/v1/orders/${orderId}/cancel`, {
    token: OPERATOR_TOKEN,
    body: { cancelled_by: wish.by, restock: wish.restock },
  })
  // A call that wasn't answered may have done it.
  wish.isDone = status === 200 || (status === 409 && lost > 0)
  if (!wish.isDone) books.wrong.push(`Order ${orderId} was not cancelled: ${status} ${text}`)
}

async function askForLabel(
  ask: Ask,
  books: Books,
  { sellers }: Market,
  { account_id, slice_key: sliceKey, order_ids: [orderId] }: Slice,
): Promise<void> {
  const seller = sellers.find(({ id }) => id === account_id)!
  if (!seller.hasLabels) return
  books.labels.push({ seller, orderId: orderId!, sliceKey })
  // What came of it is asked at the end: a purchase that a kill interrupted takes its time.
  await ask.once('POST', `/v1/orders/${orderId}/label`, { token: seller.key })
}

/** Orders keep the price they were made at. */
async function changePrice(ask: Ask, books: Books, { listings }: Market, random: Random) {
  const { id, seller } = random.pick(listings)
  const { status, text } = await ask.insist('PATCH', `/v1/listings/${id}`, {
    token: seller.key,
    body: { price: random.integer(1, 9_999) / 100 },
  })
  if (status !== 200) books.wrong.push(`Listing ${id} was not changed: ${status} ${text}`)
}
