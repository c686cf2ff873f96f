import type { WebhookEvent } from '../enums.ts'
import {
  listingSold,
  orderCancelled,
  orderCreated,
  orderLabelReady,
  type Payload,
} from '../events/payloads.ts'
import type { Address } from '../text/address.ts'

/** A fictitious buyer's address. */
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

const payloadsOf = (orderId: number, listingId: number): Record<WebhookEvent, Payload> => ({
  'order.created': orderCreated({
    id: orderId,
    sliceKey: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
    listingId,
    quantity: 2,
    priceCents: 450,
    itemName: 'Charizard VSTAR',
    buyerName: 'Ash Ketchum',
    deliveryAddress: SAMPLE_ADDRESS,
  }),
  'order.cancelled': orderCancelled({ id: orderId, cancelledBy: 'buyer' }),
  'order.label_ready': orderLabelReady({
    orderId,
    hasLabel: true,
    labelUrl:
      'https://cards.example/labels/Zk0oY3n8vQ2mT7dR1sWxLA.pdf?expires=1772789400&nonce=4Jm0KQ8yVn3xXo2bT5sWgA&signature=3f9Xk2LqzVw0aBcDeFgHiJkLmNoPqRsTuVwXyZ01234',
    trackingCode: '3SABCD1234567',
  }),
  'listing.sold': listingSold({
    listingId,
    orderId,
    quantitySold: 2,
    remainingQuantity: 1,
  }),
})

const SAMPLES = payloadsOf(501, 1204)
/** No order or listing has the id 0, so a receiver can't change a real one. */
const TESTS = payloadsOf(0, 0)

/**
 * A fictitious event's data (§6.3), for trying endpoints out and for the published examples. All of them are about the
 * order that the API's examples show.
 */
export const sampleData = (event: WebhookEvent): object => SAMPLES[event].data

/** The data of a test event, which a seller sends to an endpoint that also gets real ones. */
export const testData = (event: WebhookEvent): object => TESTS[event].data
