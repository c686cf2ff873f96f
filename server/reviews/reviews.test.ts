import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, insertSlices, openShop, sellEach, ship } from '../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'
import { rowsRead } from '../test/rows-read.ts'
import { listReviews } from './reviews.ts'

let app: TestApp
let other: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
})

type Shop = Awaited<ReturnType<typeof openShop>>

async function received(shop: Shop): Promise<number> {
  const [order] = (await sellEach(app, shop, cardItem())) as [number]
  await ship(shop, order, { tracking_code: 'CODE' })
  await act(app, order, 'receive')
  return order
}

const review = (order: number, payload: object, { operator } = app) =>
  operator.post(`/operator/v1/orders/${order}/review`, { payload })

/** The published figures, as buyers see them. */
async function published(shop: Shop): Promise<{ rating: number | null; reviews: number }> {
  const { body } = await shop.get('/v1/listings?per_page=1')
  const { rating, reviews } = body.data[0].seller
  return { rating, reviews }
}

it('a review needs the receipt, is one per slice, and can be changed for 30 days, answered and removed', async () => {
  const shop = await openShop(app)
  const [pending] = (await sellEach(app, shop, cardItem())) as [number]
  expect((await review(pending, { stars: 5 })).status).toBe(409)
  expect((await review(999_999, {})).status).toBe(404)
  const order = await received(shop)
  for (const stars of [0, 6, 2.5, '5']) expect((await review(order, { stars })).status).toBe(422)
  const text = 'Well <b>packed</b>'
  const { status, body } = await review(order, { stars: 4, text })
  expect([status, body.data.stars, body.data.reply]).toEqual([201, 4, null])
  expect((await review(order, { stars: 1 })).status).toBe(409)
  const mails = await app.operator.get('/operator/v1/sandbox/mail?per_page=1')
  expect(mails.body.data[0]).toMatchObject({
    subject: 'New review: 4 of 5 stars',
    text: expect.stringContaining(text),
  })
  expect(await published(shop)).toEqual({ rating: 4, reviews: 1 })

  const stranger = await openShop(app)
  const path = `/tools/v1/reviews/${body.data.id}/reply`
  expect((await stranger.post(path, { payload: { text: 'Mine' } })).status).toBe(404)
  expect((await shop.post(path, { payload: {} })).status).toBe(422)
  await shop.post(path, { payload: { text: 'Thank you!' } })
  const own = (await shop.get('/tools/v1/reviews')).body.data
  expect(own).toMatchObject([{ stars: 4, text, reply: { text: 'Thank you!' } }])
  expect((await stranger.get('/tools/v1/reviews')).body.data).toEqual([])
  const { slug } = (await app.operator.get(`/operator/v1/accounts/${shop.accountId}`)).body.data
  const page = async () => (await app.anyone.get(`/shops/${slug}`)).text
  expect(await page()).toContain('Well &lt;b&gt;packed&lt;/b&gt;')
  expect(await page()).toContain('Thank you!')

  const url = `/operator/v1/orders/${order}/review`
  const change = (payload: object) => app.operator.patch(url, { payload })
  expect((await change({ stars: 2 })).body.data).toMatchObject({ stars: 2, text })
  expect(await published(shop)).toEqual({ rating: 2, reviews: 1 })
  await advance(app.operator, 30 * 24 * 3600 + 60)
  expect((await change({ stars: 5 })).status).toBe(409)
  expect((await app.operator.delete(url, { payload: {} })).status).toBe(422)
  expect((await app.operator.delete(url, { payload: { reason: 'Spam' } })).status).toBe(204)
  expect((await app.operator.delete(url, { payload: { reason: 'Spam' } })).status).toBe(404)
  expect(await published(shop)).toEqual({ rating: null, reviews: 0 })
  expect(await page()).not.toContain('packed')
  const left = (await shop.get('/tools/v1/reviews')).body
  expect([left.data, left.meta.total]).toEqual([[], 0])
  const member = await app.member(shop.accountId)
  for (const query of ['', `?order=${order}`]) {
    expect((await member.get(`/dashboard/api/reviews${query}`)).body.data).toEqual([])
  }
  expect((await shop.post(path, { payload: { text: 'Late' } })).status).toBe(404)
  const all = await app.operator.get(`/operator/v1/reviews?account_id=${shop.accountId}`)
  expect(all.body.data[0].removed).toMatchObject({ reason: 'Spam' })
  expect((await review(order, { stars: 5 })).status).toBe(409)
})

it('a reply to a removed review is 404, also once the buyer is erased', async () => {
  const shop = await openShop(app)
  const order = await received(shop)
  const { id } = (await review(order, { stars: 1, text: 'Bent' })).body.data
  const remove = { payload: { reason: 'Spam' } }
  await app.operator.delete(`/operator/v1/orders/${order}/review`, remove)
  const reply = () => shop.post(`/tools/v1/reviews/${id}/reply`, { payload: { text: 'Sorry' } })
  expect((await reply()).status).toBe(404)
  const { email } = (await app.operator.get(`/operator/v1/orders/${order}`)).body.data.buyer
  await app.operator.post('/operator/v1/buyers/erase', { payload: { email } })
  expect((await reply()).status).toBe(404)
})

it('the rating is the mean of imported and own reviews to one decimal, whichever way they change', async () => {
  const shop = await openShop(app)
  await list(shop, cardItem())
  const enter = (payload: object) =>
    app.operator.patch(`/operator/v1/accounts/${shop.accountId}`, { payload })
  await enter({ rating: 4.75, reviews: 4 })
  expect(await published(shop)).toEqual({ rating: 4.75, reviews: 4 })
  const orders = [await received(shop), await received(shop)]
  await review(orders[0]!, { stars: 1 })
  // (4.75 × 4 + 1) ÷ 5
  expect(await published(shop)).toEqual({ rating: 4, reviews: 5 })
  await review(orders[1]!, { stars: 5 })
  // 25 ÷ 6
  expect(await published(shop)).toEqual({ rating: 4.2, reviews: 6 })
  const { body } = await enter({ rating: null })
  expect(body.data).toMatchObject({ rating: null, reviews: 4 })
  expect(await published(shop)).toEqual({ rating: 3, reviews: 6 })
  await enter({ reviews: 0 })
  expect(await published(shop)).toEqual({ rating: 3, reviews: 2 })
})

it('a page of the reviews of a shop does not read them all', async () => {
  const { accountId } = await app.seller()
  const { ctx } = app
  await insertSlices(ctx.db, accountId, Array(500).fill('Ash'))
  await ctx.db`
    with added as (
      insert into reviews (slice_id, order_id, account_id, stars, created_at, updated_at)
      select slice_id, id, account_id, 5, created_at, created_at
      from orders
      where account_id = ${accountId}
      returning id
    )
    update accounts
    set review_stars = 2500, review_count = (select count(*) from added)
    where id = ${accountId}
  `
  await ctx.db`analyze reviews`
  const read = await ctx.begin(
    (db) =>
      rowsRead(db, 'reviews', async () => {
        const inSnapshot = { ...ctx, begin: (work) => work(db) } as typeof ctx
        const filters = { accountId, isShown: true }
        const page = { perPage: 5, offset: 0 }
        const { rows, total } = await listReviews(inSnapshot, filters, page)
        expect([rows.length, total]).toEqual([5, 500])
      }),
    'snapshot',
  )
  expect(read).toBeLessThan(50)
})

it('a changed review waits for two changes of the account, amid a sale of the shop', async () => {
  const shop = await openShop(app)
  await list(shop, cardItem())
  const order = await received(shop)
  await review(order, { stars: 1 })
  const account = `/operator/v1/accounts/${shop.accountId}`
  const [changed, patched] = await whileLocked(
    app.ctx,
    // A sale locks the account like this, and is still going on at the end.
    (db) => db`select from accounts where id = ${shop.accountId} for key share`,
    async () => {
      const changes = await whileLocked(
        app.ctx,
        (db) => db`update accounts set time_zone = 'UTC' where id = ${shop.accountId}`,
        async () => {
          const changing = other.operator.patch(`/operator/v1/orders/${order}/review`, {
            payload: { stars: 5 },
          })
          await untilLockWaiters(app.ctx.db)
          const patching = app.operator.patch(account, { payload: { seller_tier: 'Gold' } })
          await untilLockWaiters(app.ctx.db, 2)
          return [changing, patching]
        },
      )
      return Promise.all(changes)
    },
  )
  expect([changed!.status, patched!.status]).toEqual([200, 200])
  expect(await published(shop)).toEqual({ rating: 5, reviews: 1 })
})

it('all APIs and the dashboard show the same rating, and pages round its stored decimal half up', async () => {
  const shop = await openShop(app)
  await list(shop, cardItem())
  const member = await app.member(shop.accountId)
  const url = `/operator/v1/accounts/${shop.accountId}`
  for (const [rating, reviews, shown, star] of [
    [4.5, 0, null, 'no reviews yet'],
    [4.05, 5, 4.05, '★ 4.1'],
    [4.149, 5, 4.15, '★ 4.2'],
    [4.144, 5, 4.14, '★ 4.1'],
    [0, 1, 0, '★ 0.0'],
    [5, 1, 5, '★ 5.0'],
  ] as const) {
    const { body } = await app.operator.patch(url, { payload: { rating, reviews } })
    expect(await published(shop)).toEqual({ rating: shown, reviews })
    const { data } = (await member.get('/dashboard/api/listings')).body
    expect(data[0].seller).toMatchObject({ rating: shown, reviews })
    const list = (await member.get('/dashboard/api/reviews')).body
    expect([list.rating, list.reviews]).toEqual([shown, reviews])
    expect((await app.anyone.get(`/shops/${body.data.slug}`)).text).toContain(star)
  }
  await review(await received(shop), { stars: 3 })
  const { data } = (await member.get('/dashboard/api/listings')).body
  expect(data[0].seller).toMatchObject(await published(shop))
})

it('concurrent reviews on two services leave one for each slice, and the figures count each once', async () => {
  const shop = await openShop(app)
  await list(shop, cardItem())
  const orders: number[] = []
  for (let i = 0; i < 4; i++) orders.push(await received(shop))
  const sent = await Promise.all(
    orders.flatMap((order, i) => [
      review(order, { stars: i + 1 }),
      review(order, { stars: i + 1 }, other),
    ]),
  )
  const statuses = sent.map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(4)
  expect(statuses.filter((status) => status === 409)).toHaveLength(4)
  const member = await app.member(shop.accountId)
  const { body } = await member.get('/dashboard/api/reviews')
  expect(body).toMatchObject({ rating: 2.5, reviews: 4 })
})
