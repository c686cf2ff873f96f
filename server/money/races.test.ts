import { beforeAll, expect, it } from 'vitest'
import { findBookViolations } from '../../scripts/crash-test/money-checks.ts'
import type { Sql } from '../database/sql.ts'
import { testDatabase } from '../test/database.ts'
import { newHome } from '../test/embedded-homes.ts'
import { cardItem, NO_LIMITS } from '../test/fixtures/listings.ts'
import { ADDRESS, operatorOption, PARCEL } from '../test/fixtures/orders.ts'
import { type Service, startService, type TestResponse } from '../test/process.ts'

const TOKEN = 'a-token-for-the-races'
const SLICES = 8

/** Two processes on one database. */
let processes: [Service, Service]
let db: Sql
let key: string
let listing: number
beforeAll(async () => {
  const database = await testDatabase('fixture')
  db = database.db
  const settings = {
    ...NO_LIMITS,
    DATABASE_URL: database.url,
    DATA_DIR: newHome(),
    SANDBOX: 'true',
    OPERATOR_TOKEN: TOKEN,
    SECRET_KEY: 'a-secret-for-the-races',
  }
  const services = await Promise.all([startService(settings), startService(settings)])
  processes = [await services[0]!.ready(), await services[1]!.ready()]
  const account = await operate(0, 'accounts', {
    shop_name: 'Races',
    email: 'races@shops.example',
    payout_verified: true,
    api_access: 'enabled',
    shipping_options: [operatorOption(PARCEL)],
  })
  const scopes = ['listings:write', 'orders:read', 'orders:write']
  key = (await operate(0, `accounts/${account.body.data.id}/keys`, { scopes })).body.key
  const items = [cardItem({ price: 10, quantity: 999 })]
  const listed = await processes[0].call('POST', '/v1/listings', { token: key, body: { items } })
  listing = listed.body.results[0].listing.id
})

/** A request of the operator to one of the processes. */
const operate = (process: number, path: string, body?: object): Promise<TestResponse> =>
  processes[process % 2]!.call('POST', `/operator/v1/${path}`, {
    token: TOKEN,
    ...(body && { body }),
  })

const ship = (process: number, order: number) =>
  processes[process % 2]!.call('POST', `/v1/orders/${order}/ship`, {
    token: key,
    body: { tracking_code: 'CODE' },
  })

/** Sells slices with a quantity of two, and takes their rows to a status. */
async function sold(
  status: 'pending' | 'received' | 'disputed',
  { email = 'misty@buyers.example', slices = SLICES } = {},
) {
  return Promise.all(
    Array.from({ length: slices }, async (_, i) => {
      const { body } = await operate(i, 'checkouts', {
        buyer: { name: 'Misty', email },
        address: ADDRESS,
        lines: [{ listing_id: listing, quantity: 2 }],
      })
      const [order] = body.data.slices[0].order_ids as [number]
      if (status !== 'pending') {
        await ship(i, order)
        await operate(i, `orders/${order}/${status === 'received' ? 'receive' : 'dispute'}`)
      }
      return order
    }),
  )
}

const statuses = (responses: TestResponse[]) => responses.map(({ status }) => status)
const noViolations = async () => expect(await findBookViolations(db)).toEqual([])
const run = (process: number) => operate(process, 'payout-runs')

it('concurrent payout runs in two processes take each payout once', async () => {
  await sold('received')
  const runs = await Promise.all([run(0), run(1), run(0), run(1)])
  expect(runs.reduce((sum, { body }) => sum + body.data.count, 0)).toBe(SLICES)
  await noViolations()
})

it('a refund during a payout run in another process is in the payout or in the debt', async () => {
  const orders = await sold('received')
  const refunds = orders.map((order, i) =>
    operate(i, `orders/${order}/refund`, { amount: 1.23, reason: 'A scratch' }),
  )
  const done = await Promise.all([...refunds, run(0), run(1)])
  expect(new Set(statuses(done))).toEqual(new Set([200, 201]))
  await noViolations()
})

it('a row that is shipped in one process and cancelled in another ends cancelled and is refunded once', async () => {
  const orders = await sold('pending')
  const steps = await Promise.all(
    orders.flatMap((order, i) => [
      ship(i, order),
      operate(i + 1, `orders/${order}/cancel`, { cancelled_by: 'buyer' }),
    ]),
  )
  expect(statuses(steps.filter((_, i) => i % 2 === 1))).toEqual(orders.map(() => 200))
  await noViolations()
})

it('one of several concurrent resolutions and cancellations ends a dispute, and the books agree', async () => {
  const orders = await sold('disputed')
  const ends = await Promise.all(
    orders.map(async (order, i) => {
      const [seller, buyer, cancel] = await Promise.all([
        operate(i, `orders/${order}/resolve`, { refund: 2.5 }),
        operate(i + 1, `orders/${order}/resolve`, { in_favour_of: 'buyer' }),
        operate(i, `orders/${order}/cancel`, { cancelled_by: 'admin' }),
        operate(i + 1, `orders/${order}/refund`, { amount: 3, reason: 'A scratch' }),
        run(i),
      ])
      return statuses([seller!, buyer!, cancel!])
    }),
  )
  for (const end of ends) expect(end.toSorted()).toEqual([200, 409, 409])
  await noViolations()
})

it('no text of a buyer remains if they are erased in one process while their review arrives in another', async () => {
  const buyers = Array.from({ length: SLICES }, (_, i) => `erased-${i}@buyers.example`)
  const reviewed = await Promise.all(
    buyers.map(async (email, i) => {
      const [order] = await sold('received', { email, slices: 1 })
      const review = (process: number) =>
        operate(process, `orders/${order}/review`, { stars: 5, text: 'I am Misty' })
      const erase = () => operate(i, 'buyers/erase', { email })
      if (i % 2) await Promise.all([erase(), review(i + 1)])
      else await Promise.all([review(i + 1), erase()])
      const dispute = await operate(i, `orders/${order}/dispute`, { message: 'I am Misty' })
      return statuses([await review(i), dispute])
    }),
  )
  expect(reviewed).toEqual(buyers.map(() => [409, 409]))
  expect(await db`select from reviews where text is not null`).toEqual([])
  await noViolations()
})
