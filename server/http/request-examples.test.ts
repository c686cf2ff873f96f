import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { demoKey } from '../sandbox/demo-seller.ts'
import { type Client, OPERATOR_TOKEN, startTestApp } from '../test/app.ts'
import { misfitsOf } from '../test/described-answers.ts'

// The published examples of requests, sent to a new sandbox as a reader of the reference page would send them.

// biome-ignore lint/suspicious/noExplicitAny: a whole OpenAPI document, walked freely
type Document = any
type Operation = {
  client: Client
  document: Document
  method: 'post' | 'put' | 'patch'
  url: string
  /** Where the schema of its body is, by media type. */
  at: string
  type: string | undefined
  examples: unknown[]
  isRequired: boolean
}

let operator: Client
const operations = new Map<string, Operation>()
let dataDir: string
beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'cardstall-examples-'))
  const app = await startTestApp({ template: 'catalog', settings: { DATA_DIR: dataDir } })
  operator = app.withKey(OPERATOR_TOKEN)
  const seller = app.withKey(await demoKey(app.ctx))
  const collect = async (address: string, client: Client, prefix: string) => {
    const document: Document = (await app.anyone.get(address)).body
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
          at: `${pointer}${type?.replace('/', '~1')}/schema`,
          type,
          examples: 'example' in (media ?? {}) ? [media.example] : named.map(({ value }) => value),
          isRequired: requestBody?.required ?? false,
        })
      }
    }
  }
  await collect('/openapi.json', seller, '/v1')
  await collect('/operator/openapi.json', operator, '/operator/v1')
})
afterAll(() => rm(dataDir, { recursive: true, force: true }))

it('every POST, PUT and PATCH has an example that succeeds on a new sandbox when it is sent as it is', async () => {
  const sent = new Set<string>()
  /** Sends an operation's example; every id in a path is 1 unless the test says otherwise. */
  const send = async (id: string, { example = 0, ids = {} as Record<string, unknown> } = {}) => {
    const { client, method, url, type, examples, isRequired } = operations.get(id)!
    const address = url.replaceAll(/\{(\w+)\}/g, (_, name) => String(ids[name] ?? 1))
    if (isRequired) expect((await client[method](address)).status, `${id}, no body`).toBe(422)
    if (type) expect(examples[example], id).toBeDefined()
    const answer = await client[method](
      address,
      type ? { payload: examples[example] as object, headers: { 'content-type': type } } : {},
    )
    expect(answer.status, `${id}: ${answer.text}`).toBeOneOf([200, 201, 202])
    if (!isRequired && type) {
      expect((await client[method](address)).status, `${id}, no body`).toBeOneOf([200, 409])
    }
    sent.add(id)
    return answer.body
  }

  expect(await send('createListings')).toMatchObject({ created: 3, failed: 0 })
  await send('changeListing')
  await send('createWebhook')
  await send('createReservation')
  const { data } = await send('createCheckout')
  await send('buyLabel')
  await send('reportTracking', { ids: { slice_key: data.slices[0].slice_key } })
  await send('shipOrder')
  await send('disputeOrder')
  await send('resolveDispute')
  await send('createCheckout')
  await send('cancelOrder', { ids: { id: 2 } })
  await send('createAccount')
  await send('changeAccount')
  await send('createKey')
  await send('rotateKey')
  await send('enableEndpoint')
  await send('resendDelivery')
  await send('resendDeliveries')
  await send('sendSampleEvent')
  await send('importCatalog')
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

  expect([...operations.keys()].filter((id) => !sent.has(id))).toEqual([])
})

it('every example fits the published schema of its body', () => {
  for (const [id, { document, at, type, examples }] of operations) {
    const misfit = misfitsOf(document)
    for (const example of type ? examples : []) expect(misfit(at, example), id).toBeNull()
  }
})

it('a published item of a bulk create is for a card or for a product, not for both or neither', () => {
  const { document } = operations.get('createListings')!
  const misfit = misfitsOf(document)
  const item = { language: 'EN', price: 4.5, quantity: 1 }
  const card = { card: 'swsh9-18', condition: 'NM' }
  const product = { product: 'brilliant-stars-booster-box' }
  const fits = (more: object) =>
    misfit('#/components/schemas/ListingItem', { ...item, ...more }) === null
  expect(fits(card)).toBe(true)
  expect(fits(product)).toBe(true)
  expect(fits({ ...card, product: null })).toBe(true)
  expect(fits({})).toBe(false)
  expect(fits({ ...card, ...product })).toBe(false)
  expect(fits({ card: 'swsh9-18' })).toBe(false)
})

it('a published result of a bulk create is either created with its listing or failed with its errors', () => {
  const { document } = operations.get('createListings')!
  const misfit = misfitsOf(document)
  const listing = { id: 1, price: 4.5, currency: 'EUR', quantity: 3, status: 'active' }
  const fits = (result: object) =>
    misfit('#/components/schemas/BulkCreateResult', {
      results: [{ index: 0, ...result }],
      created: 1,
      failed: 0,
    }) === null
  expect(fits({ status: 'created', listing })).toBe(true)
  expect(fits({ status: 'failed', errors: { price: ['Too low.'] } })).toBe(true)
  expect(fits({ status: 'created', errors: {} })).toBe(false)
  expect(fits({ status: 'failed', listing })).toBe(false)
})
