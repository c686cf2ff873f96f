import { beforeAll, describe, expect, it } from 'vitest'
import type { Sql } from '../database/sql.ts'
import type { Begin } from '../database/transactions.ts'
import { testDatabase } from '../test/database.ts'
import { insertSlice } from '../test/fixtures/orders.ts'
import { newDataDir, type Settings, startService } from '../test/process.ts'
import { until } from '../test/until.ts'

describe('a label being bought', () => {
  let db: Sql
  let begin: Begin
  let settings: Settings
  beforeAll(async () => {
    const database = await testDatabase('product')
    ;({ db, begin } = database)
    settings = { DATABASE_URL: database.url, DATA_DIR: newDataDir(), SANDBOX: 'true' }
  })

  const count = async (rows: Promise<readonly unknown[]>) => (await rows).length

  /** Takes a lock in a separate transaction. The returned function releases it. */
  async function takeLock(statement: string) {
    const held = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const done = begin(async (tx) => {
      await tx.unsafe(statement)
      held.resolve()
      await released.promise
    })
    await held.promise
    return async () => {
      released.resolve()
      await done
    }
  }

  it('after kill -9 between the carrier’s response and its record, no label is bought twice', async () => {
    const killed = await (await startService(settings)).ready()
    const { key } = killed.printed()
    const [account] = await db<{ id: number }[]>`select id from accounts`
    const parcel = await insertSlice(db, account!.id)
    const address = `/v1/orders/${parcel.orderIds[0]}/label`

    // First the carrier waits for its table, then the service waits for the slice.
    const unlockCarrier = await takeLock('lock table simulated_shipments in exclusive mode')
    const response = killed.call('POST', address, { token: key }).catch(() => undefined)
    await until('the purchase is claimed', () =>
      count(db`select 1 from shipments where state = 'buying'`),
    )
    const unlockSlice = await takeLock(
      `select 1 from slices where id = ${parcel.sliceId} for update`,
    )
    await unlockCarrier()
    await until('the carrier has sold it', () => count(db`select 1 from simulated_shipments`))
    await until('the service wants to record it', () =>
      count(db`
        select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%from slices%'
      `),
    )
    await killed.stop('SIGKILL')
    await response
    await unlockSlice()
    const [row] = await db`
      select state, in_doubt, leased_until > clock_timestamp() as leased from shipments
    `
    expect(row).toEqual({ state: 'buying', in_doubt: true, leased: true })
    expect(await count(db`select 1 from events where event = 'order.label_ready'`)).toBe(0)

    // Instead of waiting two minutes for the lease to expire.
    await db`update shipments set leased_until = clock_timestamp()`
    const service = await (await startService(settings)).ready()
    const { status, body } = await service.call('POST', address, { token: key })
    expect([status, body.data.status]).toEqual([200, 'ready'])
    expect(await count(db`select 1 from simulated_shipments`)).toBe(1)
    expect(await count(db`select 1 from events where event = 'order.label_ready'`)).toBe(1)
    const { pathname, search } = new URL(body.data.label_url)
    const pdf = await service.get(pathname + search)
    expect([pdf.status, pdf.headers.get('content-type')]).toEqual([200, 'application/pdf'])
    expect(await service.stop('SIGTERM')).toMatchObject({ code: 0 })
  })
})
