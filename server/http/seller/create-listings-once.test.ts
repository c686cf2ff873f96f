import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import { importCatalogFixture } from '../../test/catalog-fixture.ts'
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
  app = await startTestApp({ settings: NO_LIMITS })
  await importCatalogFixture(app.operator)
  seller = await app.seller()
})

const DAY = 24 * 60 * 60

let keys = 0
const newKey = () => ({ 'idempotency-key': `bulk-${++keys}` })

const totalOf = async (client: Client): Promise<number> =>
  (await client.get('/v1/listings?per_page=1')).body.meta.total

/** How many listings come of some work. */
const createdBy = async (client: Client, work: () => Promise<unknown>) => {
  const before = await totalOf(client)
  await work()
  return (await totalOf(client)) - before
}

describe('an Idempotency-Key on POST /v1/listings', () => {
  it('gives the first answer again byte for byte and lists nothing', async () => {
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

  it('gives the first answer also when the account and the listings have changed since', async () => {
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

  it('with another body is refused with 422 and lists nothing', async () => {
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

  it('belongs to the bytes of the body: other spaces make another request', async () => {
    const headers = { ...newKey(), 'content-type': 'application/json' }
    const body = { items: [cardItem()] }
    const sent = (payload: string) => seller.post('/v1/listings', { payload, headers })
    const first = await sent(JSON.stringify(body, null, 2))
    expect((await sent(JSON.stringify(body, null, 2))).text).toBe(first.text)
    const { status, body: refusal } = await sent(JSON.stringify(body))
    expect([status, Object.keys(refusal.error.fields)]).toEqual([422, ['Idempotency-Key']])
  })

  it('makes one of two requests only when it is there: without, each lists', async () => {
    const created = await createdBy(seller, async () => {
      await list(seller, cardItem())
      await list(seller, cardItem())
      await createListings(seller, [cardItem()], newKey())
      await createListings(seller, [cardItem()], newKey())
    })
    expect(created).toBe(4)
  })

  it('of a request that was refused with 422 can be used again', async () => {
    const headers = newKey()
    expect((await createListings(seller, [], headers)).status).toBe(422)
    expect((await createListings(seller, [cardItem()], headers)).body.created).toBe(1)
  })

  it('of a request that was refused with 403 can be used again', async () => {
    const newcomer = await app.seller({ account: { payoutVerified: false } })
    const headers = newKey()
    expect((await createListings(newcomer, [cardItem()], headers)).status).toBe(403)
    await changeAccount(app, newcomer.accountId, { payout_verified: true })
    expect((await createListings(newcomer, [cardItem()], headers)).body.created).toBe(1)
  })

  it('keeps the answer of a request all of whose items failed', async () => {
    const headers = newKey()
    const wanted = [cardItem({ card: 'new-1' })]
    const first = await createListings(seller, wanted, headers)
    expect(first.body.failed).toBe(1)
    expect((await createListings(seller, wanted, headers)).text).toBe(first.text)
  })

  it("is one account's own: two sellers may use the same", async () => {
    const other = await app.seller()
    const headers = newKey()
    const first = await createListings(seller, [cardItem()], headers)
    const theirs = await createListings(other, [cardItem()], headers)
    expect(theirs.body.created).toBe(1)
    expect(theirs.body.results[0].listing.id).not.toBe(first.body.results[0].listing.id)
    expect(await totalOf(other)).toBe(1)
    expect((await createListings(other, items(2), headers)).status).toBe(422)
  })

  it('is the same for all API keys of an account', async () => {
    const headers = newKey()
    const first = await createListings(seller, [cardItem()], headers)
    const { body } = await app.operator.post(`/operator/v1/accounts/${seller.accountId}/keys`, {
      payload: { scopes: ['listings:write'] },
    })
    const again = await createListings(app.withKey(body.key), [cardItem()], headers)
    expect(again.text).toBe(first.text)
  })

  it('is kept for 24 hours, and then is a new one, for any body', async () => {
    const headers = newKey()
    const first = await createListings(seller, [cardItem()], headers)
    // A request takes a moment: a minute less than a day is surely within it.
    await advance(app.operator, DAY - 60)
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
  ])('that is %s is refused with 422', async (_, key) => {
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
  ])('may be %s', async (_, key) => {
    const headers = { 'idempotency-key': key }
    const first = await createListings(seller, [cardItem()], headers)
    expect(first.body.created).toBe(1)
    expect((await createListings(seller, [cardItem()], headers)).text).toBe(first.text)
  })

  it('that is invalid comes before the missing payout', async () => {
    const newcomer = await app.seller({ account: { payoutVerified: false } })
    const headers = { 'idempotency-key': 'x'.repeat(256) }
    expect((await createListings(newcomer, [cardItem()], headers)).status).toBe(422)
  })
})

describe('twins that arrive together', () => {
  it('create once, and get one and the same answer', async () => {
    const headers = newKey()
    const wanted = items(20)
    let texts = new Set<string>()
    const created = await createdBy(seller, async () => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => createListings(seller, wanted, headers)),
      )
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
      texts = new Set(answers.map(({ text }) => text))
    })
    expect([created, texts.size]).toEqual([20, 1])
  })

  it('create once also when they reach different processes', async () => {
    const second = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
    const shop = await app.seller()
    const doors = [shop, second.withKey(shop.key)]
    const headers = newKey()
    const wanted = items(20)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => createListings(doors[i % 2]!, wanted, headers)),
    )
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]!.body.created).toBe(20)
    expect(await totalOf(shop)).toBe(20)
  })

  it('with different bodies: one lists, the others are refused', async () => {
    const headers = newKey()
    let answers: { status: number }[] = []
    const created = await createdBy(seller, async () => {
      answers = await Promise.all(
        Array.from({ length: 6 }, (_, i) =>
          createListings(seller, [cardItem({ quantity: i + 1 })], headers),
        ),
      )
    })
    expect(created).toBe(1)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422])
  })
})
