import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { subscribe } from '../test/fakes/receiver.ts'
import { endpointCache } from './endpoint-cache.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

const first = (endpointId: number) => ({ endpointId, secretNumber: 1 })

it('an endpoint deleted before it was loaded is not in the cache', async () => {
  const seller = await app.seller()
  const { id, secret } = await subscribe(seller, 'https://a:b@shop.example:8443/hooks?x=1')
  const cache = endpointCache(app.ctx)
  await cache.load([first(id)])
  expect(cache.get(id)).toMatchObject({
    secret,
    hostname: 'shop.example',
    origin: 'https://shop.example:8443',
    path: '/hooks?x=1',
    headers: { authorization: 'Basic YTpi' },
  })
  await seller.delete(`/v1/webhooks/${id}`)
  const fresh = endpointCache(app.ctx)
  await fresh.load([first(id)])
  expect(fresh.get(id)).toBeUndefined()
})

it('a claim that knows of a rotated secret replaces the secrets in the cache', async () => {
  const seller = await app.seller()
  const { id, secret } = await subscribe(seller, 'https://shop.example/hooks')
  const cache = endpointCache(app.ctx)
  await cache.load([first(id)])
  const { body } = await seller.post(`/tools/v1/webhooks/${id}/rotate-secret`)
  await cache.load([first(id)])
  expect(cache.get(id)).toMatchObject({ secret, previous: undefined })
  await cache.load([{ endpointId: id, secretNumber: 2 }])
  expect(cache.get(id)).toMatchObject({ secret: body.secret, previous: { secret } })
})

it('an endpoint stays in the cache while its rotated secret is read, so that claimed deliveries are not skipped', async () => {
  const seller = await app.seller()
  const { id, secret } = await subscribe(seller, 'https://shop.example/hooks')
  const cache = endpointCache(app.ctx)
  await cache.load([first(id)])
  const { body } = await seller.post(`/tools/v1/webhooks/${id}/rotate-secret`)
  const loading = cache.load([{ endpointId: id, secretNumber: 2 }])
  expect(cache.get(id)).toMatchObject({ secret })
  await loading
  expect(cache.get(id)).toMatchObject({ secret: body.secret })
})

it('the cache evicts the least recently used endpoint', async () => {
  const seller = await app.seller()
  const { id } = await subscribe(seller, 'https://shop.example/hooks')
  const rows = await app.ctx.db<{ id: number }[]>`
    with shops as (
      insert into accounts (shop_name, slug, email, created_at)
      select 'Shop', 'shop-' || number, number || '@shops.example', '2026-01-01'
      from generate_series(1, 640) number
      returning id
    )
    insert into webhook_endpoints (account_id, place, url, events, secret, created_at)
    select shops.id, place, 'https://shop.example/', '{order.created}', ''::bytea, '2026-01-01'
    from shops
    cross join generate_series(1, 16) place
    returning id
  `
  const others = rows.map((row) => row.id)
  expect(others.length).toBeGreaterThan(10_000)
  const cache = endpointCache(app.ctx)
  await cache.load([first(id)])
  await cache.load(others.slice(0, 9_999).map(first))
  // It would be evicted first if it weren't used again.
  await cache.load([...others.slice(9_999), id].map(first))
  expect(cache.get(id)).toBeDefined()
  expect(cache.get(others[0]!)).toBeUndefined()
})
