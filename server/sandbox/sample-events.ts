import type { WebhookEvent } from '../enums.ts'
import type { Address } from '../orders/address.ts'

/**
 * What an event of this kind could say (§6.3), made up: for trying endpoints out and for the published description.
 * Every event tells of one and the same order, the one that the API's examples show.
 */
export const sampleData = (event: WebhookEvent): object => SAMPLES[event]

/** A buyer's address, made up. */
export const SAMPLE_ADDRESS: Address = {
  full_name: 'Ash Ketchum',
  street: 'Pallet Lane',
  house_number: '1',
  house_number_suffix: null,
  zip: '1234 AB',
  city: 'Pallet Town',
  country: 'NL',
  phone: null,
}

/** Keys in the order in which real events have them. */
const SAMPLES: Record<WebhookEvent, object> = {
  'order.created': {
    order_id: 501,
    slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
    listing_id: 1204,
    quantity: 2,
    price: 4.5,
    currency: 'EUR',
    item_name: 'Charizard VSTAR',
    buyer_name: 'Ash Ketchum',
    delivery_address: SAMPLE_ADDRESS,
  },
  'order.cancelled': { order_id: 501, cancelled_by: 'buyer' },
  'order.label_ready': {
    order_id: 501,
    has_label: true,
    label_url:
      'https://cards.example/labels/Zk0oY3n8vQ2mT7dR1sWxLA.pdf?expires=1772789400&nonce=4Jm0KQ8yVn3xXo2bT5sWgA&signature=3f9Xk2LqzVw0aBcDeFgHiJkLmNoPqRsTuVwXyZ01234',
    tracking_code: '3SABCD1234567',
  },
  'listing.sold': {
    listing_id: 1204,
    order_id: 501,
    quantity_sold: 2,
    remaining_quantity: 1,
  },
}
