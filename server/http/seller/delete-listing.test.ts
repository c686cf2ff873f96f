import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { importCatalogFixture } from '../../test/catalog-fixture.ts'
import {
  cardItem,
  hold,
  list,
  listed,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'

let app: TestApp
let seller: Awaited<ReturnType<TestApp['seller']>>
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
  await importCatalogFixture(app.operator)
  seller = await app.seller()
})

const addressOf = (id: number | string) => `/v1/listings/${id}`

const fresh = async (item: object = cardItem()) => (await list(seller, item))[0]!

describe('DELETE /v1/listings/{listing}', () => {
  it('answers 204 without a body', async () => {
    const { status, text, headers } = await seller.delete(addressOf(await fresh()))
    expect([status, text]).toEqual([204, ''])
    expect(headers).not.toHaveProperty('content-type')
  })

  it.each(['active', 'sold', 'hidden'])('deletes a listing that is %s', async (status) => {
    const id = await fresh()
    if (status === 'sold') await seller.patch(addressOf(id), { payload: { quantity: 0 } })
    if (status === 'hidden') await seller.patch(addressOf(id), { payload: { status } })
    expect((await listed(seller, id)).status).toBe(status)
    expect((await seller.delete(addressOf(id))).status).toBe(204)
    expect(await listed(seller, id)).toBeUndefined()
  })

  it('takes it out of every list, and every total', async () => {
    const shop = await app.seller()
    const [keep, gone] = await list(shop, cardItem(), cardItem())
    await shop.delete(addressOf(gone!))
    for (const query of ['', 'status=active', 'card=sv3-125', 'updated_since=2000-01-01']) {
      const { body } = await shop.get(`/v1/listings?${query}`)
      expect(body.data.map(({ id }: { id: number }) => id)).toEqual([keep])
      expect(body.meta.total).toBe(1)
    }
    for (const status of ['sold', 'hidden']) {
      expect((await shop.get(`/v1/listings?status=${status}`)).body.meta.total).toBe(0)
    }
  })

  it('takes it off sale: cards and products no longer show it', async () => {
    const shop = await app.seller()
    const [card, product] = await list(
      shop,
      cardItem({ card: 'ru1-1' }),
      productItem({ product: 'poke-ball-tin' }),
    )
    for (const [path, id] of [
      ['cards/ru1-1', card],
      ['products/poke-ball-tin', product],
    ]) {
      const offers = async () =>
        (await seller.get(`/v1/${path}?include=listings`)).body.data.listings
      expect(await offers()).toMatchObject([{ id }])
      await shop.delete(addressOf(id!))
      expect(await offers()).toEqual([])
    }
  })

  it('can not be done twice: 404', async () => {
    const id = await fresh()
    await seller.delete(addressOf(id))
    const { status, body } = await seller.delete(addressOf(id))
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('deletes once when many ask for it together', async () => {
    const id = await fresh()
    const answers = await Promise.all(Array.from({ length: 8 }, () => seller.delete(addressOf(id))))
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(404)])
  })

  it('is final: a change that arrives together with it brings nothing back', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await fresh()
      const change = (quantity: number) => seller.patch(addressOf(id), { payload: { quantity } })
      const early = [change(0), change(7)]
      const deleted = seller.delete(addressOf(id))
      const late = [change(0), change(8)]
      expect((await deleted).status).toBe(204)
      for (const { status } of await Promise.all([...early, ...late])) {
        expect(status).toBeOneOf([200, 404])
      }
      const [row] = await app.ctx.db`select status from listings where id = ${id}`
      expect(row).toEqual({ status: 'removed' })
    }
  })

  it("leaves another seller's listing alone: 404, the same as for one that does not exist", async () => {
    const id = await fresh()
    const stranger = await app.seller()
    const theirs = await stranger.delete(addressOf(id))
    expect(theirs.status).toBe(404)
    expect(theirs.text).toBe((await stranger.delete(addressOf(999_999))).text)
    expect(await listed(seller, id)).toMatchObject({ status: 'active' })
  })

  it.each(['999999', '0', '-1', '1.5', 'x', '9007199254740992', '99999999999999999999'])(
    'answers %s, which is no listing’s number, with 404',
    async (id) => {
      expect((await seller.delete(addressOf(id))).status).toBe(404)
    },
  )

  it('needs the scope listings:write, and looks at no id without it', async () => {
    const id = await fresh()
    const reader = await app.seller({ scopes: ['listings:read'] })
    for (const path of [id, 999_999, 'x']) {
      const { status, body } = await reader.delete(addressOf(path))
      expect([status, body.error.type]).toEqual([403, 'authorization_error'])
    }
  })

  it('keeps it inside as removed, for the orders that came of it', async () => {
    const id = await fresh(cardItem({ description: 'Once mine' }))
    await seller.delete(addressOf(id))
    const [row] = await app.ctx.db`
      select status, quantity, description from listings where id = ${id}
    `
    expect(row).toEqual({ status: 'removed', quantity: 3, description: 'Once mine' })
  })

  it('frees what carts hold of it, and of nothing else', async () => {
    const [gone, kept] = [await fresh(), await fresh()]
    await hold(app.operator, gone, 1)
    await hold(app.operator, gone, 2)
    const held = await hold(app.operator, kept, 1)
    expect((await seller.delete(addressOf(gone))).status).toBe(204)
    const rows = await app.ctx.db`
      select id from reservations where listing_id in (${gone}, ${kept})
    `
    expect([...rows]).toEqual([{ id: held }])
  })

  it('lets no cart hold it any more: 404', async () => {
    const id = await fresh()
    await seller.delete(addressOf(id))
    const payload = { listing_id: id, quantity: 1, cart_id: 'late' }
    expect((await app.operator.post('/operator/v1/reservations', { payload })).status).toBe(404)
  })

  it('leaves no hold on it behind, whichever of both came first', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await fresh(cardItem({ quantity: 20 }))
      const payload = { listing_id: id, quantity: 1, cart_id: 'racing' }
      const reserve = () => app.operator.post('/operator/v1/reservations', { payload })
      const early = Array.from({ length: 4 }, reserve)
      const deleted = seller.delete(addressOf(id))
      const late = Array.from({ length: 4 }, reserve)
      expect((await deleted).status).toBe(204)
      for (const { status } of await Promise.all([...early, ...late])) {
        expect(status).toBeOneOf([201, 404])
      }
      const rows = await app.ctx.db`select 1 from reservations where listing_id = ${id}`
      expect(rows.length).toBe(0)
    }
  })

  it.each([
    ['a body that says anything', { payload: { reason: 'sold elsewhere', id: 'x' } }],
    ['a JSON content type and no body', { headers: { 'content-type': 'application/json' } }],
    [
      'a JSON content type and an empty body',
      { payload: '', headers: { 'content-type': 'application/json' } },
    ],
  ])('is content with %s', async (_, options) => {
    const id = await fresh()
    expect((await seller.delete(addressOf(id), options)).status).toBe(204)
    expect(await listed(seller, id)).toBeUndefined()
  })

  it('can be asked with a trailing slash', async () => {
    expect((await seller.delete(`${addressOf(await fresh())}/`)).status).toBe(204)
  })

  it('counts as a write', async () => {
    const limited = await startTestApp({ settings: { RATE_LIMIT_WRITE: '2' } })
    const { headers } = await (await limited.seller()).delete(addressOf(1))
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' })
  })
})
