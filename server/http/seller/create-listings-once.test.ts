import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import {
  advance,
  cardItem,
  changeAccount,
  createListings,
  items,
  list,
  NO_LIMITS,
} from '../../test/fixtures/listings.ts'
import { LETTER, operatorOption } from '../../test/fixtures/orders.ts'

let app: TestApp
let seller: Client & { accountId: number }
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller()
})

const DAY_SECONDS = 24 * 60 * 60

let keys = 0
const newKey = () => ({ 'idempotency-key': `bulk-${++keys}` })

const totalOf = async (client: Client): Promise<number> =>
  (await client.get('/v1/listings?per_page=1')).body.meta.total

/** The number of listings that `work` creates. */
const createdBy = async (client: Client, work: () => Promise<unknown>) => {
  const before = await totalOf(client)
  await work()
  return (await totalOf(client)) - before
}

describe('an Idempotency-Key on POST /v1/listings', () => {
  it('a repeated Idempotency-Key returns the first bulk create byte for byte and lists nothing', async () => {
    const headers = newKey()
    const wanted = [cardItem(), null, cardItem({ card: 'brs_1' }), ...items(3)]
    const first = await createListings(seller, wanted, headers)
    expect(first.body.created).toBe(4)
    const created = await createdBy(seller, async () => {
      for (let i = 0; i < 3; i++) {
        const again = await createListings(seller, wanted, headers)
        expect(again.status).toBe(200)
        expect(again.text).toBe(first.text)
        expect(again.headers['content-type']).toBe(first.headers['content-type'])
      }
    })
    expect(created).toBe(0)
  })

  it('a repeated Idempotency-Key returns the first bulk create although account and listings changed', async () => {
    const headers = newKey()
    const first = await createListings(seller, [cardItem()], headers)
    expect(first.body).toHaveProperty('warnings')
    const { id } = first.body.results[0].listing
    await changeAccount(app, seller.accountId, { shipping_options: [operatorOption(LETTER)] })
    await seller.patch(`/v1/listings/${id}`, { payload: { price: 9, quantity: 0 } })
    expect((await createListings(seller, [cardItem()], headers)).text).toBe(first.text)
    await seller.delete(`/v1/listings/${id}`)
    expect((await createListings(seller, [cardItem()], headers)).text).toBe(first.text)
  })

  it('a repeated Idempotency-Key returns the first bulk create although the payout setup is no longer verified', async () => {
    const shop = await app.seller()
    const headers = newKey()
    const first = await createListings(shop, [cardItem()], headers)
    await changeAccount(app, shop.accountId, { payout_verified: false })
    const created = await createdBy(shop, async () => {
      const again = await createListings(shop, [cardItem()], headers)
      expect([again.status, again.text]).toEqual([200, first.text])
      const other = newKey()
      for (const key of [other, {}]) {
        const { status, body } = await createListings(shop, [cardItem()], key)
        expect([status, body.error.type]).toEqual([403, 'authorization_error'])
      }
      await changeAccount(app, shop.accountId, { payout_verified: true })
      expect((await createListings(shop, [cardItem()], other)).body.created).toBe(1)
    })
    expect(created).toBe(1)
  })

  it('a bulk create’s Idempotency-Key with another body gets a 422 and lists nothing', async () => {
    const headers = newKey()
    await createListings(seller, [cardItem()], headers)
    const created = await createdBy(seller, async () => {
      for (const other of [[cardItem({ price: 4.51 })], [cardItem(), cardItem()], [null]]) {
        const { status, body } = await createListings(seller, other, headers)
        expect([status, body.error.type]).toEqual([422, 'validation_error'])
        expect(body.error.fields).toEqual({ 'Idempotency-Key': [expect.any(String)] })
      }
    })
    expect(created).toBe(0)
  })

  it('an Idempotency-Key belongs to the bytes of the body: other whitespace is another request', async () => {
    const headers = { ...newKey(), 'content-type': 'application/json' }
    const body = { items: [cardItem()] }
    const sent = (payload: string) => seller.post('/v1/listings', { payload, headers })
    const first = await sent(JSON.stringify(body, null, 2))
    expect((await sent(JSON.stringify(body, null, 2))).text).toBe(first.text)
    const { status, body: refusal } = await sent(JSON.stringify(body))
    expect([status, Object.keys(refusal.error.fields)]).toEqual([422, ['Idempotency-Key']])
  })

  it('bulk creates without an Idempotency-Key, or with different ones, all list', async () => {
    const created = await createdBy(seller, async () => {
      await list(seller, cardItem())
      await list(seller, cardItem())
      await createListings(seller, [cardItem()], newKey())
      await createListings(seller, [cardItem()], newKey())
    })
    expect(created).toBe(4)
  })

  it('the Idempotency-Key of a bulk create refused with 422 can be used again', async () => {
    const headers = newKey()
    expect((await createListings(seller, [], headers)).status).toBe(422)
    expect((await createListings(seller, [cardItem()], headers)).body.created).toBe(1)
  })

  it('the Idempotency-Key of a bulk create refused with 403 can be used again', async () => {
    const newcomer = await app.seller({ account: { payoutVerified: false } })
    const headers = newKey()
    expect((await createListings(newcomer, [cardItem()], headers)).status).toBe(403)
    await changeAccount(app, newcomer.accountId, { payout_verified: true })
    expect((await createListings(newcomer, [cardItem()], headers)).body.created).toBe(1)
  })

  it('a bulk create whose items all failed is repeated by its Idempotency-Key', async () => {
    const headers = newKey()
    const wanted = [cardItem({ card: 'new-1' })]
    const first = await createListings(seller, wanted, headers)
    expect(first.body.failed).toBe(1)
    expect((await createListings(seller, wanted, headers)).text).toBe(first.text)
  })

  it('two sellers may use the same Idempotency-Key', async () => {
    const other = await app.seller()
    const headers = newKey()
    const first = await createListings(seller, [cardItem()], headers)
    const theirs = await createListings(other, [cardItem()], headers)
    expect(theirs.body.created).toBe(1)
    expect(theirs.body.results[0].listing.id).not.toBe(first.body.results[0].listing.id)
    expect(await totalOf(other)).toBe(1)
    expect((await createListings(other, items(2), headers)).status).toBe(422)
  })

  it('all API keys of an account share their Idempotency-Keys', async () => {
    const headers = newKey()
    const first = await createListings(seller, [cardItem()], headers)
    const { body } = await app.operator.post(`/operator/v1/accounts/${seller.accountId}/keys`, {
      payload: { scopes: ['listings:write'] },
    })
    const again = await createListings(app.withKey(body.key), [cardItem()], headers)
    expect(again.text).toBe(first.text)
  })

  it('a bulk create’s Idempotency-Key expires after 24 hours and then accepts any body', async () => {
    const headers = newKey()
    const first = await createListings(seller, [cardItem()], headers)
    // One minute less than a day leaves time for the requests.
    await advance(app.operator, DAY_SECONDS - 60)
    expect((await createListings(seller, [cardItem()], headers)).text).toBe(first.text)
    await advance(app.operator, 60)
    const second = await createListings(seller, [cardItem({ quantity: 8 })], headers)
    expect(second.body.results[0].listing.quantity).toBe(8)
    expect((await createListings(seller, [cardItem({ quantity: 8 })], headers)).text).toBe(
      second.text,
    )
    expect((await createListings(seller, [cardItem()], headers)).status).toBe(422)
  })

  it.each([
    ['empty', ''],
    ['longer than 255 characters', 'x'.repeat(256)],
    ['a tab', 'a\tb'],
    ['not ASCII', 'clé'],
  ])('a bulk create’s Idempotency-Key that is %s gets a 422', async (_, key) => {
    const created = await createdBy(seller, async () => {
      const { status, body } = await createListings(seller, [cardItem()], {
        'idempotency-key': key,
      })
      expect([status, body.error.type]).toEqual([422, 'validation_error'])
      expect(body.error.fields).toEqual({ 'Idempotency-Key': [expect.any(String)] })
    })
    expect(created).toBe(0)
  })

  it.each([
    ['one character', '~'],
    ['255 characters', ' !"#$%'.padEnd(255, 'x')],
  ])('an Idempotency-Key may be %s', async (_, key) => {
    const headers = { 'idempotency-key': key }
    const first = await createListings(seller, [cardItem()], headers)
    expect(first.body.created).toBe(1)
    expect((await createListings(seller, [cardItem()], headers)).text).toBe(first.text)
  })

  it('an invalid Idempotency-Key is refused before the payout check', async () => {
    const newcomer = await app.seller({ account: { payoutVerified: false } })
    const headers = { 'idempotency-key': 'x'.repeat(256) }
    expect((await createListings(newcomer, [cardItem()], headers)).status).toBe(422)
  })
})

describe('concurrent requests with one key', () => {
  it('concurrent bulk creates with one Idempotency-Key create once and get one response', async () => {
    const headers = newKey()
    const wanted = items(20)
    let texts = new Set<string>()
    const created = await createdBy(seller, async () => {
      const responses = await Promise.all(
        Array.from({ length: 10 }, () => createListings(seller, wanted, headers)),
      )
      expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200))
      texts = new Set(responses.map(({ text }) => text))
    })
    expect([created, texts.size]).toEqual([20, 1])
  })

  it('concurrent bulk creates with one Idempotency-Key in two processes create once', async () => {
    const second = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
    const shop = await app.seller()
    const clients = [shop, second.withKey(shop.key)]
    const headers = newKey()
    const wanted = items(20)
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, i) => createListings(clients[i % 2]!, wanted, headers)),
    )
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
    expect(responses[0]!.body.created).toBe(20)
    expect(await totalOf(shop)).toBe(20)
  })

  it('concurrent bulk creates with one Idempotency-Key and different bodies: one lists, the others get a 422', async () => {
    const headers = newKey()
    let responses: { status: number }[] = []
    const created = await createdBy(seller, async () => {
      responses = await Promise.all(
        Array.from({ length: 6 }, (_, i) =>
          createListings(seller, [cardItem({ quantity: i + 1 })], headers),
        ),
      )
    })
    expect(created).toBe(1)
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422])
  })
})
