import { expect, it } from 'vitest'
import { startTestApp } from '../test/app.ts'
import { subscribe } from '../test/fakes/receiver.ts'
import { openTargets } from './endpoint-cache.ts'

it('an endpoint that was deleted before its address was read has none', async () => {
  const app = await startTestApp()
  const seller = await app.seller()
  const { id, secret } = await subscribe(seller, 'https://a:b@shop.example:8443/hooks?x=1')
  const targets = openTargets(app.ctx)
  await targets.learn([id])
  expect(targets.of(id)).toMatchObject({
    secret,
    hostname: 'shop.example',
    origin: 'https://shop.example:8443',
    path: '/hooks?x=1',
    headers: { authorization: 'Basic YTpi' },
  })
  await seller.delete(`/v1/webhooks/${id}`)
  const others = openTargets(app.ctx)
  await others.learn([id])
  expect(others.of(id)).toBeUndefined()
})

it('an address that was wanted lately is known, however many others are', async () => {
  const app = await startTestApp()
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
  const targets = openTargets(app.ctx)
  await targets.learn([id])
  await targets.learn(others.slice(0, 9_999))
  // Among the first to be forgotten, but for its being wanted again.
  await targets.learn([...others.slice(9_999), id])
  expect(targets.of(id)).toBeDefined()
  expect(targets.of(others[0]!)).toBeUndefined()
})
