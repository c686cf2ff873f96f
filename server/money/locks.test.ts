import { beforeAll, expect, it } from 'vitest'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, buy, openShop, PARCEL, ship } from '../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'
import { confirmSetup, submitSetup } from './payout-setup.ts'

/** All transactions lock the account, then its payout setup, then its payouts, so that they cannot deadlock. */

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

/** A seller with a payout that was sent to this bank account, or to the test account. */
async function sellerWithSentPayout(iban?: string) {
  const seller = await openShop(app, PARCEL)
  if (iban !== undefined) await enter(app.ctx, seller.accountId, iban)
  const [listing] = await list(seller, cardItem({ price: 10 }))
  const { orderIds } = await buy(app, [[listing!, 1]])
  const order = orderIds[0]!
  await ship(seller, order, { tracking_code: 'CODE' })
  await act(app, order, 'receive')
  await app.operator.post('/operator/v1/payout-runs')
  const url = `/operator/v1/payouts?account_id=${seller.accountId}`
  const payout: number = (await app.operator.get(url)).body.data[0].id
  return { ...seller, order, payout }
}

/** A seller without a bank account of whom the bank has returned a payout. */
async function sellerWithFailedPayout() {
  const seller = await sellerWithSentPayout()
  await fail(seller.payout)
  return seller
}

const fail = (payout: number) =>
  app.operator.post(`/operator/v1/payouts/${payout}/failed`, { payload: { reason: 'Closed' } })

const enter = (ctx: Context, accountId: number, iban: string) =>
  submitSetup(ctx, accountId, { holder: 'Brock', iban, password: undefined }, async () => {})

const patch = (accountId: number, payload: object) =>
  app.operator.patch(`/operator/v1/accounts/${accountId}`, { payload })

const refund = (order: number) =>
  app.operator.post(`/operator/v1/orders/${order}/refund`, {
    payload: { amount: 1, reason: 'A scratch' },
  })

/** Makes two requests of which the second begins when the first waits for the payout. */
async function whilePayoutLocked(
  payout: number,
  ...[first, second]: (() => Promise<{ status: number }>)[]
): Promise<number[]> {
  const { responses } = await whileLocked(
    app.ctx,
    (db) => db`select from payouts where id = ${payout} for update`,
    async () => {
      const one = first!()
      await untilLockWaiters(app.ctx.db)
      const other = second!()
      await untilLockWaiters(app.ctx.db, 2)
      return { responses: [one, other] }
    },
  )
  return (await Promise.all(responses)).map(({ status }) => status)
}

it('a change of slug and payout verification does not deadlock with a refund of the account’s payout', async () => {
  const { accountId, order, payout } = await sellerWithFailedPayout()
  const slug = `renamed-${accountId}`
  const statuses = await whilePayoutLocked(
    payout,
    () => patch(accountId, { slug, payout_verified: true }),
    () => refund(order),
  )
  expect(statuses).toEqual([200, 200])
})

it('a failed payout that is marked as paid does not deadlock with a change of slug and payout verification', async () => {
  const { accountId, payout } = await sellerWithFailedPayout()
  const slug = `paid-${accountId}`
  const statuses = await whilePayoutLocked(
    payout,
    () => app.operator.post(`/operator/v1/payouts/${payout}/paid`, { payload: { outside: true } }),
    () => patch(accountId, { slug, payout_verified: true }),
  )
  expect(statuses).toEqual([200, 200])
})

it('a change of the payout verification does not deadlock with the seller’s first bank account in the sandbox', async () => {
  const { accountId, payout } = await sellerWithFailedPayout()
  const member = await app.member(accountId)
  const statuses = await whilePayoutLocked(
    payout,
    () =>
      member.put('/dashboard/api/payouts/setup', {
        payload: { holder: 'Brock', iban: 'NL91ABNA0417164300' },
      }),
    () => patch(accountId, { payout_verified: true }),
  )
  expect(statuses).toEqual([200, 200])
})

const FORMER = 'NL02ABNA0123456789'
const CHANGED = 'DE89370400440532013000'

/** Prepares a change of a bank account, and returns the step that makes it current. */
async function preparedChange(isSandbox: boolean, accountId: number) {
  if (isSandbox) return (ctx: Context) => enter(ctx, accountId, CHANGED)
  await enter({ ...app.ctx, config: { ...app.ctx.config, sandbox: false } }, accountId, CHANGED)
  const { body } = await app.operator.get('/operator/v1/sandbox/mail')
  const token = /\?confirm=(\w+)/.exec(body.data[0].text)![1]!
  return (ctx: Context) =>
    confirmSetup({ ...ctx, config: { ...ctx.config, sandbox: false } }, accountId, token)
}

const stateOf = async (payout: number) =>
  (await app.operator.get(`/operator/v1/payouts/${payout}`)).body.data.state

it.each([
  ['in the sandbox', FORMER, true],
  ['in the sandbox after a transfer to the test account', undefined, true],
  ['by a confirmation', FORMER, false],
] as const)(
  'a payout does not stay failed if the bank account changes at the same moment (%s)',
  async (_, former, isSandbox) => {
    const { accountId, payout } = await sellerWithSentPayout(former)
    const change = await preparedChange(isSandbox, accountId)
    let failing: Promise<{ status: number }> | undefined
    await inTransaction(app.ctx, async (tx) => {
      await change(tx)
      failing = fail(payout)
      await untilLockWaiters(app.ctx.db)
    })
    expect((await failing)?.status).toBe(200)
    expect(await stateOf(payout)).toBe(former === undefined ? 'due' : 'held')

    const other = await sellerWithSentPayout(former)
    const otherChange = await preparedChange(isSandbox, other.accountId)
    const [failed] = await whilePayoutLocked(
      other.payout,
      () => fail(other.payout),
      async () => {
        await inTransaction(app.ctx, otherChange)
        return { status: 200 }
      },
    )
    expect(failed).toBe(200)
    expect(await stateOf(other.payout)).toBe(former === undefined ? 'due' : 'held')
  },
)
