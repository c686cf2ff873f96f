import { setImmediate } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { deleteInBatches } from '../database/batches.ts'
import { waitForShared } from '../database/shared-work.ts'
import type { Signals } from '../database/signals.ts'
import { coalesced } from '../queue/coalesced.ts'
import type { Listable } from './listing.ts'
import {
  MAX_OFFERS,
  type OfferChanges,
  type OfferRow,
  readChanges,
  type ShopRow,
} from './offer-changes.ts'
import type { Offer, Seller } from './offers.ts'

/**
 * The offers of cards and products in memory (docs/offers.md). This file is their only writer: it applies what
 * `readChanges` finds.
 */
export type OfferModel = {
  /** The offers of an item, if they are in memory and current. Has no effects. */
  peek(item: Listable): ItemOffers | undefined
  /** Must be called when offers of `peek` are used: it keeps the model current. */
  used(offers: ItemOffers): void
  /** The offers of an item as of now; undefined if the caller must read them from the database. */
  read(item: Listable): Promise<ItemOffers | undefined>
  /** The fields of offers that few values share, by their number in `ItemOffers`. */
  readonly variants: readonly Variant[]
  /** Shops by their number in `ItemOffers`. */
  readonly shops: readonly (Shop | undefined)[]
  /** Estimated memory. */
  readonly bytes: number
  /** Deletes rows of the feed that no process needs: those that were visible at a call more than two minutes ago. */
  prune(): Promise<void>
  close(): void
}

type Variant = Pick<
  Offer,
  'condition' | 'language' | 'printing' | 'gradingCompany' | 'gradingGrade'
>

export type Shop = {
  seller: Seller
  isHidden: boolean
  /** Grows with each change of any shop. */
  version: number
  /** Offers in memory that belong to the shop. */
  offers: number
}

/** The texts of an offer that has a description or photos. */
type OfferTexts = Pick<Offer, 'description' | 'photos'>

/** The offers of one item at one snapshot, cheapest first. A change makes a new object. */
export type ItemOffers = {
  key: string
  /** Six numbers for each offer: see `OFFER`. */
  numbers: Int32Array
  /** By listing. */
  texts: Map<number, OfferTexts> | undefined
  /** By listing; expired ones have no effect. */
  reservations: Map<number, Reserved[]> | undefined
  /** Estimated memory. */
  bytes: number
  /** Read since eviction last looked at it. */
  isUsed: boolean
  /** The `ETag` of the response, and what it was made from. The sender of the response keeps it. */
  tag: ResponseTag | undefined
}

/** The other things that a list of offers depends on. */
export type OffersValidity = {
  /** The newest version of the shops in it. */
  shopVersion: number
  /** Unix time in milliseconds at which a reservation expires that it subtracts. */
  validUntil: number
}

type ResponseTag = OffersValidity & {
  text: string
  /** Names the state of the item in the catalog. The catalog itself would be kept in memory by its tags. */
  identity: string
}

/** Units that a cart holds until this Unix time in milliseconds. */
export type Reserved = { quantity: number; expiresAt: number }

/** The indexes of an offer's numbers. An id is `high * 2^31 + low`. */
export const OFFER = {
  low: 0,
  high: 1,
  shop: 2,
  price: 3,
  quantity: 4,
  variant: 5,
  size: 6,
} as const

/** Maximum estimated memory of all items and shops. */
const MAX_BYTES = 96 * 1024 * 1024
/** Maximum staleness on processes that did not write. */
const MAX_AGE_MS = 50
/** Age at which a used model is refreshed in the background. */
const REFRESH_AGE_MS = 25
/** Without a refresh for this long by the database's clock, the model is emptied. */
const FORGET_AGE_MS = 60_000
/** Rows of the feed that were visible this long ago are deleted: every process has read them, or empties its model. */
const PRUNE_AGE_MS = 2 * FORGET_AGE_MS
/** An unused model is kept current, so that it is warm for the next reader, and emptied after a while. */
const IDLE_REFRESH_MS = 20_000
const IDLE_FORGET_MS = 10 * 60_000
/** Items that one refresh loads. */
const MAX_LOADED = 32

const ITEM_BYTES = 700
const TEXTS_BYTES = 200
const RESERVED_BYTES = 100
const SHOP_BYTES = 500

/** No text of PostgreSQL contains NUL, so a slug differs from every card's id. */
const keyOf = ({ cardId, productSlug }: Listable) => (cardId === null ? `\0${productSlug}` : cardId)

/** @param signals `offers` signals a commit of this process */
export function openOfferModel(
  { db, now }: Pick<Context, 'db' | 'now'>,
  signals: Pick<Signals, 'on'>,
  { maxBytes = MAX_BYTES }: { maxBytes?: number } = {},
): OfferModel {
  const items = new Map<string, ItemOffers>()
  /** Items with too many offers. */
  const large = new Set<string>()
  const wanted = new Map<string, Listable>()
  const variants: Variant[] = []
  const variantNumbers = new Map<string, number>()
  const shops: (Shop | undefined)[] = []
  const shopNumbers = new Map<number, number>()
  const freeShops: number[] = []
  let bytes = 0
  let shopVersion = 0
  /** The last snapshot, and when its refresh started. */
  let position: (OfferChanges['position'] & { startedAt: number }) | undefined
  /** Commits of this process, and how many of them the last refresh included. */
  let commits = 0
  let included = 0
  let isRefreshing = false
  let usedAt = 0
  /** Transactions of this server below `xmin` had ended at this time. */
  let visible: { xmin: string; server: string; at: number }[] = []

  const forget = () => {
    items.clear()
    large.clear()
    shops.length = 0
    shopNumbers.clear()
    freeShops.length = 0
    bytes = 0
    position = undefined
  }

  const age = () => (position ? performance.now() - position.startedAt : Number.POSITIVE_INFINITY)

  const isCurrent = () => included === commits && age() <= MAX_AGE_MS

  /** Refreshes with a statement that begins after this call. */
  const refresh = coalesced(async () => {
    isRefreshing = true
    // Reads that arrive in the same turn of the event loop share the statement.
    await setImmediate()
    const startedAt = performance.now()
    const startCommits = commits
    const from = position
    const loaded = [...wanted].slice(0, MAX_LOADED)
    for (const [key] of loaded) wanted.delete(key)
    try {
      const changes = await readChanges(
        { db, now },
        from?.snapshot,
        loaded.map(([, item]) => item),
      )
      // Another server may lack the last commits of its predecessor.
      const isOther = from !== undefined && from.server !== changes.position.server
      // This process or its machine was paused: rows of the feed may be gone. No clock of a paused machine shows it.
      const isLate = from !== undefined && changes.position.readAt - from.readAt > FORGET_AGE_MS
      const isIncomplete = changes.forgetsAll || isOther || isLate || from !== position
      if (isIncomplete) forget()
      apply(changes, isIncomplete ? [] : loaded.map(([key]) => key))
      position = { ...changes.position, startedAt }
      included = startCommits
    } catch (error) {
      forget()
      throw error
    } finally {
      isRefreshing = false
    }
  })

  const apply = ({ rows, reservations, sellers }: OfferChanges, loaded: string[]): void => {
    // By item and listing: a row that was changed and loaded is there twice.
    const changed = new Map<string, Map<number, OfferRow>>(loaded.map((key) => [key, new Map()]))
    for (const row of rows ?? []) {
      const key = keyOf({ cardId: row[1], productSlug: row[2] } as Listable)
      const ofItem = changed.get(key)
      if (ofItem) ofItem.set(row[0], row)
      else if (items.has(key)) changed.set(key, new Map([[row[0], row]]))
      // With an offer less, the item may no longer be large: the next read loads it.
      else if (row[4] !== 'active') large.delete(key)
    }
    const reserved = new Map<number, Reserved[]>()
    for (const [listingId, quantity, micros] of reservations ?? []) {
      // Rounded up, because the clock has whole milliseconds: the comparison is then that of the database.
      const one = { quantity, expiresAt: Math.ceil(micros / 1000) }
      const others = reserved.get(listingId)
      if (others) others.push(one)
      else reserved.set(listingId, [one])
    }
    const byAccount = new Map((sellers ?? []).map((values) => [values[0], values]))
    for (const values of byAccount.values()) {
      const shop = shops[shopNumbers.get(values[0]) ?? -1]
      if (shop) updateShop(shop, values)
    }
    for (const [key, rows] of changed) {
      const former = items.get(key)
      const offers = merged(former, rows, (accountId) => numberOf(byAccount.get(accountId)!))
      if (former) remove(former)
      if (offers.length > MAX_OFFERS) {
        large.add(key)
        for (const { shop } of offers) releaseShop(shop)
      } else add(key, former, offers, rows, reserved)
    }
    evict()
  }

  const updateShop = (
    shop: Shop,
    [id, shopName, slug, sellerTier, rating, reviews, isHidden]: ShopRow,
  ) => {
    const seller = { id, shopName, slug, sellerTier, rating, reviews }
    if (isHidden === shop.isHidden && JSON.stringify(seller) === JSON.stringify(shop.seller)) return
    shop.seller = seller
    shop.isHidden = isHidden
    shop.version = ++shopVersion
  }

  /** The number of a shop, which gets one more offer. */
  const numberOf = (values: ShopRow): number => {
    const [id, shopName, slug, sellerTier, rating, reviews, isHidden] = values
    let number = shopNumbers.get(id)
    if (number === undefined) {
      number = freeShops.pop() ?? shops.length
      shopNumbers.set(id, number)
      const seller = { id, shopName, slug, sellerTier, rating, reviews }
      shops[number] = { seller, isHidden, version: ++shopVersion, offers: 0 }
      bytes += SHOP_BYTES
    }
    shops[number]!.offers++
    return number
  }

  const releaseShop = (number: number): void => {
    const shop = shops[number]!
    if (--shop.offers > 0) return
    shops[number] = undefined
    shopNumbers.delete(shop.seller.id)
    freeShops.push(number)
    bytes -= SHOP_BYTES
  }

  const variantOf = (row: OfferRow): number => {
    const [, , , , , , , condition, language, printing, gradingCompany, gradingGrade] = row
    const name = `${condition} ${language} ${printing} ${gradingCompany} ${gradingGrade}`
    let number = variantNumbers.get(name)
    if (number === undefined) {
      number = variants.push({ condition, language, printing, gradingCompany, gradingGrade }) - 1
      variantNumbers.set(name, number)
    }
    return number
  }

  type Numbers = { id: number; shop: number; price: number; quantity: number; variant: number }

  /** The offers of an item after changes of these rows, sorted. Each holds its shop. */
  const merged = (
    former: ItemOffers | undefined,
    rows: Map<number, OfferRow>,
    holdShop: (accountId: number) => number,
  ): Numbers[] => {
    const offers: Numbers[] = []
    const numbers = former?.numbers ?? new Int32Array()
    for (let at = 0; at < numbers.length; at += OFFER.size) {
      const id = idAt(numbers, at)
      if (rows.has(id)) continue
      const shop = numbers[at + OFFER.shop]!
      shops[shop]!.offers++
      offers.push({
        id,
        shop,
        price: numbers[at + OFFER.price]!,
        quantity: numbers[at + OFFER.quantity]!,
        variant: numbers[at + OFFER.variant]!,
      })
    }
    for (const row of rows.values()) {
      const [id, , , accountId, status, price, quantity] = row
      if (status !== 'active') continue
      offers.push({ id, shop: holdShop(accountId), price, quantity, variant: variantOf(row) })
    }
    return offers.sort((a, b) => a.price - b.price || a.id - b.id)
  }

  const add = (
    key: string,
    former: ItemOffers | undefined,
    offers: Numbers[],
    rows: Map<number, OfferRow>,
    reserved: Map<number, Reserved[]>,
  ): void => {
    const numbers = new Int32Array(offers.length * OFFER.size)
    let at = 0
    for (const { id, shop, price, quantity, variant } of offers) {
      numbers[at + OFFER.low] = id % 2 ** 31
      numbers[at + OFFER.high] = Math.floor(id / 2 ** 31)
      numbers[at + OFFER.shop] = shop
      numbers[at + OFFER.price] = price
      numbers[at + OFFER.quantity] = quantity
      numbers[at + OFFER.variant] = variant
      at += OFFER.size
    }
    const texts = new Map(former?.texts)
    const reservations = new Map(former?.reservations)
    for (const [id, , , , status, , , , , , , , description, photos] of rows.values()) {
      const isActive = status === 'active'
      if (isActive && (description !== null || photos.length > 0)) {
        texts.set(id, { description, photos })
      } else texts.delete(id)
      const ofListing = isActive ? reserved.get(id) : undefined
      if (ofListing) reservations.set(id, ofListing)
      else reservations.delete(id)
    }
    let size = ITEM_BYTES + 2 * key.length + numbers.byteLength
    for (const { description, photos } of texts.values()) {
      size += TEXTS_BYTES + 2 * (description?.length ?? 0) + 100 * photos.length
    }
    for (const list of reservations.values()) size += RESERVED_BYTES * (list.length + 1)
    items.set(key, {
      key,
      numbers,
      texts: texts.size > 0 ? texts : undefined,
      reservations: reservations.size > 0 ? reservations : undefined,
      bytes: size,
      isUsed: true,
      tag: undefined,
    })
    bytes += size
  }

  const remove = (offers: ItemOffers): void => {
    items.delete(offers.key)
    bytes -= offers.bytes
    for (let at = OFFER.shop; at < offers.numbers.length; at += OFFER.size) {
      releaseShop(offers.numbers[at]!)
    }
  }

  /** Removes items that were not read lately, oldest first: one that was read gets a second chance. */
  const evict = (): void => {
    for (const offers of items.values()) {
      if (bytes <= maxBytes) return
      if (offers.isUsed) {
        offers.isUsed = false
        items.delete(offers.key)
        items.set(offers.key, offers)
      } else remove(offers)
    }
  }

  const committed = () => {
    commits++
  }
  // A changed shop signals `keys`, a holiday `offers`.
  const unsubscribe = [signals.on('offers', committed), signals.on('keys', committed)]
  const timer = setInterval(() => {
    if (!position) return
    if (performance.now() - usedAt > IDLE_FORGET_MS) forget()
    else refresh().catch(() => {})
  }, IDLE_REFRESH_MS).unref()

  return {
    peek: (item) => (isCurrent() ? items.get(keyOf(item)) : undefined),

    used(offers) {
      offers.isUsed = true
      usedAt = performance.now()
      if (age() > REFRESH_AGE_MS && !isRefreshing) refresh().catch(() => {})
    },

    async read(item) {
      const key = keyOf(item)
      usedAt = performance.now()
      for (let attempt = 0; attempt < 3; attempt++) {
        if (large.has(key)) return undefined
        const current = isCurrent() ? items.get(key) : undefined
        if (current) return current
        if (!items.has(key)) wanted.set(key, item)
        try {
          await waitForShared(refresh())
        } catch {
          return undefined
        }
        // Another commit may have followed already, but the refresh began after this call.
        const refreshed = items.get(key)
        if (refreshed) return refreshed
      }
      return undefined
    },

    variants,
    shops,
    get bytes() {
      return bytes
    },

    async prune() {
      // No transaction has these ids: the rows are of the server that a dump was made on, and would never be old.
      await db`delete from offer_changes where xid >= pg_snapshot_xmax(pg_current_snapshot())`
      const [read] = await db<{ xmin: string; server: string }[]>`
        select
          pg_snapshot_xmin(pg_current_snapshot())::text as xmin,
          pg_postmaster_start_time()::text as server
      `
      const now = performance.now()
      // The transactions of a server made from a dump have lower ids than those of its predecessor.
      visible = visible.filter(({ server }) => server === read!.server)
      const old = visible.findLast(({ at }) => now - at > PRUNE_AGE_MS)
      visible = [...visible.slice(old ? visible.indexOf(old) : 0), { ...read!, at: now }]
      if (!old) return
      const where = db`xid < ${old.xmin}::xid8`
      await deleteInBatches(db, 'offer_changes', { where, orderBy: 'xid' })
    },

    close() {
      for (const end of unsubscribe) end()
      clearInterval(timer)
    },
  }
}

/** The id of the offer whose numbers begin at `at`. */
export const idAt = (numbers: Int32Array, at: number): number =>
  numbers[at + OFFER.high]! * 2 ** 31 + numbers[at + OFFER.low]!

/** The offers of an item as objects, as of `now`. Those of hidden shops are left out. */
export function offersFrom(
  { variants, shops }: OfferModel,
  { numbers, texts, reservations }: ItemOffers,
  now: Date,
): (Offer & { seller: Seller })[] {
  const offers: (Offer & { seller: Seller })[] = []
  for (let at = 0; at < numbers.length; at += OFFER.size) {
    const { seller, isHidden } = shops[numbers[at + OFFER.shop]!]!
    if (isHidden) continue
    const id = idAt(numbers, at)
    const current = reservations?.get(id)?.filter(({ expiresAt }) => expiresAt > now.getTime())
    offers.push({
      id,
      accountId: seller.id,
      seller,
      priceCents: numbers[at + OFFER.price]!,
      quantity: numbers[at + OFFER.quantity]!,
      reserved: current?.reduce((sum, { quantity }) => sum + quantity, 0) ?? 0,
      ...variants[numbers[at + OFFER.variant]!]!,
      ...(texts?.get(id) ?? NO_TEXTS),
    })
  }
  return offers
}

const NO_TEXTS: OfferTexts = { description: null, photos: [] }
