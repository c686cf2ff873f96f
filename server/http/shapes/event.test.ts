import { beforeAll, describe, expect, it } from 'vitest'
import { CANCELLERS, WEBHOOK_EVENTS, type WebhookEvent } from '../../enums.ts'
import { sampleData } from '../../sandbox/sample-events.ts'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { importCatalogFixture } from '../../test/catalog-fixture.ts'
import { misfitsOf } from '../../test/described-answers.ts'
import { cardItem, list, NO_LIMITS, productItem } from '../../test/fixtures/listings.ts'
import {
  act,
  buy,
  cancel,
  eventsOf,
  LABEL,
  type RecordedEvent,
  ship,
  shipsBy,
} from '../../test/fixtures/orders.ts'

/** As §6.3 has them. */
const KEYS: Record<WebhookEvent, string[]> = {
  'order.created': [
    'order_id',
    'slice_key',
    'listing_id',
    'quantity',
    'price',
    'currency',
    'item_name',
    'buyer_name',
    'delivery_address',
  ],
  'listing.sold': ['listing_id', 'order_id', 'quantity_sold', 'remaining_quantity'],
  'order.cancelled': ['order_id', 'cancelled_by'],
  'order.label_ready': ['order_id', 'has_label', 'label_url', 'tracking_code'],
}
const ADDRESS_KEYS = [
  'full_name',
  'street',
  'house_number',
  'house_number_suffix',
  'zip',
  'city',
  'country',
  'phone',
]

let app: TestApp
let seller: Awaited<ReturnType<TestApp['seller']>>
// biome-ignore lint/suspicious/noExplicitAny: the published description
let document: any
/** What of a told event isn't as published; null when everything is. */
let misfit: (told: RecordedEvent) => string | null
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
  await importCatalogFixture(app.operator)
  seller = await app.seller({ account: shipsBy(LABEL) })
  document = (await app.anyone.get('/openapi.json')).body
  const misfits = misfitsOf(document)
  misfit = ({ event, data }) =>
    misfits(schemaOf(event as WebhookEvent).$ref, {
      event,
      delivery_id: 1,
      created_at: '2026-03-01T09:30:00Z',
      data,
    })
})

const schemaOf = (event: WebhookEvent): { $ref: string } =>
  document.webhooks[event].post.requestBody.content['application/json'].schema

const named = ({ $ref }: { $ref: string }) =>
  document.components.schemas[$ref.replace('#/components/schemas/', '')]

/** Holds what was told against §6.3 and against what is published. */
function expectAsPublished(told: RecordedEvent): void {
  expect(misfit(told), JSON.stringify(told)).toBeNull()
  expect(Object.keys(told.data)).toEqual(KEYS[told.event as WebhookEvent])
  const address = told.data.delivery_address
  if (address) expect(Object.keys(address)).toEqual(ADDRESS_KEYS)
}

/** What the seller is told while this happens, oldest first. */
async function toldWhile(happening: () => Promise<unknown>): Promise<RecordedEvent[]> {
  const before = await eventsOf(app, seller.accountId)
  await happening()
  return (await eventsOf(app, seller.accountId)).slice(before.length)
}

describe('the published data of events', () => {
  it.each(WEBHOOK_EVENTS)(
    'has the keys of the contract in their order, all of them always: %s',
    (event) => {
      const { data } = named(schemaOf(event)).properties
      expect(Object.keys(named(data).properties)).toEqual(KEYS[event])
      expect(named(data).required).toEqual(KEYS[event])
    },
  )

  it('has the address that orders have', () => {
    const { delivery_address } = document.components.schemas.OrderCreatedData.properties
    const { address } = document.components.schemas.OrderSlice.properties.buyer.properties
    expect(delivery_address.anyOf).toEqual(address.anyOf)
    expect(Object.keys(document.components.schemas.Address.properties)).toEqual(ADDRESS_KEYS)
  })

  it.each(WEBHOOK_EVENTS)('is what a sample shows: %s', (event) => {
    expectAsPublished({ event, data: sampleData(event) as RecordedEvent['data'] })
  })
})

describe('what a seller is told is as published', () => {
  it('of a sale, with an address and without, of cards and sealed products', async () => {
    const [card, box] = await list(seller, cardItem({ quantity: 3 }), productItem({ quantity: 1 }))
    const told = await toldWhile(async () => {
      await buy(app, [
        [card!, 2],
        [box!, 1],
      ])
      await buy(app, [[card!, 1]], { address: null })
    })
    expect(told.map(({ event }) => event)).toEqual(
      Array(3).fill(['order.created', 'listing.sold']).flat(),
    )
    for (const event of told) expectAsPublished(event)
    expect(told.map(({ data }) => data.delivery_address === null)).toContain(true)
    expect(told.map(({ data }) => data.remaining_quantity)).toContain(0)
  })

  it.each(CANCELLERS)('of an order that was cancelled by %s', async (cancelled_by) => {
    const [listing] = await list(seller, cardItem())
    const { orderIds } = await buy(app, [[listing!, 1]])
    const told = await toldWhile(() => cancel(app, orderIds[0]!, { cancelled_by }))
    expect(told).toMatchObject([{ event: 'order.cancelled', data: { cancelled_by } }])
    for (const event of told) expectAsPublished(event)
  })

  it('of a dispute that was resolved for the buyer', async () => {
    const [listing] = await list(seller, cardItem())
    const [order] = (await buy(app, [[listing!, 1]])).orderIds
    await ship(seller, order!)
    await act(app, order!, 'dispute')
    const told = await toldWhile(() => act(app, order!, 'resolve', { in_favour_of: 'buyer' }))
    expect(told).toMatchObject([{ event: 'order.cancelled' }])
    for (const event of told) expectAsPublished(event)
  })

  it('of a label, from its purchase to its PDF and its code', async () => {
    const mood = (payload: object) => app.operator.put('/operator/v1/sandbox/carrier', { payload })
    const [listing] = await list(seller, cardItem())
    const [order] = (await buy(app, [[listing!, 1]])).orderIds
    const label = () => seller.post(`/v1/orders/${order}/label`)
    const told = await toldWhile(async () => {
      await mood({ label: 'processing', tracking: 'late' })
      await label()
      await mood({ label: 'ready', tracking: 'late' })
      await label()
      await mood({ label: 'ready', tracking: 'immediate' })
      await label()
      // Nothing is new now, so nothing is told.
      await label()
    })
    const link = expect.stringMatching(/^https:/)
    const code = expect.stringMatching(/./)
    const as = (has_label: boolean, label_url: unknown, tracking_code: unknown) => ({
      event: 'order.label_ready',
      data: { order_id: order, has_label, label_url, tracking_code },
    })
    expect(told).toEqual([as(false, null, null), as(true, link, null), as(true, link, code)])
    for (const event of told) expectAsPublished(event)
  })
})
