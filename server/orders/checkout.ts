import { randomBytes } from 'node:crypto'
import type { ShippingOption } from '../accounts/account.ts'
import { shippingOptionsOf } from '../accounts/accounts.ts'
import { COMMISSION_RATES } from '../accounts/tiers.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { ListingStatus, SellerTier } from '../enums.ts'
import { conflict, notFound, validationError } from '../errors.ts'
import { listingSold, orderCreated } from '../events/payloads.ts'
import { type NewEvent, recordEvents } from '../events/record.ts'
import { statusFor } from '../listings/listing.ts'
import { sendMail } from '../mail/outbox.ts'
import type { Address } from '../text/address.ts'
import { soldEmail } from './emails.ts'
import { commissionOf, grossOf } from './money.ts'

export type NewCheckout = {
  buyer: { name: string; email: string }
  address: Address | null
  lines: { listingId: number; quantity: number }[]
  cartId: string | undefined
  /** The buyer's choices. A seller without one ships with its first enabled option. */
  shipping: { accountId: number; option: string }[]
}

export type Checkout = {
  id: number
  slices: { sliceKey: string; accountId: number; orderIds: number[]; shippingCents: number }[]
}

/**
 * Sells everything in a cart or nothing, in one transaction: stock, order rows, events and e-mails. It locks the
 * listings by id (locks.ts), so that checkouts don't deadlock and the last unit is sold once.
 *
 * @throws conflict if a line can't be sold, validation_error for a shipping option that the seller doesn't offer
 */
export function checkOut(ctx: Context, wanted: NewCheckout): Promise<Checkout> {
  const lines = mergeLines(wanted.lines)
  return inTransaction(ctx, async (transaction) => {
    // All rows and events of a checkout have the same time.
    const now = transaction.now()
    const tx = { ...transaction, now: () => now }
    const listings = await lockListings(tx, [...lines.keys()])
    await requireStock(tx, lines, listings, wanted.cartId)
    const accountIds = [...new Set(listings.map(({ accountId }) => accountId))]
    const sellers = await readSellers(tx, accountIds)
    const options = chosenOptions(sellers, wanted.shipping)

    await consumeReservations(tx, [...lines.keys()], wanted.cartId)
    await takeStock(tx, lines, listings)
    const checkoutId = await insertCheckout(tx, wanted)
    const slices = await insertSlices(tx, checkoutId, options)
    const sold = listings.map((listing) => ({ listing, quantity: lines.get(listing.id)! }))
    const orders = await insertOrders(tx, sold, slices, sellers)
    await recordEvents(tx, saleEvents(sold, orders, slices, wanted))
    await emailSellers(tx, sold, orders, sellers, wanted)
    return {
      id: checkoutId,
      slices: [...slices.values()].map(({ id, sliceKey, accountId, shippingCents }) => ({
        sliceKey,
        accountId,
        shippingCents,
        orderIds: orders.filter(({ sliceId }) => sliceId === id).map((order) => order.id),
      })),
    }
  })
}

/** @throws not_found */
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

/** The total quantity of each listing, in the order of the ids. */
function mergeLines(lines: NewCheckout['lines']): Map<number, number> {
  const merged = new Map<number, number>()
  for (const { listingId, quantity } of lines.toSorted((a, b) => a.listingId - b.listingId)) {
    merged.set(listingId, (merged.get(listingId) ?? 0) + quantity)
  }
  return merged
}

type LockedListing = {
  id: number
  accountId: number
  status: ListingStatus
  quantity: number
  priceCents: number
}

async function lockListings({ db }: Context, ids: number[]): Promise<LockedListing[]> {
  const listings = await db<LockedListing[]>`
    select id, account_id as "accountId", status, quantity, price_cents as "priceCents"
    from listings
    where id = any(${ids}::bigint[]) and status <> 'removed'
    order by id
    for no key update
  `
  const missing = ids.find((id) => !listings.some((listing) => listing.id === id))
  if (missing !== undefined) throw conflict(`Listing ${missing} is not on sale.`)
  return listings
}

/** Its snapshot is taken after the listings were locked, so it includes the reservations that the locks waited for. */
async function requireStock(
  { db, now }: Context,
  lines: Map<number, number>,
  listings: LockedListing[],
  cartId: string | undefined,
): Promise<void> {
  const held = await db<{ listingId: number; quantity: number }[]>`
    select listing_id as "listingId", sum(quantity) as quantity
    from reservations
    where
      listing_id = any(${[...lines.keys()]}::bigint[])
      and expires_at > ${now()}
      and cart_id is distinct from ${cartId ?? null}
    group by listing_id
  `
  const reserved = new Map(held.map(({ listingId, quantity }) => [listingId, quantity]))
  for (const { id, status, quantity } of listings) {
    if (status !== 'active') throw conflict(`Listing ${id} is not on sale.`)
    const left = quantity - (reserved.get(id) ?? 0)
    if (lines.get(id)! > left) {
      throw conflict(
        `Listing ${id} has only ${Math.max(left, 0)} of the requested ${lines.get(id)} units left.`,
      )
    }
  }
}

type SellerOfSale = {
  id: number
  shopName: string
  email: string
  sellerTier: SellerTier
  options: ShippingOption[]
}

function readSellers({ db }: Context, accountIds: number[]): Promise<SellerOfSale[]> {
  return db<SellerOfSale[]>`
    select
      id,
      shop_name as "shopName",
      email,
      seller_tier as "sellerTier",
      ${shippingOptionsOf(db)} as options
    from accounts a
    where id = any(${accountIds}::bigint[])
    order by id
  `
}

function chosenOptions(
  sellers: SellerOfSale[],
  choices: NewCheckout['shipping'],
): Map<number, ShippingOption> {
  const chosen = new Map<number, ShippingOption>()
  for (const { id, options } of sellers) {
    const enabled = options.filter((option) => option.enabled)
    if (enabled.length === 0) {
      throw conflict(
        `Seller ${id} has no enabled shipping option, so their listings cannot be ordered.`,
      )
    }
    const index = choices.findLastIndex(({ accountId }) => accountId === id)
    const code = choices[index]?.option
    const option = code === undefined ? enabled[0] : enabled.find((option) => option.code === code)
    if (!option) {
      const field = `shipping.${index}.option`
      throw validationError({ [field]: [`The selected ${field} is not offered by seller ${id}.`] })
    }
    chosen.set(id, option)
  }
  return chosen
}

/** Deletes all of the cart's reservations of these listings, also of units that it doesn't buy. */
async function consumeReservations(
  { db }: Context,
  listingIds: number[],
  cartId: string | undefined,
): Promise<void> {
  if (cartId === undefined) return
  await db`
    delete from reservations
    where cart_id = ${cartId} and listing_id = any(${listingIds}::bigint[])
  `
}

async function takeStock(
  { db, now }: Context,
  lines: Map<number, number>,
  listings: LockedListing[],
): Promise<void> {
  const left = listings.map(({ id, quantity }) => quantity - lines.get(id)!)
  await db`
    update listings
    set
      quantity = sold.left_over,
      status = sold.status,
      updated_at = greatest(updated_at, ${now()})
    from unnest(
      ${listings.map(({ id }) => id)}::bigint[],
      ${left}::int[],
      ${listings.map(({ status }, i) => statusFor(status, left[i]!))}::text[]
    ) as sold (id, left_over, status)
    where listings.id = sold.id
  `
}

async function insertCheckout({ db, now }: Context, wanted: NewCheckout): Promise<number> {
  const { buyer, address } = wanted
  const [checkout] = await db<{ id: number }[]>`
    insert into checkouts (buyer_name, buyer_email, address, created_at)
    values (
      ${buyer.name},
      ${buyer.email},
      ${address === null ? null : db.json(address)},
      ${now()}
    )
    returning id
  `
  return checkout!.id
}

type NewSlice = { id: number; sliceKey: string; accountId: number; shippingCents: number }

/** Inserts a slice for each seller, with a copy of its shipping option. The key is unguessable. */
async function insertSlices(
  { db, now }: Context,
  checkoutId: number,
  options: Map<number, ShippingOption>,
): Promise<Map<number, NewSlice>> {
  const rows = [...options].map(([account_id, option]) => ({
    account_id,
    slice_key: `slc_${randomBytes(16).toString('base64url')}`,
    shipping_code: option.code,
    shipping_method: option.name,
    fulfilment: option.fulfilment,
    tracked: option.tracked,
    shipping_cents: option.priceCents,
  }))
  const slices = await db<NewSlice[]>`
    insert into slices (
      checkout_id, account_id, slice_key, shipping_code, shipping_method, fulfilment, tracked,
      shipping_cents, created_at
    )
    select
      ${checkoutId}::bigint, account_id, slice_key, shipping_code, shipping_method, fulfilment,
      tracked, shipping_cents, ${now()}::timestamptz
    from jsonb_to_recordset(${db.json(rows)}) as slice (
      account_id bigint, slice_key text, shipping_code text, shipping_method text, fulfilment text,
      tracked boolean, shipping_cents integer
    )
    order by account_id
    returning
      id, slice_key as "sliceKey", account_id as "accountId", shipping_cents as "shippingCents"
  `
  return new Map(slices.map((slice) => [slice.accountId, slice]))
}

type Sold = { listing: LockedListing; quantity: number }
type NewOrder = { id: number; sliceId: number; listingId: number; itemName: string }

/** Inserts an order row for each listing, with a copy of the item's catalog data. */
async function insertOrders(
  { db, now }: Context,
  sold: Sold[],
  slices: Map<number, NewSlice>,
  sellers: SellerOfSale[],
): Promise<NewOrder[]> {
  const rates = new Map(sellers.map(({ id, sellerTier }) => [id, COMMISSION_RATES[sellerTier]]))
  const rows = sold.map(({ listing, quantity }) => {
    const { id, accountId, priceCents } = listing
    const rate = rates.get(accountId)!
    return {
      listing_id: id,
      slice_id: slices.get(accountId)!.id,
      quantity,
      commission_rate: rate,
      commission_cents: commissionOf(grossOf({ priceCents, quantity }), rate),
    }
  })
  return db<NewOrder[]>`
    insert into orders (
      slice_id, account_id, listing_id, quantity, price_cents, item_type, item_id,
      item_friendly_id, item_name, item_subtitle, item_image, item_condition, item_language,
      commission_rate, commission_cents, created_at
    )
    select
      sold.slice_id,
      l.account_id,
      l.id,
      sold.quantity,
      l.price_cents,
      case when l.card_id is null then 'product' else 'card' end,
      coalesce(l.card_id, l.product_slug),
      s.shortcut || '_' || c.number,
      coalesce(c.name, p.name),
      nullif(concat_ws(' ', s.name, c.number), ''),
      coalesce(c.image_small, p.image_url),
      l.condition,
      l.language,
      sold.commission_rate,
      sold.commission_cents,
      ${now()}::timestamptz
    from jsonb_to_recordset(${db.json(rows)}) as sold (
      listing_id bigint, slice_id bigint, quantity integer, commission_rate integer,
      commission_cents bigint
    )
    join listings l on l.id = sold.listing_id
    left join cards c on c.id = l.card_id
    left join products p on p.slug = l.product_slug
    left join sets s on s.id = coalesce(c.set_id, p.set_id)
    order by sold.slice_id, l.id
    returning id, slice_id as "sliceId", listing_id as "listingId", item_name as "itemName"
  `
}

async function emailSellers(
  tx: Context,
  sold: Sold[],
  orders: NewOrder[],
  sellers: SellerOfSale[],
  { buyer }: NewCheckout,
): Promise<void> {
  const byListing = new Map(sold.map((line) => [line.listing.id, line]))
  for (const seller of sellers) {
    const rows = orders.flatMap(({ id, listingId, itemName }) => {
      const { listing, quantity } = byListing.get(listingId)!
      if (listing.accountId !== seller.id) return []
      return { id, itemName, quantity, priceCents: listing.priceCents }
    })
    await sendMail(tx, soldEmail({ buyer, seller }, rows))
  }
}

/** `order.created` and `listing.sold` for each row. */
function saleEvents(
  sold: Sold[],
  orders: NewOrder[],
  slices: Map<number, NewSlice>,
  { buyer, address }: NewCheckout,
): NewEvent[] {
  const byListing = new Map(sold.map((line) => [line.listing.id, line]))
  return orders.flatMap(({ id, listingId, itemName }) => {
    const { listing, quantity } = byListing.get(listingId)!
    const { accountId } = listing
    return [
      {
        accountId,
        ...orderCreated({
          id,
          sliceKey: slices.get(accountId)!.sliceKey,
          listingId,
          quantity,
          priceCents: listing.priceCents,
          itemName,
          buyerName: buyer.name,
          deliveryAddress: address,
        }),
      },
      {
        accountId,
        ...listingSold({
          listingId,
          orderId: id,
          quantitySold: quantity,
          remainingQuantity: listing.quantity - quantity,
        }),
      },
    ]
  })
}
