import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { until } from '../test/until.ts'

let app: TestApp
/** The same service as another process would be: only the database is shared. */
let other: TestApp
beforeAll(async () => {
  app = await startTestApp()
  other = await startTestApp({ databaseUrl: app.databaseUrl })
})

/** A key that the other process has in its cache. */
async function knownSeller() {
  const seller = await app.seller()
  const there = other.withKey(seller.key)
  expect((await there.get('/v1/me')).status).toBe(200)
  return { ...seller, there }
}

const revokeSilently = (keyId: number) =>
  app.ctx.db`update api_keys set revoked_at = ${app.ctx.now()} where id = ${keyId}`

const loseSignalsOf = async ({ ctx }: TestApp) => {
  const listening = await ctx.db`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query in ('listen cardstall', 'select 1')
  `
  expect(listening.length).toBeGreaterThan(0)
  await until('signals are lost', () => !ctx.signals.connected)
}

describe('the key cache', () => {
  it('a cached key needs no query', async () => {
    const { key, keyId } = await knownSeller()
    await revokeSilently(keyId)
    // No signal was sent, so the other process only has its cache.
    expect((await other.withKey(key).get('/v1/me')).status).toBe(200)
  })

  it('a key that another process revoked leaves the cache', async () => {
    const { accountId, keyId, there } = await knownSeller()
    await app.operator.delete(`/operator/v1/accounts/${accountId}/keys/${keyId}`)
    await until('the key is refused', async () => (await there.get('/v1/me')).status === 401)
  })

  it('an account that another process suspended leaves the cache', async () => {
    const { accountId, there } = await knownSeller()
    await app.operator.patch(`/operator/v1/accounts/${accountId}`, {
      payload: { api_access: 'suspended' },
    })
    await until('the account is refused', async () => (await there.get('/v1/me')).status === 403)
  })

  it('a key that is looked up while its account changes stays out of the cache', async () => {
    const { accountId, key, keyId } = await app.seller()
    const lookup = app.ctx.keys.find(key, () => 'address')
    app.ctx.keys.drop(accountId)
    expect(await lookup).toMatchObject({ keyId, revokedAt: null })
    await revokeSilently(keyId)
    expect((await app.withKey(key).get('/v1/me')).status).toBe(401)
  })

  it('a change of one shop leaves the keys of other shops in the cache', async () => {
    const [changed, unchanged] = [await knownSeller(), await knownSeller()]
    await revokeSilently(unchanged.keyId)
    await app.operator.patch(`/operator/v1/accounts/${changed.accountId}`, {
      payload: { shop_name: 'Renamed' },
    })
    const shown = async () => (await changed.there.get('/v1/me')).body.data.shop_name
    await until('the change is visible', async () => (await shown()) === 'Renamed')
    expect((await unchanged.there.get('/v1/me')).status).toBe(200)
  })

  it('all keys stay in the cache when a seller sends the same settings again, or changes the holiday', async () => {
    const { accountId, key } = await app.seller()
    const tools = app.withKey(key)
    const heard: unknown[] = []
    other.ctx.signals.on('keys', (id) => heard.push(id))
    other.ctx.signals.on('new-staff', () => heard.push('the last'))
    const option = {
      code: 'letter',
      name: 'Letter',
      fulfilment: 'self_ship',
      tracked: false,
      price: 1.5,
      enabled: true,
    }
    for (const options of [[option], [option], []]) {
      const payload = { shipping_options: options }
      expect((await tools.put('/tools/v1/shipping-options', { payload })).status).toBeLessThan(300)
    }
    for (const on of [true, false]) {
      expect((await tools.put('/tools/v1/holiday', { payload: { on } })).status).toBeLessThan(300)
    }
    await app.ctx.signal('new-staff')
    await until('the last signal arrives', () => heard.includes('the last'))
    expect(heard).toEqual([accountId, accountId, 'the last'])
  })

  it('the key cache is bypassed while signals may be missed, and empty afterwards', async () => {
    const { keyId, there } = await knownSeller()
    await loseSignalsOf(other)
    await revokeSilently(keyId)
    expect((await there.get('/v1/me')).status).toBe(401)

    await until('notices are back', () => other.ctx.signals.connected)
    expect((await there.get('/v1/me')).status).toBe(401)
  })

  it('the key cache is cleared after missed signals, even without requests in between', async () => {
    const { keyId, there } = await knownSeller()
    await loseSignalsOf(other)
    await revokeSilently(keyId)
    await until('notices are back', () => other.ctx.signals.connected)
    expect((await there.get('/v1/me')).status).toBe(401)
  })
})

describe('an address that tries keys', () => {
  const remoteAddress = '203.0.113.20'
  let tried = 0
  /** A different key with each call, all of the right form. */
  const tryKey = () =>
    app.withKey(`svc_live_${String(++tried).padStart(40, 'x')}`).get('/v1/me', { remoteAddress })

  const minute = () => [performance.now(), Date.now()].map((ms) => Math.floor(ms / 60_000)).join()

  it('after 600 unknown keys in a minute an address causes no more queries, while its valid keys work', async () => {
    const [seller, known] = [await app.seller(), await app.seller()]
    await until(
      'all of it was seen within one minute',
      async () => {
        const began = minute()
        await Promise.all(Array.from({ length: 600 }, tryKey))
        app.ctx.keys.drop()
        expect((await known.get('/v1/me', { remoteAddress })).status).toBe(200)
        await tryKey()

        // From here on a query for a key would wait.
        const locked = Promise.withResolvers<void>()
        const release = Promise.withResolvers<void>()
        const holding = app.ctx.begin(async (db) => {
          await db`lock table api_keys in access exclusive mode`
          locked.resolve()
          await release.promise
        })
        await locked.promise
        const responses = Promise.all(Array.from({ length: 50 }, tryKey))
        // At the end of the minute, or after a late signal, the cache must ask the database: then everything is tried
        // again.
        const isEarly = await Promise.race([responses.then(() => true), sleep(5_000, false)])
        release.resolve()
        await holding
        const statuses = (await responses).map(({ status }) => status)
        if (!isEarly || minute() !== began) return false
        expect(new Set(statuses)).toEqual(new Set([429]))

        expect((await seller.get('/v1/me', { remoteAddress })).status).toBe(200)
        const rotate = `/operator/v1/accounts/${seller.accountId}/keys/${seller.keyId}/rotate`
        const { body } = await app.operator.post(rotate)
        const rotated = app.withKey(body.key)
        expect((await rotated.get('/v1/me', { remoteAddress })).status).toBe(200)
        // The former secret works for another 24 hours.
        expect((await seller.get('/v1/me', { remoteAddress })).status).toBe(200)
        const made = await app.seller()
        expect((await made.get('/v1/me', { remoteAddress })).status).toBe(200)
        return true
      },
      60_000,
    )
  }, 180_000)
})
