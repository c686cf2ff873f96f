import { beforeAll, expect, it } from 'vitest'
import { demoKey } from '../sandbox/demo-seller.ts'
import { type Client, OPERATOR_TOKEN, startTestApp, type TestApp } from '../test/app.ts'
import { mismatchesOf } from '../test/described-responses.ts'
import { DESCRIPTIONS } from '../test/descriptions.ts'
import { allowDevice } from '../test/fixtures/oauth.ts'

// Sends the published request examples to a new sandbox, as a reader of the reference page would.

// biome-ignore lint/suspicious/noExplicitAny: a whole OpenAPI document, walked freely
type Document = any
type Operation = {
  client: Client
  document: Document
  method: 'post' | 'put' | 'patch'
  url: string
  /** JSON pointer to the schema of its body. */
  schemaRef: string
  type: string | undefined
  examples: unknown[]
  isRequired: boolean
}

let app: TestApp
let operator: Client
const operations = new Map<string, Operation>()
beforeAll(async () => {
  app = await startTestApp({ template: 'catalog' })
  operator = app.withKey(OPERATOR_TOKEN)
  const seller = app.withKey(await demoKey(app.ctx))
  const collect = async (descriptionPath: string, client: Client, prefix: string) => {
    const document: Document = (await app.anyone.get(descriptionPath)).body
    for (const [url, item] of Object.entries<Document>(document.paths)) {
      for (const method of ['post', 'put', 'patch'] as const) {
        if (!item[method]) continue
        const { operationId, requestBody } = item[method]
        const [type, media] = Object.entries<Document>(requestBody?.content ?? {})[0] ?? []
        const named = Object.values<Document>(media?.examples ?? {})
        const pointer = `#/paths/${url.replaceAll('/', '~1')}/${method}/requestBody/content/`
        operations.set(operationId, {
          client,
          document,
          method,
          url: prefix + url,
          schemaRef: `${pointer}${type?.replace('/', '~1')}/schema`,
          type,
          examples: 'example' in (media ?? {}) ? [media.example] : named.map(({ value }) => value),
          isRequired: requestBody?.required ?? false,
        })
      }
    }
  }
  for (const { path, prefix, credential } of DESCRIPTIONS) {
    await collect(path, credential === 'operator' ? operator : seller, prefix)
  }
})

it('every POST, PUT and PATCH has an example that succeeds unchanged on a new sandbox', async () => {
  const sent = new Set<string>()
  /** Sends an operation's example; ids in the path default to 1. */
  const send = async (id: string, { example = 0, ids = {} as Record<string, unknown> } = {}) => {
    const { client, method, url, type, examples, isRequired } = operations.get(id)!
    const path = url.replaceAll(/\{(\w+)\}/g, (_, name) => String(ids[name] ?? 1))
    if (isRequired) expect((await client[method](path)).status, `${id}, no body`).toBe(422)
    if (type) expect(examples[example], id).toBeDefined()
    const response = await client[method](
      path,
      type ? { payload: examples[example] as object, headers: { 'content-type': type } } : {},
    )
    expect(response.status, `${id}: ${response.text}`).toBeOneOf([200, 201, 202])
    if (!isRequired && type) {
      expect((await client[method](path)).status, `${id}, no body`).toBeOneOf([200, 409])
    }
    sent.add(id)
    return response.body
  }

  expect(await send('createListings')).toMatchObject({ created: 3, failed: 0 })
  await send('changeListing')
  expect(await send('createOwnListings')).toMatchObject({ created: 3, failed: 0 })
  expect(await send('changeListings')).toMatchObject({ changed: 2, failed: 0 })
  await send('deleteListings')
  await send('createWebhook')
  await send('createReservation')
  const { data } = await send('createCheckout')
  await send('buyLabel')
  await send('reportTracking', { ids: { slice_key: data.slices[0].slice_key } })
  await send('shipOrder')
  await send('disputeOrder')
  await send('answerDispute')
  await send('resolveDispute')
  await send('runPayouts')
  await send('markPayoutPaid')
  await send('markRunPaid')
  await send('markPayoutFailed')
  await send('rejectPayoutSetup')
  await send('verifyPayoutSetup')
  // As the migration does with payouts of orders that were completed before it.
  await app.ctx.db`update payouts set reason = 'Check this'`
  await send('releasePayout')
  await send('createCheckout')
  await send('refundOrder', { ids: { id: 2 } })
  await send('cancelOrder', { ids: { id: 2 } })
  const opened = await send('createAccount')
  await send('changeAccount')
  await send('createKey')
  await send('inviteMember')
  await send('addStaff')
  await send('rotateKey')
  await send('enableEndpoint')
  await send('resendDelivery')
  await send('resendDeliveries')
  await send('sendSampleEvent')
  expect(await send('importCatalog')).toMatchObject({ data: { rejected: 0 } })
  await send('changeVisibility')
  await send('steerCarrier')
  await send('advanceClock')

  const trackedOption = {
    code: 'parcel',
    name: 'Tracked parcel',
    fulfilment: 'self_ship',
    tracked: true,
    price: 6.95,
    enabled: true,
  }
  await operator.patch('/operator/v1/accounts/1', {
    payload: { shipping_options: [trackedOption] },
  })
  await send('createCheckout')
  await send('shipOrder', { example: 1, ids: { order: 3 } })
  await send('receiveOrder', { ids: { id: 3 } })
  await send('addReview', { ids: { id: 3 } })
  await send('changeReview', { ids: { id: 3 } })
  await send('replyToReview')
  await send('changeListing')
  await send('createCheckout')
  await send('cancelOwnOrder', { ids: { order: 4 } })
  await send('buyLabels')
  await send('checkListings')
  await send('takeDownListing')
  // As after a refusal by the mail server.
  await app.ctx.db`
    update mails set status = 'failed', error = 'refused', next_attempt_at = null where id = 1
  `
  await send('resendMail')
  await send('exportBuyer')
  await send('eraseBuyer')
  await send('closeAccount', { ids: { id: opened.data.id } })
  await send('replaceShippingOptions')
  await send('setHoliday')
  await send('testWebhook')
  await send('resendOwnDelivery')
  await send('resendOwnDeliveries')
  await send('rotateWebhookSecret')
  await send('sendOwnSampleEvent')
  const token = await allowDevice(app, await app.member(1))
  operations.get('createOwnKey')!.client = app.withKey(token)
  await send('createOwnKey')

  const missing = [...operations.keys()].filter((id) => !sent.has(id))
  expect(missing, 'Send the examples of these operations above').toEqual([])
})

it('every request example matches the published schema of its body', () => {
  for (const [id, { document, schemaRef, type, examples }] of operations) {
    const mismatch = mismatchesOf(document)
    for (const example of type ? examples : []) expect(mismatch(schemaRef, example), id).toBeNull()
  }
})

it('the published schema of a bulk-create item requires either a card or a product', () => {
  const { document } = operations.get('createListings')!
  const mismatch = mismatchesOf(document)
  const item = { language: 'EN', price: 4.5, quantity: 1 }
  const card = { card: 'swsh9-18', condition: 'NM' }
  const product = { product: 'brilliant-stars-booster-box' }
  const isValid = (more: object) =>
    mismatch('#/components/schemas/ListingItem', { ...item, ...more }) === null
  expect(isValid(card)).toBe(true)
  expect(isValid(product)).toBe(true)
  expect(isValid({ ...card, product: null })).toBe(true)
  expect(isValid({})).toBe(false)
  expect(isValid({ ...card, ...product })).toBe(false)
  expect(isValid({ card: 'swsh9-18' })).toBe(false)
})

it('the published schema of a bulk-create result requires a listing if created, errors if failed', () => {
  const { document } = operations.get('createListings')!
  const mismatch = mismatchesOf(document)
  const listing = { id: 1, price: 4.5, currency: 'EUR', quantity: 3, status: 'active' }
  const isValid = (result: object) =>
    mismatch('#/components/schemas/BulkCreateResult', {
      results: [{ index: 0, ...result }],
      created: 1,
      failed: 0,
    }) === null
  expect(isValid({ status: 'created', listing })).toBe(true)
  expect(isValid({ status: 'failed', errors: { price: ['Too low.'] } })).toBe(true)
  expect(isValid({ status: 'created', errors: {} })).toBe(false)
  expect(isValid({ status: 'failed', listing })).toBe(false)
})
