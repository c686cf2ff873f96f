import type { NewAccount } from '../accounts/accounts.ts'
import type { Client, TestApp } from './app.ts'

/** Words for what sellers have on sale. Everything here is of the cast (cast.ts): import that first. */

const MAX_AT_ONCE = 100

/** An item of a bulk create for a card: Charizard ex, unless told otherwise. */
export const cardItem = <More extends object>(more: More = {} as More) => ({
  card: 'sv3-125',
  condition: 'NM',
  language: 'EN',
  price: 4.5,
  quantity: 3,
  ...more,
})

/** An item for a graded card. */
export const gradedItem = (more: object = {}) =>
  cardItem({ condition: 'G', grading_company: 'PSA', grading_grade: '9.5', ...more })

/** An item for a sealed product: a booster box, unless told otherwise. */
export const productItem = (more: object = {}) => ({
  product: 'obsidian-flames-booster-box',
  language: 'EN',
  price: 129.99,
  quantity: 2,
  ...more,
})

/** So many different items, each with a description of its own: "item 1", "item 2", and so on. */
export const items = (count: number) =>
  Array.from({ length: count }, (_, i) => cardItem({ description: `item ${i + 1}` }))

/** Sends a bulk create. */
export const createListings = (
  seller: Client,
  wanted: unknown[],
  headers: Record<string, string> = {},
) => seller.post('/v1/listings', { payload: { items: wanted }, headers })

/** Lists stock; answers the ids of the new listings in the order of the items. Throws when one of them failed. */
export async function list(seller: Client, ...wanted: object[]): Promise<number[]> {
  const ids: number[] = []
  for (let start = 0; start < wanted.length; start += MAX_AT_ONCE) {
    const { body, text } = await createListings(seller, wanted.slice(start, start + MAX_AT_ONCE))
    if (body?.failed !== 0) throw new Error(`Not everything could be listed: ${text}`)
    ids.push(...body.results.map((result: { listing: { id: number } }) => result.listing.id))
  }
  return ids
}

/** A seller's listing as the seller's own list shows it, undefined when it isn't among the newest hundred. */
export async function listed(seller: Client, id: number) {
  const { body } = await seller.get('/v1/listings?per_page=100')
  return body.data.find((listing: { id: number }) => listing.id === id)
}

/** Holds units of a listing for a cart. Throws when they can't be had. */
export async function hold(
  operator: Client,
  listing_id: number,
  quantity: number,
  more: object = {},
): Promise<number> {
  const { status, body, text } = await operator.post('/operator/v1/reservations', {
    payload: { listing_id, quantity, cart_id: 'cart', ...more },
  })
  if (status !== 201) throw new Error(`Nothing was held: ${text}`)
  return body.data.id
}

/** Moves the service's clock ahead. */
export const advance = (operator: Client, seconds: number) =>
  operator.post('/operator/v1/sandbox/clock', { payload: { advance_seconds: seconds } })

/** Changes an account as the operator, with the operator's field names. */
export const changeAccount = ({ operator }: TestApp, accountId: number, payload: object) =>
  operator.patch(`/operator/v1/accounts/${accountId}`, { payload })

/** A shipping option as the operator's requests bring it, enabled. */
export const LETTER = {
  code: 'letter',
  name: 'Letter',
  fulfilment: 'self_ship',
  tracked: false,
  price: 1.5,
  enabled: true,
} as const

const { price: _price, ...letter } = LETTER

/** For an account that ships: its listings can be ordered. */
export const SHIPS: Partial<NewAccount> = { shippingOptions: [{ ...letter, priceCents: 150 }] }

/** Tests that write a lot do so with a few keys. */
export const NO_LIMITS = { RATE_LIMIT_READ: '1000000', RATE_LIMIT_WRITE: '1000000' }
