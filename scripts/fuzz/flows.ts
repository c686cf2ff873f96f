import { SCOPES } from '../../server/keys/scopes.ts'
import type { Random } from '../random.ts'
import type { Response } from './client.ts'
import type { Options } from './generate.ts'
import { jsonIn } from './memory.ts'

/** Sends a valid request for the operation with this id. */
export type Send = (operationId: string, options?: Options) => Promise<Response>

/** Sequences of requests that depend on each other: random requests alone rarely reach late order states. */

/** Opens a shop that is allowed to sell, and makes a key for it. */
export async function openShop(send: Send, random: Random): Promise<void> {
  const account = await send('createAccount', {
    fields: {
      api_access: 'enabled',
      payout_verified: true,
      shipping_options: random.chance(0.5) ? [PARCEL, LETTER] : [LETTER, PARCEL],
    },
  })
  const id = idIn(account)
  if (!id) return
  const scopes = random.chance(0.8) ? SCOPES : SCOPES.filter(() => random.chance(0.5))
  await send('createKey', { ids: { accounts: id }, fields: { scopes } })
}

/** Lists, sells and ships a card, then disputes, receives or cancels the order. */
export async function sell(send: Send, random: Random): Promise<void> {
  const created = jsonIn((await send('createListings')).body)
  const results: { listing?: { id: number } }[] = created?.results ?? []
  const listing = results.find(({ listing }) => listing)?.listing
  if (!listing) return
  const cart = { listing_id: listing.id, quantity: 1, cart_id: `cart-${random.integer(1, 20)}` }
  if (random.chance(0.5)) await send('createReservation', { fields: cart })
  const checkout = await send('createCheckout', { fields: cart })
  const [slice] = jsonIn(checkout.body)?.data?.slices ?? []
  if (!slice) return
  const ids = { orders: String(slice.order_ids[0]), slices: slice.slice_key }
  const options = { ids, accountId: slice.account_id }
  await send('getOrder', options)
  if (random.chance(0.2)) await send('steerCarrier')
  if (random.chance(0.7)) await send('buyLabel', options)
  if (random.chance(0.5)) await send('reportTracking', options)
  if (random.chance(0.8)) await send('shipOrder', options)
  if (random.chance(0.5)) await send('buyLabel', options)
  await send(random.pick(['disputeOrder', 'receiveOrder', 'cancelOrder']), options)
  for (let steps = random.integer(0, 3); steps > 0; steps--)
    await send(random.pick(AFTER_SALE), options)
  await send(random.pick(['resolveDispute', 'disputeOrder', 'cancelOrder']), options)
  if (random.chance(0.3)) await send('deleteListing', { ids: { listings: String(listing.id) } })
}

/** Registers a webhook endpoint, sends a sample event and acts on its deliveries. */
export async function subscribe(send: Send, random: Random): Promise<void> {
  const endpoint = idIn(await send('createWebhook'))
  if (!endpoint) return
  await send('sendSampleEvent')
  await send('listDeliveries')
  const actions = ['resendDelivery', 'resendDeliveries', 'enableEndpoint']
  await send(random.pick([...actions, 'deleteWebhook', 'deleteEndpoint']))
}

/** Steps on an order, by its seller, its member and the marketplace. */
const AFTER_SALE = [
  ...[
    'answerDispute',
    'cancelOwnOrder',
    'addReview',
    'changeReview',
    'removeReview',
    'refundOrder',
  ],
  ...['getAnyOrder', 'listDisputes', 'listReviews', 'listOwnReviews', 'replyToReview', 'listAudit'],
  ...['', '/disputes'].map((path) => `GET /dashboard/api/orders/{order}${path}`),
  ...['label', 'ship', 'cancel', 'dispute/answer'].map(
    (path) => `POST /dashboard/api/orders/{order}/${path}`,
  ),
]

const PARCEL = {
  code: 'parcel',
  name: 'Parcel',
  fulfilment: 'platform',
  tracked: true,
  price: 4.95,
  enabled: true,
}
const LETTER = {
  ...PARCEL,
  code: 'letter',
  name: 'Letter',
  fulfilment: 'self_ship',
  tracked: false,
}

const idIn = (response: Response): string | undefined => {
  const id = jsonIn(response.body)?.data?.id
  return id === undefined ? undefined : String(id)
}
