import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { importRecords } from '../../test/catalog-fixture.ts'
import { startCursor } from '../../test/fixtures/changes.ts'
import { cardItem, list, NO_LIMITS, productItem } from '../../test/fixtures/listings.ts'
import { call } from '../../test/fixtures/mcp.ts'
import { grantAccess } from '../../test/fixtures/oauth.ts'
import { until } from '../../test/until.ts'

let app: TestApp
/** Another process of the service, which gets no signals of imports. */
let other: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
  other.ctx.catalog.close()
})

type Shop = Awaited<ReturnType<typeof openShop>>

/** Clients of the other process. */
async function openShop() {
  const seller = await app.seller()
  const { cookie } = await app.member(seller.accountId)
  const headers = { cookie, origin: new URL(other.ctx.config.publicUrl).origin }
  const token = await grantAccess(app, seller.accountId)
  return {
    seller,
    api: other.withKey(seller.key),
    member: {
      get: (path: string) => other.anyone.get(`/dashboard/api${path}`, { headers }),
      patch: (path: string, payload: object) =>
        other.anyone.patch(`/dashboard/api${path}`, { headers, payload }),
    },
    tool: async (name: string, args: object) =>
      (await call(other, '/mcp/seller', name, args, { token })).object,
  }
}

const dashboardName = ({ item }: { item: { name: string } }) => item.name
const nameOf = ({ listable }: { listable: { name: string } }) => listable.name

const READS: Record<string, (shop: Shop, id: number, cursor: string) => Promise<string>> = {
  'GET /v1/listings': async ({ api }) => nameOf((await api.get('/v1/listings')).body.data[0]),
  'PATCH /v1/listings/{listing}': async ({ api }, id) =>
    nameOf((await api.patch(`/v1/listings/${id}`, { payload: { price: 2 } })).body.data),
  'GET /tools/v1/listings': async ({ api }) =>
    nameOf((await api.get('/tools/v1/listings')).body.data[0]),
  'GET /tools/v1/listings/{listing}': async ({ api }, id) =>
    nameOf((await api.get(`/tools/v1/listings/${id}`)).body.data),
  'GET /tools/v1/changes': async ({ api }, id, cursor) => {
    // Open transactions of other tests on the same server hold a change back.
    const change = await until('the change', async () => {
      const { data } = (await api.get(`/tools/v1/changes?cursor=${cursor}`)).body
      return data.find((change: { id: number }) => change.id === id)
    })
    return nameOf(change.record)
  },
  'the tool list_listings': async ({ tool }) => nameOf((await tool('list_listings', {})).data[0]),
  'the tool change_listing': async ({ tool }, listing) =>
    nameOf((await tool('change_listing', { listing, price: 2 })).data),
  'the list of the dashboard': async ({ member }) =>
    dashboardName((await member.get('/listings')).body.data[0]),
  'the form of the dashboard': async ({ member }, id) =>
    dashboardName((await member.get(`/listings/${id}`)).body.data),
  'a change in the dashboard': async ({ member }, id) =>
    dashboardName((await member.patch(`/listings/${id}`, { price: 2 })).body.data),
  'the search of the dashboard': async ({ member }, id) =>
    dashboardName((await member.get(`/search?q=${id}`)).body.data.listings[0]),
  'an export of the dashboard': async ({ member }) =>
    /New \w+ \d+/.exec((await member.get('/listings/export')).text)?.[0] ?? '',
}

it.each(Object.keys(READS).map((name, i) => [name, i] as const))(
  '%s has the item of a listing, also if another process has imported that a moment ago',
  async (name, i) => {
    const shop = await openShop()
    const cursor = await startCursor(shop.seller)
    const card = { type: 'card', id: `new-${i}`, set_id: 'sv3', number: `N${i}` }
    const product = { type: 'product', slug: `new-${i}`, category: 'other' }
    for (const record of [card, product]) {
      const wanted = `New ${record.type} ${i}`
      await importRecords(app.operator, [{ ...record, name: wanted }])
      const item =
        record === card ? cardItem({ card: card.id }) : productItem({ product: `new-${i}` })
      const [id] = await list(shop.seller, item)
      const read = await READS[name]!(shop, id!, cursor)
      expect(read).toBe(wanted)
      await shop.seller.delete(`/v1/listings/${id}`)
    }
  },
)

it('many changes at once succeed although each waits for an item of another process: they leave a connection for its reload', async () => {
  const { seller, member } = await openShop()
  await importRecords(app.operator, [
    { type: 'product', slug: 'new-to-many', category: 'other', name: 'New to many' },
  ])
  const [id] = await list(seller, productItem({ product: 'new-to-many' }))
  const changes = await Promise.all(
    Array.from({ length: 30 }, (_, i) => member.patch(`/listings/${id}`, { price: i + 1 })),
  )
  expect(changes.map(({ body }) => dashboardName(body.data))).toEqual(Array(30).fill('New to many'))
})
