import { beforeAll, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import {
  cardItem,
  hold,
  list,
  listed,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller()
})

const pathOf = (id: number | string) => `/v1/listings/${id}`

const newListing = async (item: object = cardItem()) => (await list(seller, item))[0]!

describe('DELETE /v1/listings/{listing}', () => {
  it('DELETE /v1/listings/{listing} returns 204 without a body', async () => {
    const { status, text, headers } = await seller.delete(pathOf(await newListing()))
    expect([status, text]).toEqual([204, ''])
    expect(headers).not.toHaveProperty('content-type')
  })

  it.each(['active', 'sold', 'hidden'])('a listing that is %s can be deleted', async (status) => {
    const id = await newListing()
    if (status === 'sold') await seller.patch(pathOf(id), { payload: { quantity: 0 } })
    if (status === 'hidden') await seller.patch(pathOf(id), { payload: { status } })
    expect((await listed(seller, id)).status).toBe(status)
    expect((await seller.delete(pathOf(id))).status).toBe(204)
    expect(await listed(seller, id)).toBeUndefined()
  })

  it('a deleted listing is in no list and no total', async () => {
    const shop = await app.seller()
    const [keep, gone] = await list(shop, cardItem(), cardItem())
    await shop.delete(pathOf(gone!))
    for (const query of ['', 'status=active', 'card=sv3-125', 'updated_since=2000-01-01']) {
      const { body } = await shop.get(`/v1/listings?${query}`)
      expect(body.data.map(({ id }: { id: number }) => id)).toEqual([keep])
      expect(body.meta.total).toBe(1)
    }
    for (const status of ['sold', 'hidden']) {
      expect((await shop.get(`/v1/listings?status=${status}`)).body.meta.total).toBe(0)
    }
  })

  it('a deleted listing is no longer offered on its card or product', async () => {
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
      await shop.delete(pathOf(id!))
      expect(await offers()).toEqual([])
    }
  })

  it('deleting a deleted listing returns 404', async () => {
    const id = await newListing()
    await seller.delete(pathOf(id))
    const { status, body } = await seller.delete(pathOf(id))
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('concurrent deletions of one listing give one 204 and otherwise 404', async () => {
    const id = await newListing()
    const responses = await Promise.all(Array.from({ length: 8 }, () => seller.delete(pathOf(id))))
    expect(responses.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(404)])
  })

  it('a change that races with a deletion does not restore the listing', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await newListing()
      const change = (quantity: number) => seller.patch(pathOf(id), { payload: { quantity } })
      const early = [change(0), change(7)]
      const deleted = seller.delete(pathOf(id))
      const late = [change(0), change(8)]
      expect((await deleted).status).toBe(204)
      for (const { status } of await Promise.all([...early, ...late])) {
        expect(status).toBeOneOf([200, 404])
      }
      const [row] = await app.ctx.db`select status from listings where id = ${id}`
      expect(row).toEqual({ status: 'removed' })
    }
  })

  it('deleting another seller’s listing gets the same 404 as an unknown listing', async () => {
    const id = await newListing()
    const stranger = await app.seller()
    const theirs = await stranger.delete(pathOf(id))
    expect(theirs.status).toBe(404)
    expect(theirs.text).toBe((await stranger.delete(pathOf(999_999))).text)
    expect(await listed(seller, id)).toMatchObject({ status: 'active' })
  })

  it('DELETE /v1/listings/{listing} returns 404 for an unknown listing', async () => {
    expect((await seller.delete(pathOf(999_999))).status).toBe(404)
  })

  it('DELETE /v1/listings/{listing} without the scope listings:write returns 403 before the id is checked', async () => {
    const id = await newListing()
    const reader = await app.seller({ scopes: ['listings:read'] })
    for (const path of [id, 999_999, 'x']) {
      const { status, body } = await reader.delete(pathOf(path))
      expect([status, body.error.type]).toEqual([403, 'authorization_error'])
    }
  })

  it('a deleted listing stays in the database as removed, for its orders', async () => {
    const id = await newListing(cardItem({ description: 'Once mine' }))
    await seller.delete(pathOf(id))
    const [row] = await app.ctx.db`
      select status, quantity, description from listings where id = ${id}
    `
    expect(row).toEqual({ status: 'removed', quantity: 3, description: 'Once mine' })
  })

  it('deleting a listing releases its reservations and no others', async () => {
    const [gone, kept] = [await newListing(), await newListing()]
    await hold(app.operator, gone, 1)
    await hold(app.operator, gone, 2)
    const held = await hold(app.operator, kept, 1)
    expect((await seller.delete(pathOf(gone))).status).toBe(204)
    const rows = await app.ctx.db`
      select id from reservations where listing_id in (${gone}, ${kept})
    `
    expect([...rows]).toEqual([{ id: held }])
  })

  it('reserving a deleted listing returns 404', async () => {
    const id = await newListing()
    await seller.delete(pathOf(id))
    const payload = { listing_id: id, quantity: 1, cart_id: 'late' }
    expect((await app.operator.post('/operator/v1/reservations', { payload })).status).toBe(404)
  })

  it('a reservation that races with a deletion does not survive it', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await newListing(cardItem({ quantity: 20 }))
      const payload = { listing_id: id, quantity: 1, cart_id: 'racing' }
      const reserve = () => app.operator.post('/operator/v1/reservations', { payload })
      const early = Array.from({ length: 4 }, reserve)
      const deleted = seller.delete(pathOf(id))
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
    ['any JSON body', { payload: { reason: 'sold elsewhere', id: 'x' } }],
    ['a JSON content type and no body', { headers: { 'content-type': 'application/json' } }],
    [
      'a JSON content type and an empty body',
      { payload: '', headers: { 'content-type': 'application/json' } },
    ],
  ])('DELETE /v1/listings/{listing} accepts %s', async (_, options) => {
    const id = await newListing()
    expect((await seller.delete(pathOf(id), options)).status).toBe(204)
    expect(await listed(seller, id)).toBeUndefined()
  })
})
