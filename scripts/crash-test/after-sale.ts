import { randomUUID } from 'node:crypto'
import type { Random } from '../random.ts'
import type { Client, Response } from './client.ts'
import type { Seller } from './market.ts'
import { OPERATOR_TOKEN } from './processes.ts'

/** A slice that a buyer has bought, with the status of each of its rows. */
export type Deal = { seller: Seller; sliceKey: string; rows: Map<number, string> }

/** A request to cancel an order row, also by the resolution of a dispute. */
export type Cancellation = { orderId: number; by: string; restock: boolean }

/** A partial refund that the service has confirmed. */
export type Refund = { orderId: number; cents: number; borneBy: 'seller' | 'platform' }

/** The clients' own record of their requests about orders. */
export type AfterSaleJournal = {
  /** The last request to cancel each order row. One whose requests overlap has the same content in all of them. */
  cancellations: Map<number, Cancellation>
  refunds: Refund[]
  /** Order rows whose review was accepted. */
  reviews: Set<number>
  /** Responses that must not occur. */
  violations: string[]
}

/** The steps that a row's status allows; a step that occurs more often is more likely. */
const STEPS = {
  pending: ['ship', 'ship', 'ship', 'ship', 'cancel', 'cancel as seller', 'refund', 'race'],
  shipped: ['receive', 'receive', 'receive', 'receive', 'cancel', 'dispute', 'refund', 'race'],
  received: ['refund', 'review', 'dispute'],
  disputed: [
    'answer',
    'resolve for seller',
    'resolve for buyer',
    'resolve with refund',
    'refund',
    'race',
  ],
} as const

type Status = keyof typeof STEPS
type Step = Exclude<(typeof STEPS)[Status][number], 'race'>

const CANCELLERS = ['buyer', 'seller', 'admin', 'system']

/**
 * Does a random step with a random row of a deal, and reads the deal again. Each deal belongs to one buyer, so only the
 * requests of a race overlap.
 *
 * @returns false if every row is cancelled
 */
export async function continueDeal(
  client: Client,
  journal: AfterSaleJournal,
  random: Random,
  deal: Deal,
): Promise<boolean> {
  const open = [...deal.rows].filter(([, status]) => status !== 'cancelled')
  if (open.length === 0) return false
  const [orderId, status] = random.pick(open)
  const step = random.pick<Step | 'race'>(STEPS[status as Status])
  const act = actions(client, journal, random, deal.seller, orderId)
  if (step === 'race') await race(act, status, random)
  else await act[step](status)
  await readDeal(client, deal)
  return true
}

type Actions = ReturnType<typeof actions>

/** Sends concurrent steps that exclude each other, or that compete for the same money. */
async function race(act: Actions, status: string, random: Random): Promise<void> {
  if (status === 'pending') {
    const cancel = random.pick([act.cancel, act['cancel as seller']])
    await Promise.all([act.ship('racing'), cancel('racing'), act.refund()])
  } else if (status === 'shipped') {
    await Promise.all([act.receive('racing'), act.dispute('racing'), act.refund()])
  } else {
    await Promise.all([
      act['resolve for seller']('racing'),
      act['resolve for buyer']('racing'),
      act['resolve with refund']('racing'),
      act.refund(),
    ])
  }
}

function actions(
  client: Client,
  journal: AfterSaleJournal,
  random: Random,
  seller: Seller,
  orderId: number,
) {
  const order = `/operator/v1/orders/${orderId}`
  const token = OPERATOR_TOKEN

  /** A failed attempt may have had its effect: the retry then conflicts. @returns whether the effect is certain */
  const post = async (
    path: string,
    request: { token: string; body?: object },
    { allowed = [] as number[] } = {},
  ): Promise<boolean> => {
    const response = await client.send('POST', path, request)
    const { status, text, failedAttempts } = response
    const isRepeated = status === 409 && failedAttempts > 0
    if (status >= 400 && !isRepeated && !allowed.includes(status)) {
      journal.violations.push(
        `POST ${path} ${JSON.stringify(request.body)} returned ${status}: ${text}`,
      )
    }
    return status < 400
  }
  /** Another step that happens at the same time may exclude this one. */
  const inRace = (status: string, ...allowed: number[]) => ({
    allowed: status === 'racing' ? [409, ...allowed] : allowed,
  })
  const cancellation = (by: string, restock: boolean) =>
    journal.cancellations.set(orderId, { orderId, by, restock })
  const cents = () => random.integer(1, 150)

  return {
    // 409: the seller's setup was rejected, or the label of a cancelled slice can't be used.
    ship: (status: string) => {
      const body = seller.hasLabels ? {} : { tracking_code: 'CRASH' }
      const isUnverified = seller.isRejected ? [409] : []
      return post(
        `/v1/orders/${orderId}/ship`,
        { token: seller.key, body },
        inRace(status, ...isUnverified),
      )
    },
    cancel: (status: string) => {
      const by = random.pick(CANCELLERS)
      const restock = random.chance(0.5)
      cancellation(by, restock)
      return post(`${order}/cancel`, { token, body: { cancelled_by: by, restock } }, inRace(status))
    },
    // 409: a label was bought, or is being bought.
    'cancel as seller': () => {
      const restock = random.chance(0.5)
      cancellation('seller', restock)
      return post(
        `/tools/v1/orders/${orderId}/cancel`,
        { token: seller.key, body: { reason: 'other', restock } },
        { allowed: [409] },
      )
    },
    receive: (status: string) => post(`${order}/receive`, { token }, inRace(status)),
    dispute: (status: string) =>
      post(
        `${order}/dispute`,
        { token, body: { reason: 'damaged', message: 'Look' } },
        inRace(status),
      ),
    // 409: it has already been answered.
    answer: () =>
      post(
        `/tools/v1/orders/${orderId}/dispute/answer`,
        { token: seller.key, body: { message: 'It was fine.' } },
        { allowed: [409] },
      ),
    'resolve for seller': (status: string) =>
      post(`${order}/resolve`, { token, body: { in_favour_of: 'seller' } }, inRace(status)),
    'resolve for buyer': (status: string) => {
      cancellation('admin', false)
      return post(`${order}/resolve`, { token, body: { in_favour_of: 'buyer' } }, inRace(status))
    },
    // 422: more than the rest of the price. The refund has no idempotency key, so its effect is read from the dispute.
    'resolve with refund': (status: string) =>
      post(`${order}/resolve`, { token, body: { refund: cents() / 100 } }, inRace(status, 422)),
    // 409: cancelled by a request of the same race, or of a seller whose response was lost.
    refund: async () => {
      const refund: Refund = {
        orderId,
        cents: cents(),
        borneBy: random.pick(['seller', 'seller', 'platform'] as const),
      }
      const { status, text }: Response = await client.send('POST', `${order}/refund`, {
        token,
        body: { amount: refund.cents / 100, reason: 'A scratch', borne_by: refund.borneBy },
        idempotencyKey: randomUUID(),
      })
      if (status === 200) journal.refunds.push(refund)
      else if (status !== 409 && status !== 422) {
        journal.violations.push(`The refund of order ${orderId} returned ${status}: ${text}`)
      }
      return status === 200
    },
    // 409: the slice has a review.
    review: async () => {
      const body = { stars: random.integer(1, 5), text: 'As described' }
      const isDone = await post(`${order}/review`, { token, body }, { allowed: [409] })
      if (isDone) journal.reviews.add(orderId)
      return isDone
    },
  } satisfies Record<Step, (status: string) => Promise<boolean>>
}

/** Reads the status of all rows of a deal. */
async function readDeal(client: Client, { seller, rows }: Deal): Promise<void> {
  const [orderId] = rows.keys()
  const { body } = await client.sendOk('GET', `/v1/orders/${orderId}`, { token: seller.key })
  for (const { id, status } of body.data.orders) rows.set(id, status)
}
