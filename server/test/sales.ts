import type { ShippingOption } from '../accounts/account.ts'
import type { NewAccount } from '../accounts/accounts.ts'
import type { Answer, Client, TestApp } from './app.ts'
import { list } from './stock.ts'

/** Words for what is sold, and for what happens to it afterwards. What's sold comes from stock.ts. */

/** A seller's own parcel, with a code to follow it by. */
export const PARCEL: ShippingOption = {
  code: 'parcel',
  name: 'Tracked parcel',
  fulfilment: 'self_ship',
  tracked: true,
  priceCents: 695,
  enabled: true,
}

/** A seller's own letter, which nobody can follow. */
export const ENVELOPE: ShippingOption = {
  ...PARCEL,
  code: 'envelope',
  name: 'Envelope',
  tracked: false,
  priceCents: 120,
}

/** A label that the service buys. */
export const LABEL: ShippingOption = {
  ...PARCEL,
  code: 'label',
  name: 'Platform label',
  fulfilment: 'platform',
  priceCents: 495,
}

/** For an account that ships in these ways, the first unless a buyer chooses. */
export const shipsBy = (...shippingOptions: ShippingOption[]): Partial<NewAccount> => ({
  shippingOptions,
})

export const BUYER = { name: 'Misty Waterflower', email: 'misty@cerulean.example' }

/** Every field of §2.8, in its order. */
export const ADDRESS = {
  full_name: 'Misty Waterflower',
  street: 'Cape Road',
  house_number: '25',
  house_number_suffix: 'B',
  zip: '1234 AB',
  city: 'Cerulean City',
  country: 'NL',
  phone: '+31 20 123 45 67',
}

/** Of a listing so many units. */
export type Line = [listing: number, quantity: number]

type Market = Pick<TestApp, 'operator'>

/** Sends a cart to be sold; `more` goes into the body. */
export const sendCart = (
  { operator }: Market,
  lines: Line[],
  more: object = {},
  headers: Record<string, string> = {},
): Promise<Answer> =>
  operator.post('/operator/v1/checkouts', {
    payload: {
      buyer: BUYER,
      address: ADDRESS,
      lines: lines.map(([listing_id, quantity]) => ({ listing_id, quantity })),
      ...more,
    },
    headers,
  })

export type Slice = {
  slice_key: string
  account_id: number
  order_ids: number[]
  shipping_price: number
}

/** What came of a sale; `orderIds` and `sliceKey` are those of its first seller. */
export type Sale = { id: number; slices: Slice[]; orderIds: number[]; sliceKey: string }

/** Sells a cart. Throws when that can't be. */
export async function buy(market: Market, lines: Line[], more: object = {}): Promise<Sale> {
  const { status, body, text } = await sendCart(market, lines, more)
  if (status !== 201) throw new Error(`Nothing was sold: ${text}`)
  const { id, slices } = body.data as { id: number; slices: Slice[] }
  const [first] = slices
  return { id, slices, orderIds: first!.order_ids, sliceKey: first!.slice_key }
}

/** A seller that ships in these ways, with its own parcel unless told otherwise. */
export const openShop = (app: TestApp, ...options: ShippingOption[]) =>
  app.seller({ account: shipsBy(...(options.length > 0 ? options : [PARCEL])) })

/** Lists and sells one of each of these items, as one cart; answers the order rows. */
export async function sellEach(
  market: Market,
  seller: Client,
  ...items: object[]
): Promise<number[]> {
  const listings = await list(seller, ...items)
  const { orderIds } = await buy(
    market,
    listings.map((id): Line => [id, 1]),
  )
  return orderIds
}

/** What the operator does to an order row. */
export const act = (
  { operator }: Market,
  order: number,
  action: 'cancel' | 'receive' | 'dispute' | 'resolve',
  payload?: object,
): Promise<Answer> => operator.post(`/operator/v1/orders/${order}/${action}`, { payload })

/** Cancels a row for its buyer. */
export const cancel = (market: Market, order: number, more: object = {}) =>
  act(market, order, 'cancel', { cancelled_by: 'buyer', ...more })

/** Marks the slice of an order as shipped; `payload` is the whole body, none when absent. */
export const ship = (seller: Client, order: number, payload?: object): Promise<Answer> =>
  seller.post(`/v1/orders/${order}/ship`, { payload })

/** The slice of an order as its seller reads it. */
export const sliceOf = async (seller: Client, order: number) =>
  (await seller.get(`/v1/orders/${order}`)).body.data

/** An order row as its seller reads it. */
export const rowOf = async (seller: Client, order: number) =>
  (await sliceOf(seller, order)).orders.find(({ id }: { id: number }) => id === order)

export type Told = { event: string; data: Record<string, unknown> }

/** What an account was told so far, oldest first. */
export async function toldTo({ ctx }: Pick<TestApp, 'ctx'>, accountId: number): Promise<Told[]> {
  const rows = await ctx.db<{ event: string; data: string }[]>`
    select event, data from events where account_id = ${accountId} order by id
  `
  return rows.map(({ event, data }) => ({ event, data: JSON.parse(data) }))
}
