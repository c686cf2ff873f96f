import type { Random } from '../random.ts'
import type { Response } from './client.ts'
import { idsIn } from './operations.ts'
import type { Request } from './request.ts'

/** Ids and keys from responses, for use in later requests. */

/** Records kept per collection. A small number, so that concurrent requests often use the same record. */
const MAX_REMEMBERED = 40

export type Seller = { accountId: number; key: string }

/** A record: its id, the path ids it is nested in, and the seller who made or read it. */
export type Known = { id: string; within: Record<string, string>; accountId?: number | undefined }

export type Memory = {
  sellers: Seller[]
  /** Tokens of staff members of all roles. */
  staff: string[]
  known: Map<string, Known[]>
  /** The simulated carrier may fail until this time (performance.now()), so a 502 is expected. */
  carrierFailedAt: number
  /** Notes that a request steers the carrier; call the returned function with the response's label, if any. */
  steer(): (label: unknown) => void
  /** Picks a record, nine times out of ten one that these shops own if there is one. */
  pick(collection: string, random: Random, owners?: ReadonlySet<number>): Known | undefined
  addSeller(seller: Seller): void
  /** Drops a seller whose key was refused, unless it is the last one. */
  dropSeller(key: string): void
  /** Remembers the records and keys in a successful response. */
  learn(request: Request, response: Response): void
}

export function createMemory(): Memory {
  const month = { id: new Date().toISOString().slice(0, 7), within: {} }
  const known: Memory['known'] = new Map([['statements', [month]]])
  const remember = (collection: string, record: Known) => {
    const records = known.getOrInsert(collection, [])
    const found = records.find(({ id }) => id === record.id)
    if (found) {
      found.accountId ??= record.accountId
      return
    }
    records.push(record)
    if (records.length > MAX_REMEMBERED) records.shift()
  }
  let steering = 0
  let overlapped = false
  const memory: Memory = {
    sellers: [],
    staff: [],
    known,
    carrierFailedAt: Number.NEGATIVE_INFINITY,
    steer() {
      memory.carrierFailedAt = Number.POSITIVE_INFINITY
      overlapped = ++steering > 1
      return (label) => {
        steering--
        // The order of concurrent changes is unknown: the carrier may still fail.
        const isWorking = label !== undefined && label !== 'error' && !overlapped
        if (isWorking) memory.carrierFailedAt = performance.now()
      }
    },
    pick(collection, random, owners) {
      const all = known.get(collection) ?? []
      const own = all.filter(({ accountId }) => accountId !== undefined && owners?.has(accountId))
      const records = own.length > 0 && random.chance(0.9) ? own : all
      return records.length > 0 ? random.pick(records) : undefined
    },
    addSeller(seller) {
      memory.sellers.push(seller)
      if (memory.sellers.length > MAX_REMEMBERED) memory.sellers.shift()
    },
    dropSeller(key) {
      const remaining = memory.sellers.filter((seller) => seller.key !== key)
      if (remaining.length > 0) memory.sellers = remaining
    },
    learn(request, response) {
      if (response.status === 401 && request.sellerKey) memory.dropSeller(request.sellerKey)
      const uid = /\/oauth\/step\/([^/?]+)$/.exec(response.headers.location ?? '')?.[1]
      if (uid) remember('step', { id: uid, within: {}, accountId: request.accountId })
      if (response.status >= 300 || response.body.length === 0) return
      const body = jsonIn(response.body)
      if (body === undefined) return
      const { ids: within, accountId } = request
      const collection = collectionOf(request.operation.path)
      for (const record of recordsIn(body)) {
        const id = record.id ?? record.slug
        const owner = record.account_id ?? accountId
        if (id !== undefined) remember(collection, { id: String(id), within, accountId: owner })
        if (collection === 'accounts') remember('shops', { id: String(record.slug), within: {} })
      }
      visitFields(body, accountId, (key, value, owner) => {
        const target = REFERENCES[key]
        for (const id of target ? [value].flat() : []) {
          if (typeof id === 'string' || typeof id === 'number') {
            remember(target!, { id: String(id), within: {}, accountId: owner })
          }
        }
      })
      if (collection === 'staff' && typeof body.token === 'string') memory.staff.push(body.token)
      if (collection === 'keys' && typeof body.key === 'string') {
        memory.addSeller({ accountId: Number(within.accounts ?? accountId), key: body.key })
      }
    },
  }
  return memory
}

/** Fields of any response that refer to records of a collection. */
const REFERENCES: Record<string, string> = {
  listing_id: 'listings',
  order_ids: 'orders',
  order_id: 'orders',
  slice_key: 'slices',
  checkout_id: 'checkouts',
  delivery_id: 'deliveries',
  cart_id: 'carts',
  label_url: 'labels',
  user_code: 'user codes',
  device_code: 'device codes',
  refresh_token: 'refresh tokens',
  next: 'cursors',
}

/** The collection of the records in an operation's response. */
const collectionOf = (path: string) => {
  const last = idsIn(path).at(-1)
  const tail = path.split('/').at(-1)!
  // `/accounts/{id}/keys` returns keys; `/orders/{id}/cancel` returns an order: `cancel` is an action.
  return last && (tail.startsWith('{') || ACTIONS.has(tail)) ? last.collection : tail
}

const ACTIONS = new Set(
  'ship label cancel receive dispute resolve tracking rotate enable resend'.split(' '),
)

// biome-ignore lint/suspicious/noExplicitAny: any JSON
type Json = any

function recordsIn(body: Json): Json[] {
  const bulk = Array.isArray(body.results)
    ? body.results.map(({ listing }: Json) => listing)
    : [body.data].flat()
  return bulk.filter((record: Json) => typeof record === 'object' && record !== null)
}

/** Visits each field with the shop that its object names, or the one of the objects around it. */
function visitFields(
  value: Json,
  around: number | undefined,
  visit: (key: string, value: Json, owner: number | undefined) => void,
): void {
  if (typeof value !== 'object' || value === null) return
  const owner = value.account_id ?? around
  for (const [key, inner] of Object.entries(value)) {
    visit(key, inner, owner)
    visitFields(inner, owner, visit)
  }
}

export function jsonIn(bytes: Buffer): Json {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
