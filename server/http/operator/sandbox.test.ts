import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { until } from '../../test/until.ts'

const CLOCK = '/operator/v1/sandbox/clock'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

const now = async (of: TestApp = app) => Date.parse((await of.operator.get(CLOCK)).body.data.now)
const advance = (seconds: unknown) =>
  app.operator.post(CLOCK, { payload: { advance_seconds: seconds } })

describe('the sandbox’s clock', () => {
  it('is the real one until somebody moves it, and then goes on from there', async () => {
    expect(Math.abs((await now()) - Date.now())).toBeLessThan(5_000)
    const before = await now()
    const { status, body } = await advance(3_600)
    expect(status).toBe(200)
    expect(Date.parse(body.data.now) - before).toBeGreaterThanOrEqual(3_600_000)
    expect((await now()) - before).toBeLessThan(3_605_000)
  })

  it('moves the time of every fact', async () => {
    const { body } = await advance(86_400)
    const made = await app.operator.post('/operator/v1/accounts', {
      payload: { shop_name: 'Later', email: 'later@mail.example' },
    })
    const apart = Date.parse(made.body.data.created_at) - Date.parse(body.data.now)
    expect(apart).toBeGreaterThanOrEqual(0)
    expect(apart).toBeLessThan(5_000)
  })

  it('moves in every process, and is still moved after a restart', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl })
    expect(Math.abs((await now(other)) - (await now()))).toBeLessThanOrEqual(1_000)
    await advance(7_200)
    await until('the other clock follows', async () => (await now()) - (await now(other)) <= 1_000)
  })

  it('never goes back', async () => {
    for (const seconds of [-1, 1.5, '60', null]) {
      expect((await advance(seconds)).status).toBe(422)
    }
    expect((await advance(0)).status).toBe(200)
  })

  it('is not there outside the sandbox', async () => {
    const real = await startTestApp({ settings: { SANDBOX: 'false' } })
    expect((await real.operator.get(CLOCK)).status).toBe(404)
    expect((await real.operator.post(CLOCK, { payload: { advance_seconds: 1 } })).status).toBe(404)
  })
})
