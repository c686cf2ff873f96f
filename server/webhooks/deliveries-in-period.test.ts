import { expect, it } from 'vitest'
import { DELIVERY_STATUSES } from '../enums.ts'
import { startTestApp } from '../test/app.ts'
import { subscribe } from '../test/fakes/receiver.ts'
import { rowsRead, vacuumed } from '../test/rows-read.ts'
import { listDeliveries } from './delivery-list.ts'

const START = Date.UTC(2026, 0, 1)
const random = (below: number) => Math.floor(Math.random() * below)

it('the deliveries of a period are those of plain SQL, although ids have gaps and differ from the order of time by ten seconds', async () => {
  const app = await startTestApp()
  const { db } = app.ctx
  const seller = await app.seller()
  const { id: endpointId } = await subscribe(seller, 'https://nowhere.invalid/')
  for (const start of [0, 150, 300]) {
    await db`
      with happened as (
        insert into events (account_id, event, data, created_at)
        select
          ${seller.accountId},
          (array['order.created', 'listing.sold'])[1 + n % 2],
          '{}',
          ${new Date(START)}::timestamptz + (${start}::int + n) * interval '1 s' + random() * interval '10 s'
        from generate_series(1, 150) n
        returning id, event, created_at
      ),
      logged as (
        insert into deliveries (event_id, event, endpoint_id, status, is_skipped, created_at)
        select
          id,
          -- Deliveries of an earlier version have no event.
          case when random() < 0.5 then event end,
          ${endpointId}::bigint,
          (${[...DELIVERY_STATUSES]}::text[])[1 + id % 4],
          id % 4 = ${DELIVERY_STATUSES.indexOf('skipped')},
          created_at
        from happened
        order by id
        returning id, event_id, endpoint_id, status, created_at
      )
      insert into delivery_queue (delivery_id, event_id, endpoint_id, next_attempt_at)
      select id, event_id, endpoint_id, created_at from logged where status = 'pending'
    `
    // As at the beginning of a partition.
    await db`select setval(pg_get_serial_sequence('deliveries', 'id'), max(id) + 5000) from deliveries`
  }
  const timeOf = () => new Date(START + 1000 * random(470))
  for (let i = 0; i < 80; i++) {
    const [from, to] = [random(4) && timeOf(), random(4) && timeOf()].map(
      (time) => time || undefined,
    )
    const status = [undefined, ...DELIVERY_STATUSES][random(5)]
    const event = ([undefined, 'order.created'] as const)[random(2)]
    const ids = await db<{ id: number }[]>`
      select d.id
      from deliveries d
      join events e on e.id = event_id
      where
        d.status = coalesce(${status ?? null}, d.status)
        and e.event = coalesce(${event ?? null}, e.event)
        and date_trunc('second', e.created_at) >= ${from ?? new Date(0)}
        and date_trunc('second', e.created_at) <= ${to ?? new Date('2126-01-01')}
      order by d.id desc
    `
    const filters = { status, event, from, to, ...(random(2) && { endpointId }) }
    const page = { perPage: 1_000, offset: 0 }
    const { rows, total } = await listDeliveries(app.ctx, filters, page)
    const listed = rows.map(({ id }) => id)
    expect({ filters, total, listed }).toEqual({
      ...{ filters, total: ids.length, listed: ids.map(({ id }) => id) },
    })
  }
})

it('the total of a long period reads only the deliveries near its ends', async () => {
  const app = await startTestApp()
  const { id: endpointId } = await subscribe(await app.seller(), 'https://nowhere.invalid/')
  const timeAt = (n: number) => new Date(START + n * 2_000)
  await app.ctx.db`
    insert into deliveries (event_id, event, endpoint_id, status, is_skipped, created_at)
    select
      n,
      'listing.sold',
      ${endpointId}::bigint,
      (array['skipped', 'failed', 'delivered'])[least(1 + n % 10, 3)],
      n % 10 = 0,
      ${timeAt(0)}::timestamptz + n * interval '2 s'
    from generate_series(1, 8000) n
  `
  await app.ctx.db`analyze deliveries`
  await vacuumed(app.ctx.db, 'deliveries_from_0')
  const page = { perPage: 1, offset: 0 }
  for (const [status, expected] of [
    [undefined, 7_000],
    ['delivered', 5_600],
    ['failed', 700],
    ['skipped', 700],
  ] as const) {
    for (const more of [{}, { endpointId }]) {
      const filters = { status, from: timeAt(501), to: timeAt(7_500), ...more }
      const read = await app.ctx.begin((db) =>
        rowsRead(db, 'deliveries_from_0', async () => {
          const { total } = await listDeliveries({ begin: (work) => work(db) }, filters, page)
          expect([status, total]).toEqual([status, expected])
        }),
      )
      expect(read).toBeLessThan(1_000)
    }
  }
})
