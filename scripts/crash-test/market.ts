import type { Client } from './client.ts'
import { OPERATOR_TOKEN } from './processes.ts'
import type { Receiver } from './receiver.ts'

export type Seller = {
  id: number
  key: string
  /** The service buys labels for this seller. */
  hasLabels: boolean
  endpoints: Endpoint[]
}

export type Endpoint = { path: string; seller: Seller }

export type Listing = {
  id: number
  seller: Seller
  /** Units at the start of the test. */
  stock: number
  isHidden: boolean
}

export type Market = { sellers: Seller[]; listings: Listing[] }

const SCOPES = ['catalog:read', 'listings:read', 'listings:write', 'orders:read', 'orders:write']
const EVENTS = ['order.created', 'order.cancelled', 'order.label_ready', 'listing.sold']
const ENDPOINTS = 2
const LISTINGS = 30
/** Every tenth listing soon sells out. */
const SMALL_STOCK = 5
const LARGE_STOCK = 999

/** Opens shops through both APIs, with stock and with webhook endpoints at the receiver. */
export async function openMarket(
  client: Client,
  sellers: number,
  receiver: Pick<Receiver, 'url' | 'secrets'>,
): Promise<Market> {
  const market: Market = { sellers: [], listings: [] }
  while (market.sellers.length < sellers) {
    const seller = await openShop(client, market.sellers.length + 1)
    market.sellers.push(seller)
    market.listings.push(...(await createListings(client, seller)))
    while (seller.endpoints.length < ENDPOINTS) {
      seller.endpoints.push(await registerEndpoint(client, seller, receiver))
    }
  }
  return market
}

/** Opens a shop. The service buys the labels of every second shop. */
async function openShop(client: Client, number: number): Promise<Seller> {
  const hasLabels = number % 2 === 1
  const token = OPERATOR_TOKEN
  const account = await client.sendOk('POST', '/operator/v1/accounts', {
    token,
    body: {
      shop_name: `Shop ${number}`,
      email: `shop-${number}@crash.example`,
      payout_verified: true,
      api_access: 'enabled',
      shipping_options: [
        {
          code: 'parcel',
          name: 'Parcel',
          fulfilment: hasLabels ? 'platform' : 'self_ship',
          tracked: true,
          price: 4.95,
          enabled: true,
        },
      ],
    },
  })
  const { id } = account.body.data
  const key = await client.sendOk('POST', `/operator/v1/accounts/${id}/keys`, {
    token,
    body: { scopes: [...SCOPES, 'webhooks:manage'] },
  })
  return { id, key: key.body.key, hasLabels, endpoints: [] }
}

/** Lists a seller's stock. The last listing is hidden, so it can't be bought. */
async function createListings(client: Client, seller: Seller): Promise<Listing[]> {
  const token = seller.key
  const cards = await client.sendOk('GET', `/v1/cards?per_page=${LISTINGS}`, { token })
  const items = cards.body.data.map(({ id }: { id: string }, i: number) => ({
    card: id,
    condition: 'NM',
    language: 'EN',
    price: 1 + i / 4,
    quantity: i % 10 === 0 ? SMALL_STOCK : LARGE_STOCK,
  }))
  const { body } = await client.sendOk('POST', '/v1/listings', { token, body: { items } })
  const ids: number[] = body.results.map((result: { listing: { id: number } }) => result.listing.id)
  await client.sendOk('PATCH', `/v1/listings/${ids.at(-1)}`, { token, body: { status: 'hidden' } })
  return ids.map((id, i) => ({
    id,
    seller,
    stock: items[i].quantity,
    isHidden: i === ids.length - 1,
  }))
}

async function registerEndpoint(
  client: Client,
  seller: Seller,
  { url, secrets }: Pick<Receiver, 'url' | 'secrets'>,
): Promise<Endpoint> {
  const path = `/hooks/${seller.id}/${seller.endpoints.length + 1}`
  const { body } = await client.sendOk('POST', '/v1/webhooks', {
    token: seller.key,
    body: { url: url + path, events: EVENTS },
  })
  secrets.set(path, body.secret)
  return { path, seller }
}
