import type { Listable } from './listing.ts'
import { MAX_OFFERS, type OfferChanges, type OfferRow, type ShopRow } from './offer-changes.ts'
import type { Offer, Seller } from './offers.ts'

/** The offers that the model has read, packed. It is pure: `offer-model.ts` keeps it current. */
export type OfferStore = {
  /** By `keyOf`. */
  readonly items: ReadonlyMap<string, ItemOffers>
  /** Items with too many offers. */
  readonly large: ReadonlySet<string>
  /** The fields of offers that few values share, by their number in `ItemOffers`. */
  readonly variants: readonly Variant[]
  /** Shops by their number in `ItemOffers`. */
  readonly shops: readonly (Shop | undefined)[]
  /** Estimated memory. */
  readonly bytes: number
  /**
   * Applies changes since the last call, then evicts items beyond the maximum.
   *
   * @param loaded keys of the items that the changes have completely
   */
  apply(changes: OfferChanges, loaded: string[]): void
  /** Removes all items and shops. */
  clear(): void
}

export type Variant = Pick<
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

const ITEM_BYTES = 700
const TEXTS_BYTES = 200
const RESERVED_BYTES = 100
const SHOP_BYTES = 500

/** No text of PostgreSQL contains NUL, so a slug differs from every card's id. */
export const keyOf = ({ cardId, productSlug }: Listable) =>
  cardId === null ? `\0${productSlug}` : cardId

/** An offer, unpacked while its item changes. */
type Numbers = { id: number; shop: number; price: number; quantity: number; variant: number }

/** Creates an empty store. @param maxBytes maximum estimated memory of all items and shops */
export function createOfferStore(maxBytes: number): OfferStore {
  const items = new Map<string, ItemOffers>()
  const large = new Set<string>()
  const variants: Variant[] = []
  const variantNumbers = new Map<string, number>()
  const shops: (Shop | undefined)[] = []
  const shopNumbers = new Map<number, number>()
  const freeShops: number[] = []
  let bytes = 0
  let shopVersion = 0

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

  return {
    items,
    large,
    variants,
    shops,
    get bytes() {
      return bytes
    },
    apply,

    clear() {
      items.clear()
      large.clear()
      shops.length = 0
      shopNumbers.clear()
      freeShops.length = 0
      bytes = 0
    },
  }
}

/** The id of the offer whose numbers begin at `at`. */
export const idAt = (numbers: Int32Array, at: number): number =>
  numbers[at + OFFER.high]! * 2 ** 31 + numbers[at + OFFER.low]!

/** The offers of an item as objects, as of `now`. Those of hidden shops are left out. */
export function offersFrom(
  { variants, shops }: Pick<OfferStore, 'variants' | 'shops'>,
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
