import type { Db } from '../database/sql.ts'
import type { Address } from '../orders/address.ts'
import { insertListing } from './listings.ts'

export const ADDRESS: Address = {
  full_name: 'Ash Ketchum',
  street: 'Pallet Lane',
  house_number: '1',
  house_number_suffix: 'B',
  zip: '1234 AB',
  city: 'Pallet Town',
  country: 'NL',
  phone: '+31 6 1234 5678',
}

export type Sold = { sliceId: number; sliceKey: string; orderIds: number[] }

let slices = 0

/** A slice that somebody bought from this account, written by hand: to be shipped with a platform label. */
export async function sold(
  db: Db,
  accountId: number,
  {
    now = new Date(),
    rows = 1,
    fulfilment = 'platform',
    shippingCode = 'parcel',
    address = ADDRESS as Address | null,
  } = {},
): Promise<Sold> {
  const sliceKey = `slc_of_tests_${++slices}_${process.pid}`
  const [checkout] = await db<{ id: number }[]>`
    insert into checkouts (buyer_name, buyer_email, address, created_at)
    values (
      'Ash', 'ash@mail.example', ${address === null ? null : db.json(address)}, ${now}
    )
    returning id
  `
  const [slice] = await db<{ id: number }[]>`
    insert into slices (
      checkout_id, account_id, slice_key, shipping_code, shipping_method, fulfilment, tracked,
      shipping_cents, created_at
    )
    values (
      ${checkout!.id}, ${accountId}, ${sliceKey}, ${shippingCode}, 'Parcel', ${fulfilment}, true,
      695, ${now}
    )
    returning id
  `
  const orderIds: number[] = []
  for (let row = 0; row < rows; row++) {
    const listingId = await insertListing(db, accountId, now)
    const [order] = await db<{ id: number }[]>`
      insert into orders (
        slice_id, account_id, listing_id, quantity, price_cents, item_type, item_id, item_name,
        commission_rate, commission_cents, created_at
      )
      values (${slice!.id}, ${accountId}, ${listingId}, 1, 500, 'product', 'box', 'Box', 500, 25, ${now})
      returning id
    `
    orderIds.push(order!.id)
  }
  return { sliceId: slice!.id, sliceKey, orderIds }
}
