import { expect, it } from 'vitest'
import { submitSetup } from '../money/payout-setup.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { subscribe } from '../test/fakes/receiver.ts'
import { cardItem, list } from '../test/fixtures/listings.ts'
import { act, buy, openShop, ship } from '../test/fixtures/orders.ts'
import { requireSecretKey } from './require-secret-key.ts'

/** Two services on one new database, whose SECRET_KEYs differ. */
async function twoServices(settings: Record<string, string> = {}) {
  const app = await startTestApp({ template: 'fixture', settings })
  const other = await startTestApp({
    databaseUrl: app.databaseUrl,
    settings: { ...settings, SECRET_KEY: 'another-key-for-tests-of-this-service' },
  })
  return { app, other }
}

it('outside the sandbox, of two services that start first on a database with different SECRET_KEYs, one is refused, until the key is changed', async () => {
  const { app, other } = await twoServices()
  for (const { ctx } of [app, other]) ctx.config.sandbox = false
  const start = ({ ctx }: TestApp) => requireSecretKey(ctx)
  const started = await Promise.allSettled([start(app), start(other)])
  expect(started.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const [first, second] = started[0].status === 'fulfilled' ? [app, other] : [other, app]
  await start(first)
  await expect(start(second)).rejects.toThrow(
    /^SECRET_KEY is not the key with which a service has started on this database before\./,
  )
  await app.ctx.db`update clock set key_check = null`
  await start(second)
  await expect(start(first)).rejects.toThrow()
})

it('a service does not start with a SECRET_KEY that cannot read the stored endpoint secrets', async () => {
  const { app, other } = await twoServices()
  await subscribe(await app.seller(), 'https://shop.example/hooks')
  await requireSecretKey(app.ctx)
  await expect(requireSecretKey(other.ctx)).rejects.toThrow(
    /^SECRET_KEY is not the key that the webhook secrets in this database were encrypted with/,
  )
})

const BANK_ACCOUNTS =
  /^SECRET_KEY is not the key that the bank accounts in this database were encrypted with/

it('a service does not start with a SECRET_KEY that cannot read the bank accounts of sellers', async () => {
  const { app, other } = await twoServices()
  const { accountId } = await app.seller()
  const wanted = { holder: 'Kanto Cards', iban: 'NL02 ABNA 0123 4567 89', password: undefined }
  await submitSetup(app.ctx, accountId, wanted, async () => {})
  await requireSecretKey(app.ctx)
  await expect(requireSecretKey(other.ctx)).rejects.toThrow(BANK_ACCOUNTS)
})

it('a service does not start with a SECRET_KEY that cannot read a bank account that the seller has yet to confirm', async () => {
  const { app, other } = await twoServices()
  const { accountId } = await app.seller()
  const wanted = { holder: 'Kanto Cards', iban: 'NL02 ABNA 0123 4567 89', password: undefined }
  app.ctx.config.sandbox = false
  await submitSetup(app.ctx, accountId, wanted, async () => {})
  await requireSecretKey(app.ctx)
  await expect(requireSecretKey(other.ctx)).rejects.toThrow(BANK_ACCOUNTS)
})

it('a service does not start with a SECRET_KEY that cannot read the transfers of earlier payout runs', async () => {
  const { app, other } = await twoServices()
  const seller = await openShop(app)
  const [listing] = await list(seller, cardItem())
  const { orderIds } = await buy(app, [[listing!, 1]])
  await ship(seller, orderIds[0]!, { tracking_code: 'CODE' })
  await act(app, orderIds[0]!, 'receive')
  expect((await app.operator.post('/operator/v1/payout-runs')).body.data.count).toBe(1)
  await requireSecretKey(app.ctx)
  await expect(requireSecretKey(other.ctx)).rejects.toThrow(BANK_ACCOUNTS)
})
