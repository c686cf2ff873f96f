import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, buy, openShop, PARCEL, ship } from '../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'

/** All transactions lock the account, then its payout setup, then its payouts, so that they cannot deadlock. */

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

/** A seller without a bank account of whom the bank has returned a payout. */
async function sellerWithFailedPayout() {
  const seller = await openShop(app, PARCEL)
  const [listing] = await list(seller, cardItem({ price: 10 }))
  const { orderIds } = await buy(app, [[listing!, 1]])
  const order = orderIds[0]!
  await ship(seller, order, { tracking_code: 'CODE' })
  await act(app, order, 'receive')
  await app.operator.post('/operator/v1/payout-runs')
  const url = `/operator/v1/payouts?account_id=${seller.accountId}`
  const payout: number = (await app.operator.get(url)).body.data[0].id
  await app.operator.post(`/operator/v1/payouts/${payout}/failed`, {
    payload: { reason: 'Closed' },
  })
  return { ...seller, order, payout }
}

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
