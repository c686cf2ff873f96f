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

/** A key that the other process has in memory. */
async function knownSeller() {
  const seller = await app.seller()
  const there = other.withKey(seller.key)
  expect((await there.get('/v1/me')).status).toBe(200)
  return { ...seller, there }
}

const revokeSilently = (keyId: number) =>
  app.ctx.db`update api_keys set revoked_at = ${app.ctx.now()} where id = ${keyId}`

const cutNoticesOf = async ({ ctx }: TestApp) => {
  const listening = await ctx.db`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query = 'listen cardstall'
  `
  expect(listening.length).toBeGreaterThan(0)
  await until('notices are lost', () => !ctx.notices.connected)
}

describe('the key cache', () => {
  it('answers for a known key without asking the database', async () => {
    const { key, keyId } = await knownSeller()
    await revokeSilently(keyId)
    // Nobody was told: the memory of this process is all there is.
    expect((await other.withKey(key).get('/v1/me')).status).toBe(200)
  })

  it('forgets a key that another process revoked', async () => {
    const { accountId, keyId, there } = await knownSeller()
    await app.operator.delete(`/operator/v1/accounts/${accountId}/keys/${keyId}`)
    await until('the key is refused', async () => (await there.get('/v1/me')).status === 401)
  })

  it('forgets an account that another process suspended', async () => {
    const { accountId, there } = await knownSeller()
    await app.operator.patch(`/operator/v1/accounts/${accountId}`, {
      payload: { api_access: 'suspended' },
    })
    await until('the account is refused', async () => (await there.get('/v1/me')).status === 403)
  })

  it('is bypassed while notices may be missed, and begins anew after that', async () => {
    const { keyId, there } = await knownSeller()
    await cutNoticesOf(other)
    await revokeSilently(keyId)
    expect((await there.get('/v1/me')).status).toBe(401)

    await until('notices are back', () => other.ctx.notices.connected)
    expect((await there.get('/v1/me')).status).toBe(401)
  })

  it('forgets what it knew before the notices were lost, even if nobody asked meanwhile', async () => {
    const { keyId, there } = await knownSeller()
    await cutNoticesOf(other)
    await revokeSilently(keyId)
    await until('notices are back', () => other.ctx.notices.connected)
    expect((await there.get('/v1/me')).status).toBe(401)
  })
})
