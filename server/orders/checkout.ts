import { randomBytes } from 'node:crypto'
import { isOffered, type ShippingOption } from '../accounts/account.ts'
import { isSelling, shippingOptionsOf } from '../accounts/accounts.ts'
import { COMMISSION_RATES } from '../accounts/tiers.ts'
import { eurosFromCents } from '../cents.ts'
import type { Context } from '../context.ts'
import { atOneTime, inTransaction } from '../database/in-transaction.ts'
import type { Outcome } from '../database/shared-transactions.ts'
import type { Db } from '../database/sql.ts'
import type { ListingStatus, SellerTier } from '../enums.ts'
import { conflict, notFound, validationError } from '../errors.ts'
import { listingSold, orderCreated } from '../events/payloads.ts'
import { type NewEvent, recordEvents } from '../events/record.ts'
import { statusFor } from '../listings/listing.ts'
import type { NewMail } from '../mail/mail.ts'
import { sendMails } from '../mail/outbox.ts'
import { salePostings } from '../money/ledger.ts'
import type { Address } from '../text/address.ts'
import { confirmationEmail, soldEmail } from './emails.ts'
import { commissionOf, grossOf } from './money.ts'

export type NewCheckout = {
  buyer: { name: string; email: string }
  address: Address | null
  /** `priceCents` is the price of a unit that the buyer has seen, if the caller names it. */
  lines: { listingId: number; quantity: number; priceCents?: number | undefined }[]
  cartId: string | undefined
  /** The buyer's choices, and the prices seen. A seller without a choice ships with its first enabled option. */
  shipping: { accountId: number; option: string; priceCents?: number | undefined }[]
}

export type Checkout = {
  id: number
  slices: { sliceKey: string; accountId: number; orderIds: number[]; shippingCents: number }[]
}

const MAX_SHARED_LINES = 20

/** Whether a cart shares a transaction with those of concurrent callers. A larger one would delay them. */
export const sharesTransaction = ({ lines }: Pick<NewCheckout, 'lines'>): boolean =>
  lines.length <= MAX_SHARED_LINES

/**
 * Sells everything in a cart or nothing, in one transaction: stock, order rows, events and e-mails. It locks the
 * listings by id (locks.ts), so that checkouts don't deadlock and the last unit is sold once.
 *
 * @throws conflict if a line can't be sold or the buyer has seen another price, validation_error for a shipping option
 *   that the seller doesn't offer for the address and value, or an address for which no label could be bought
 */
export function checkOut(ctx: Context, wanted: NewCheckout): Promise<Checkout> {
  if (sharesTransaction(wanted)) return ctx.share(sellAll, wanted)
  return inTransaction(ctx, (tx) => tx.share(sellAll, wanted))
}

/** Sells carts one after the other. A cart that can't be sold changes nothing. */
async function sellAll(
  ctx: Context,
  carts: NewCheckout[],
  waits: boolean,
): Promise<Outcome<Checkout>[]> {
  const tx = atOneTime(ctx)
  const wanted = carts.map((cart) => ({
    ...cart,
    lines: mergeLines(cart.lines),
    seen: cart.lines,
  }))
  const market = await lockMarket(tx, listingIdsOf(wanted), waits)
  const sales = wanted.map((cart): Sale | { error: Error } | 'locked' => {
    const isMissing = cart.lines.keys().some((id) => !market.listings.has(id))
    // A missing listing is locked by another transaction, or it is not there.
    if (isMissing && !waits) return 'locked'
    try {
      return sell(market, cart)
    } catch (error) {
      return { error: error as Error }
    }
  })
  const sold = sales.filter(isSale)
  const checkouts = sold.length === 0 ? [] : await write(tx, market, sold)
  return sales.map((sale) => (isSale(sale) ? { result: checkouts[sold.indexOf(sale)]! } : sale))
}

/** One checkout. @throws not_found */
export async function getCheckout({ db }: Context, id: number): Promise<Checkout> {
  const slices = await db<Checkout['slices']>`
    select
      slice_key as "sliceKey",
      account_id as "accountId",
      shipping_cents as "shippingCents",
      array(select o.id from orders o where o.slice_id = slices.id order by o.id) as "orderIds"
    from slices
    where checkout_id = ${id}
    order by account_id
  `
  if (slices.length === 0) throw notFound('There is no such checkout.')
  return { id, slices: [...slices] }
}

/** A cart with the total quantity of each listing, in the order of the ids, and the prices that the buyer has seen. */
type Cart = Omit<NewCheckout, 'lines'> & {
  lines: Map<number, number>
  seen: Pick<NewCheckout['lines'][number], 'listingId' | 'priceCents'>[]
}

function mergeLines(lines: NewCheckout['lines']): Cart['lines'] {
  const merged = new Map<number, number>()
  for (const { listingId, quantity } of lines.toSorted((a, b) => a.listingId - b.listingId)) {
    merged.set(listingId, (merged.get(listingId) ?? 0) + quantity)
  }
  return merged
}

const listingIdsOf = (carts: Cart[]) => [
  ...new Set(carts.flatMap(({ lines }) => [...lines.keys()])),
]

/** The locked listings, the reservations of their units, and their sellers. `sell` keeps them up to date. */
type Market = {
  listings: Map<number, ListingForSale>
  reservations: { listingId: number; cartId: string; quantity: number }[]
  /** Sellers who are on holiday, suspended or closed are left out. */
  sellers: Map<number, SellerOfSale>
}

type ListingForSale = {
  id: number
  accountId: number
  status: ListingStatus
  quantity: number
  priceCents: number
}

type SellerOfSale = {
  id: number
  shopName: string
  email: string
  sellerTier: SellerTier
  options: ShippingOption[]
}

/** @param waits whether to wait for listings that other transactions have locked; otherwise they are left out */
async function lockMarket(
  { db, now }: Context,
  listingIds: number[],
  waits: boolean,
): Promise<Market> {
  const ofListings = db`
    id in (select account_id from listings where id = any(${listingIds}::bigint[]))
  `
  const [listings, reservations, , sellers] = await Promise.all([
    db<ListingForSale[]>`
      select id, account_id as "accountId", status, quantity, price_cents as "priceCents"
      from listings
      where id = any(${listingIds}::bigint[]) and status <> 'removed'
      order by id
      for no key update ${waits ? db`` : db`skip locked`}
    `,
    // Its snapshot is taken after the listings were locked, so it includes the reservations that the locks waited for.
    db<Market['reservations']>`
      select listing_id as "listingId", cart_id as "cartId", sum(quantity) as quantity
      from reservations
      where listing_id = any(${listingIds}::bigint[]) and expires_at > ${now()}
      group by listing_id, cart_id
    `,
    // The foreign keys of the slice and its orders would lock the account like this anyway. With the lock taken here, a
    // holiday that begins can wait for the checkouts that have not seen it (accounts/holiday.ts), and so can a closing.
    db`select from accounts where ${ofListings} order by id for key share`,
    // A separate statement: the lock doesn't wait for the update that begins a holiday, and would return the row before it.
    db<SellerOfSale[]>`
      select
        id,
        shop_name as "shopName",
        email,
        seller_tier as "sellerTier",
        ${shippingOptionsOf(db)} as options
      from accounts a
      where ${ofListings} and ${isSelling(db)}
    `,
  ])
  return {
    listings: new Map(listings.map((listing) => [listing.id, listing])),
    reservations,
    sellers: new Map(sellers.map((seller) => [seller.id, seller])),
  }
}

/** A cart that is sold, with a slice for each seller in the order of their ids. */
type Sale = { cart: Cart; sold: Sold[]; slices: NewSlice[] }
type Sold = {
  listing: ListingForSale
  quantity: number
  /** Stock after the sale. */
  left: number
}
type NewSlice = {
  /** Unguessable. */
  sliceKey: string
  seller: SellerOfSale
  option: ShippingOption
}

const isSale = (attempt: Sale | { error: Error } | 'locked'): attempt is Sale =>
  attempt !== 'locked' && 'sold' in attempt

/** Takes a cart's units from the market, and uses up its reservations. Throws before it changes anything. */
function sell(market: Market, cart: Cart): Sale {
  const { lines, cartId } = cart
  for (const id of lines.keys()) {
    if (!market.listings.has(id)) throw conflict(`Listing ${id} is not on sale.`)
  }
  const sold = [...lines].map(([id, quantity]) => {
    const listing = market.listings.get(id)!
    requireStock(listing, quantity, market.reservations, cartId)
    return { listing, quantity, left: listing.quantity - quantity }
  })
  for (const { listingId, priceCents } of cart.seen) {
    requireSeenPrice(`Listing ${listingId}`, market.listings.get(listingId)!, priceCents)
  }
  const accountIds = new Set(sold.map(({ listing }) => listing.accountId))
  const slices = [...accountIds]
    .toSorted((a, b) => a - b)
    .map((accountId) => {
      const seller = market.sellers.get(accountId)
      if (!seller) {
        throw conflict(
          `Seller ${accountId} is on holiday, suspended or closed, so their listings cannot be ordered.`,
        )
      }
      return sliceOf(seller, cart, goodsValueOf(sold, accountId))
    })

  for (const { listing, left } of sold) {
    listing.status = statusFor(listing.status, left)
    listing.quantity = left
  }
  market.reservations = market.reservations.filter(
    (held) => held.cartId !== cartId || !lines.has(held.listingId),
  )
  return { cart, sold, slices }
}

function requireStock(
  { id, status, quantity }: ListingForSale,
  wanted: number,
  reservations: Market['reservations'],
  cartId: string | undefined,
): void {
  if (status !== 'active') throw conflict(`Listing ${id} is not on sale.`)
  let left = quantity
  for (const held of reservations) {
    if (held.listingId === id && held.cartId !== cartId) left -= held.quantity
  }
  if (wanted > left) {
    throw conflict(
      left > 0
        ? `Listing ${id} has only ${left} of the requested ${wanted} units left.`
        : `Listing ${id} has no units left.`,
    )
  }
}

/** Reserved units can get another price, and the buyer has paid the one that they have seen. */
function requireSeenPrice(
  of: string,
  { priceCents }: { priceCents: number },
  seenCents: number | undefined,
): void {
  if (seenCents === undefined || seenCents === priceCents) return
  const [costs, seen] = [priceCents, seenCents].map((cents) => eurosFromCents(cents).toFixed(2))
  throw conflict(`${of} costs ${costs} EUR, not ${seen} EUR.`)
}

/** The value in cents of the goods that a seller sends. */
const goodsValueOf = (sold: Sold[], accountId: number): number =>
  sold
    .filter(({ listing }) => listing.accountId === accountId)
    .reduce((sum, { listing, quantity }) => sum + grossOf({ ...listing, quantity }), 0)

function sliceOf(seller: SellerOfSale, { shipping, address }: Cart, valueCents: number): NewSlice {
  const { id, options } = seller
  if (!options.some(({ enabled }) => enabled)) {
    throw conflict(
      `Seller ${id} has no enabled shipping option, so their listings cannot be ordered.`,
    )
  }
  const offered = options.filter((option) => isOffered(option, address?.country, valueCents))
  const index = shipping.findLastIndex(({ accountId }) => accountId === id)
  const { option: code, priceCents } = shipping[index] ?? {}
  const option = code === undefined ? offered[0] : offered.find((option) => option.code === code)
  if (!option && code === undefined) {
    throw conflict(`Seller ${id} has no shipping option for this address and value.`)
  }
  if (!option) {
    const field = `shipping.${index}.option`
    const reason = options.some((option) => option.enabled && option.code === code)
      ? `is not offered by seller ${id} for this address and value`
      : `is not offered by seller ${id}`
    throw validationError({ [field]: [`The selected ${field} ${reason}.`] })
  }
  requireSeenPrice(`Shipping option ${option.code} of seller ${id}`, option, priceCents)
  if (address && option.fulfilment === 'platform') requireLabelAddress(address)
  return { sliceKey: `slc_${randomBytes(16).toString('base64url')}`, seller, option }
}

/** Fields that every carrier needs. Some countries and carriers do without a house number or a postal code. */
const ON_EVERY_LABEL = ['full_name', 'street', 'city'] as const

/** No label could be bought for the order later, and nothing changes the address of an order. */
function requireLabelAddress(address: Address): void {
  const blank = ON_EVERY_LABEL.filter((field) => address[field].trim() === '')
  if (blank.length === 0) return
  const messages = blank.map((field): [string, string[]] => [
    `address.${field}`,
    [`The address.${field} field must not be empty: the order ships with a label.`],
  ])
  throw validationError(Object.fromEntries(messages))
}

/** Writes sales with everything that follows from them. */
async function write(tx: Context, { listings }: Market, sales: Sale[]): Promise<Checkout[]> {
  const [orders] = await Promise.all([
    insertOrders(tx, sales),
    consumeReservations(tx, sales),
    writeStock(
      tx,
      listingIdsOf(sales.map(({ cart }) => cart)).map((id) => listings.get(id)!),
    ),
  ])
  const bySlice = Map.groupBy(orders, ({ sliceKey }) => sliceKey)
  const rowsOf = ({ sliceKey }: NewSlice) => bySlice.get(sliceKey)!
  await Promise.all([
    recordEvents(
      tx,
      sales.flatMap((sale) => sale.slices.flatMap((slice) => eventsOf(sale, slice, rowsOf(slice)))),
    ),
    sendMails(
      tx,
      sales.flatMap((sale) => [
        ...sale.slices.map((slice) => emailOf(tx, sale, slice, rowsOf(slice))),
        confirmationOf(sale, rowsOf),
      ]),
    ),
  ])
  return sales.map(({ slices }) => ({
    id: rowsOf(slices[0]!)[0]!.checkoutId,
    slices: slices.map((slice) => ({
      sliceKey: slice.sliceKey,
      accountId: slice.seller.id,
      shippingCents: slice.option.priceCents,
      orderIds: rowsOf(slice).map(({ id }) => id),
    })),
  }))
}

/** Deletes all reservations that a cart has of the listings it buys, also of units that it doesn't buy. */
async function consumeReservations({ db }: Context, sales: Sale[]): Promise<void> {
  const consumed = sales.flatMap(({ cart: { cartId, lines } }) =>
    cartId === undefined ? [] : [...lines.keys()].map((listingId) => ({ cartId, listingId })),
  )
  if (consumed.length === 0) return
  await db`
    delete from reservations
    using unnest(
      ${consumed.map(({ cartId }) => cartId)}::text[],
      ${consumed.map(({ listingId }) => listingId)}::bigint[]
    ) as consumed (cart_id, listing_id)
    where
      reservations.cart_id = consumed.cart_id and reservations.listing_id = consumed.listing_id
  `
}

async function writeStock({ db, now, signal }: Context, listings: ListingForSale[]): Promise<void> {
  await db`
    update listings
    set
      quantity = sold.left_over,
      status = sold.status,
      updated_at = greatest(updated_at, ${now()})
    from unnest(
      ${listings.map(({ id }) => id)}::bigint[],
      ${listings.map(({ quantity }) => quantity)}::int[],
      ${listings.map(({ status }) => status)}::text[]
    ) as sold (id, left_over, status)
    where listings.id = sold.id
  `
  await signal('offers')
}

type NewOrder = {
  id: number
  checkoutId: number
  sliceId: number
  sliceKey: string
  listingId: number
  itemName: string
  itemDetails: string
}

/**
 * Inserts a checkout for each sale, a slice for each seller with a copy of its shipping option, an order row for each
 * listing with a copy of the item's catalog data, and the postings of the sale.
 */
function insertOrders({ db, now }: Context, sales: Sale[]): Promise<NewOrder[]> {
  const checkouts = sales.map(({ cart: { buyer, address } }, index) => ({
    index: index + 1,
    buyer_name: buyer.name,
    buyer_email: buyer.email,
    address,
  }))
  const slices = sales.flatMap((sale, index) =>
    sale.slices.map(({ sliceKey, seller, option }) => ({
      checkout: index + 1,
      account_id: seller.id,
      slice_key: sliceKey,
      shipping_code: option.code,
      shipping_method: option.name,
      fulfilment: option.fulfilment,
      tracked: option.tracked,
      shipping_cents: option.priceCents,
    })),
  )
  const rows = sales.flatMap(({ sold, slices }) =>
    sold.map(({ listing, quantity }) => {
      const { sliceKey, seller } = slices.find(({ seller }) => seller.id === listing.accountId)!
      const rate = COMMISSION_RATES[seller.sellerTier]
      const commissionCents = commissionOf(grossOf({ ...listing, quantity }), rate)
      return { sliceKey, listingId: listing.id, quantity, rate, commissionCents }
    }),
  )
  return db<NewOrder[]>`
    with new_checkouts as (
      insert into checkouts (buyer_name, buyer_email, address, created_at)
      select buyer_name, buyer_email, address, ${now()}::timestamptz
      from jsonb_to_recordset(${db.json(checkouts)}) as checkout (
        index integer, buyer_name text, buyer_email text, address jsonb
      )
      order by index
      returning id
    ),
    numbered as (
      select id, row_number() over (order by id) as index from new_checkouts
    ),
    new_slices as (
      insert into slices (
        checkout_id, account_id, slice_key, shipping_code, shipping_method, fulfilment, tracked,
        shipping_cents, created_at
      )
      select
        numbered.id, account_id, slice_key, shipping_code, shipping_method, fulfilment, tracked,
        shipping_cents, ${now()}::timestamptz
      from jsonb_to_recordset(${db.json(slices)}) as slice (
        checkout integer, account_id bigint, slice_key text, shipping_code text,
        shipping_method text, fulfilment text, tracked boolean, shipping_cents integer
      )
      join numbered on numbered.index = slice.checkout
      order by numbered.id, account_id
      returning id, checkout_id, account_id, slice_key, fulfilment, shipping_cents
    ),
    new_orders as (
      insert into orders (
        slice_id, account_id, listing_id, quantity, price_cents, item_type, item_id,
        item_friendly_id, item_name, item_subtitle, item_image, item_condition, item_language,
        commission_rate, commission_cents, created_at
      )
      select
        new_slices.id,
        l.account_id,
        l.id,
        sold.quantity,
        l.price_cents,
        case when l.card_id is null then 'product' else 'card' end,
        coalesce(l.card_id, l.product_slug),
        s.shortcut || '_' || c.number,
        coalesce(c.name, p.name),
        ${subtitleOf(db)},
        coalesce(c.image_small, p.image_url),
        l.condition,
        l.language,
        sold.commission_rate,
        sold.commission_cents,
        ${now()}::timestamptz
      from unnest(
        ${rows.map(({ sliceKey }) => sliceKey)}::text[],
        ${rows.map(({ listingId }) => listingId)}::bigint[],
        ${rows.map(({ quantity }) => quantity)}::int[],
        ${rows.map(({ rate }) => rate)}::int[],
        ${rows.map(({ commissionCents }) => commissionCents)}::bigint[]
      ) as sold (slice_key, listing_id, quantity, commission_rate, commission_cents)
      join new_slices using (slice_key)
      join listings l on l.id = sold.listing_id
      left join cards c on c.id = l.card_id
      left join products p on p.slug = l.product_slug
      left join sets s on s.id = coalesce(c.set_id, p.set_id)
      order by new_slices.id, l.id
      returning
        id, slice_id, account_id, listing_id, quantity, price_cents, commission_cents, item_name,
        concat_ws(' · ', item_subtitle, item_condition, item_language) as item_details
    ),
    new_postings as (${salePostings({ db, now })})
    select
      o.id,
      s.checkout_id as "checkoutId",
      s.id as "sliceId",
      s.slice_key as "sliceKey",
      o.listing_id as "listingId",
      o.item_name as "itemName",
      o.item_details as "itemDetails"
    from new_orders o
    join new_slices s on s.id = o.slice_id
    order by o.id
  `
}

/** The text by which the seller picks the right item (§2.7). */
const subtitleOf = (db: Db) => db`
  nullif(
    concat_ws(
      ' · ',
      nullif(concat_ws(' ', s.name, c.number), ''),
      -- Two Chinese editions (CN, TW) have the same language, and often the same number.
      case when s.region not in ('int', lower(s.language)) then upper(s.region) end,
      case when l.printing <> 'standard' then replace(l.printing, '_', ' ') end,
      l.grading_company || ' ' || l.grading_grade
    ),
    ''
  )
`

/** The sold listing of an order row. */
const soldIn = ({ sold }: Sale, { listingId }: NewOrder) =>
  sold.find(({ listing }) => listing.id === listingId)!

/** The e-mail to the seller of a slice. */
const emailOf = (ctx: Context, sale: Sale, { seller }: NewSlice, orders: NewOrder[]): NewMail => ({
  ...soldEmail(ctx, { buyer: sale.cart.buyer, seller }, linesOf(sale, orders)),
  sliceId: orders[0]!.sliceId,
})

/** The e-mail to the buyer about the whole checkout. */
const confirmationOf = (sale: Sale, rowsOf: (slice: NewSlice) => NewOrder[]): NewMail => ({
  ...confirmationEmail(
    sale.cart.buyer,
    sale.slices.map((slice) => ({
      shopName: slice.seller.shopName,
      shippingName: slice.option.name,
      shippingCents: slice.option.priceCents,
      rows: linesOf(sale, rowsOf(slice)),
    })),
    sale.cart.address,
  ),
  sliceId: rowsOf(sale.slices[0]!)[0]!.sliceId,
  checkoutId: rowsOf(sale.slices[0]!)[0]!.checkoutId,
})

const linesOf = (sale: Sale, orders: NewOrder[]) =>
  orders.map((order) => {
    const { id, itemName, itemDetails } = order
    const { listing, quantity } = soldIn(sale, order)
    return { id, itemName, itemDetails, quantity, priceCents: listing.priceCents }
  })

/** `order.created` and `listing.sold` for each row of a slice. */
function eventsOf(sale: Sale, { sliceKey, seller }: NewSlice, orders: NewOrder[]): NewEvent[] {
  const { buyer, address } = sale.cart
  return orders.flatMap((order) => {
    const { id, sliceId, listingId, itemName } = order
    const { listing, quantity, left } = soldIn(sale, order)
    return [
      {
        accountId: seller.id,
        sliceId,
        ...orderCreated({
          id,
          sliceKey,
          listingId,
          quantity,
          priceCents: listing.priceCents,
          itemName,
          buyerName: buyer.name,
          deliveryAddress: address,
        }),
      },
      {
        accountId: seller.id,
        sliceId,
        ...listingSold({
          listingId,
          orderId: id,
          quantitySold: quantity,
          remainingQuantity: left,
        }),
      },
    ]
  })
}
