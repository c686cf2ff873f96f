import { beforeAll, describe, expect, it } from 'vitest'
import { CANCELLERS, WEBHOOK_EVENTS, type WebhookEvent } from '../../enums.ts'
import { sampleData } from '../../sandbox/sample-events.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { mismatchesOf } from '../../test/described-responses.ts'
import { EVENT_KEYS } from '../../test/fixtures/events.ts'
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
let seller: Seller
// biome-ignore lint/suspicious/noExplicitAny: the published description
let document: any
/** Describes how an event differs from its published schema; null if it matches. */
let mismatch: (event: RecordedEvent) => string | null
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: shipsBy(LABEL) })
  document = (await app.anyone.get('/openapi.json')).body
  const mismatchOf = mismatchesOf(document)
  mismatch = ({ event, data }) =>
    mismatchOf(schemaOf(event as WebhookEvent).$ref, {
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

/** Compares an event with §6.3 and with its published schema. */
function expectAsPublished(recorded: RecordedEvent): void {
  expect(mismatch(recorded), JSON.stringify(recorded)).toBeNull()
  expect(Object.keys(recorded.data)).toEqual(EVENT_KEYS[recorded.event as WebhookEvent])
  const address = recorded.data.delivery_address
  if (address) expect(Object.keys(address)).toEqual(ADDRESS_KEYS)
}

/** The seller's events recorded during `work`, oldest first. */
async function eventsDuring(work: () => Promise<unknown>): Promise<RecordedEvent[]> {
  const before = await eventsOf(app, seller.accountId)
  await work()
  return (await eventsOf(app, seller.accountId)).slice(before.length)
}

describe('the published data of events', () => {
  it.each(WEBHOOK_EVENTS)(
    'the published data of %s requires exactly the specified keys, in order',
    (event) => {
      const { data } = named(schemaOf(event)).properties
      expect(Object.keys(named(data).properties)).toEqual(EVENT_KEYS[event])
      expect(named(data).required).toEqual(EVENT_KEYS[event])
    },
  )

  it('order.created and orders share the published address', () => {
    const { delivery_address } = document.components.schemas.OrderCreatedData.properties
    const { address } = document.components.schemas.OrderSlice.properties.buyer.properties
    expect(delivery_address.anyOf).toEqual(address.anyOf)
    expect(Object.keys(document.components.schemas.Address.properties)).toEqual(ADDRESS_KEYS)
  })

  it.each(WEBHOOK_EVENTS)('the sample of %s matches its published schema', (event) => {
    expectAsPublished({ event, data: sampleData(event) as RecordedEvent['data'] })
  })
})

describe('recorded events', () => {
  it('the events of a sale match their schemas: with and without an address, cards and products', async () => {
    const [card, box] = await list(seller, cardItem({ quantity: 3 }), productItem({ quantity: 1 }))
    const events = await eventsDuring(async () => {
      await buy(app, [
        [card!, 2],
        [box!, 1],
      ])
      await buy(app, [[card!, 1]], { address: null })
    })
    expect(events.map(({ event }) => event)).toEqual(
      Array(3).fill(['order.created', 'listing.sold']).flat(),
    )
    for (const event of events) expectAsPublished(event)
    expect(events.map(({ data }) => data.delivery_address === null)).toContain(true)
    expect(events.map(({ data }) => data.remaining_quantity)).toContain(0)
  })

  it.each(CANCELLERS)(
    'order.cancelled matches its schema when the order is cancelled by %s',
    async (cancelled_by) => {
      const [listing] = await list(seller, cardItem())
      const { orderIds } = await buy(app, [[listing!, 1]])
      const events = await eventsDuring(() => cancel(app, orderIds[0]!, { cancelled_by }))
      expect(events).toMatchObject([{ event: 'order.cancelled', data: { cancelled_by } }])
      for (const event of events) expectAsPublished(event)
    },
  )

  it('order.cancelled matches its schema when a dispute is resolved for the buyer', async () => {
    const [listing] = await list(seller, cardItem())
    const [order] = (await buy(app, [[listing!, 1]])).orderIds
    await ship(seller, order!)
    await act(app, order!, 'dispute')
    const events = await eventsDuring(() => act(app, order!, 'resolve', { in_favour_of: 'buyer' }))
    expect(events).toMatchObject([{ event: 'order.cancelled' }])
    for (const event of events) expectAsPublished(event)
  })

  it('order.label_ready matches its schema at the purchase, with the PDF and with the tracking code', async () => {
    const setCarrier = (payload: object) =>
      app.operator.put('/operator/v1/sandbox/carrier', { payload })
    const [listing] = await list(seller, cardItem())
    const [order] = (await buy(app, [[listing!, 1]])).orderIds
    const label = () => seller.post(`/v1/orders/${order}/label`)
    const events = await eventsDuring(async () => {
      await setCarrier({ label: 'processing', tracking: 'late' })
      await label()
      await setCarrier({ label: 'ready', tracking: 'late' })
      await label()
      await setCarrier({ label: 'ready', tracking: 'immediate' })
      await label()
      // Nothing has changed, so no event is recorded.
      await label()
    })
    const link = expect.stringMatching(/^https:/)
    const code = expect.stringMatching(/./)
    const as = (has_label: boolean, label_url: unknown, tracking_code: unknown) => ({
      event: 'order.label_ready',
      data: { order_id: order, has_label, label_url, tracking_code },
    })
    expect(events).toEqual([as(false, null, null), as(true, link, null), as(true, link, code)])
    for (const event of events) expectAsPublished(event)
  })
})
