import { WEBHOOK_EVENTS } from '../../server/enums.ts'
import { SCOPES } from '../../server/keys/scopes.ts'
import type { Client } from './client.ts'
import { OPERATOR_TOKEN } from './processes.ts'
import type { Receiver } from './receiver.ts'

export type Seller = {
  id: number
  key: string
  /** The service buys labels for this seller. */
  hasLabels: boolean
  endpoints: Endpoint[]
  /** Signs in to the dashboard. */
  password: string
  cookie: string
  /** All IBANs that the seller has entered, the current one last. */
  ibans: string[]
  /** The payout setup was rejected at least once, so shipping may have been refused. */
  isRejected: boolean
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

const ENDPOINTS = 2
const LISTINGS = 30
/** Every tenth listing soon sells out. */
const SMALL_STOCK = 5
const LARGE_STOCK = 999
const PASSWORD = 'pikachu uses thunderbolt'
const IBAN = 'DE89370400440532013000'

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
  const email = `shop-${number}@crash.example`
  const account = await client.sendOk('POST', '/operator/v1/accounts', {
    token,
    body: {
      shop_name: `Shop ${number}`,
      email,
      password: PASSWORD,
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
    body: { scopes: SCOPES },
  })
  const cookie = await signIn(client, email)
  const body = { holder: `Shop ${number}`, iban: IBAN }
  await client.sendOk('PUT', '/dashboard/api/payouts/setup', { cookie, body })
  return {
    ...{ id, key: key.body.key, hasLabels, endpoints: [] },
    ...{ password: PASSWORD, cookie, ibans: [IBAN], isRejected: false },
  }
}

/** @returns the session's cookie */
async function signIn({ urls: [url] }: Client, email: string): Promise<string> {
  const { headers } = await fetch(`${url}/signin`, {
    method: 'POST',
    headers: { origin: url! },
    body: new URLSearchParams({ email, password: PASSWORD }),
    redirect: 'manual',
  })
  return headers.get('set-cookie')!.split(';')[0]!
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
    body: { url: url + path, events: WEBHOOK_EVENTS },
  })
  secrets.set(path, body.secret)
  return { path, seller }
}
