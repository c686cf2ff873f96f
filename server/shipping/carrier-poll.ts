import { type Carrier, CarrierError } from '../carriers/carrier.ts'
import type { Context } from '../context.ts'
import type { Signals } from '../database/signals.ts'
import {
  drainQueue,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { refreshShipment } from './labels.ts'
import { delayAfter, LATER_DELAY_MS } from './poll-schedule.ts'
import { LEASE_SECONDS, type Purchase, resolveDoubt, type ShippingContext } from './purchase.ts'
import { readShipment } from './shipments.ts'

const CONCURRENCY = 4

/** Polls the carrier for pending labels and tracking codes, and looks up purchases in doubt. */
export const startCarrierPoll = (
  ctx: ShippingContext & { signals: Signals },
  options?: WorkerOptions,
): Worker => startWorker(ctx, pollWork(ctx), options)

/** Makes every poll that is due now or becomes due meanwhile, then returns. */
export const runDuePolls = (ctx: ShippingContext): Promise<void> => drainQueue(ctx, pollWork(ctx))

const pollWork = (ctx: ShippingContext): Work<Poll> => ({
  queue: 'shipments',
  concurrency: CONCURRENCY,
  async claim() {
    const poll = ctx.carrier && (await claimPoll(ctx, ctx.carrier.provider))
    return poll ? [poll] : []
  },
  run: (poll) => runPoll(ctx, ctx.carrier!, poll),
})

/**
 * A claimed poll: of a purchase in doubt, or of a bought shipment. `isLast` is set once the schedule has ended. `lease` is
 * the end of the lease as text, because a `Date` would lose its microseconds.
 */
type Poll = { sliceId: number; purchase: Purchase | null; lease: string; isLast: boolean }

async function runPoll(
  ctx: ShippingContext,
  carrier: Carrier,
  { sliceId, purchase, lease, isLast }: Poll,
): Promise<void> {
  try {
    if (purchase) return await resolveDoubt(ctx, carrier, purchase, { isLast })
    const shipment = await readShipment(ctx, sliceId)
    await refreshShipment(ctx, carrier, shipment!, { isCalled: false })
  } catch (error) {
    if (!(error instanceof CarrierError)) throw error
    ctx.log.warn({ err: error, slice: sliceId }, 'cannot poll the carrier; retrying later')
  } finally {
    await releasePoll(ctx, sliceId, lease)
  }
}

/**
 * Claims the poll that has been due for longest. The claim schedules the next poll, so a poll that fails or dies with
 * its process needs no further handling.
 */
async function claimPoll({ db, now }: Context, provider: string): Promise<Poll | undefined> {
  const [due] = await db<
    {
      sliceId: number
      state: 'buying' | 'bought'
      polls: number
      attempt: number
      lease: string
      reference: string
      labelName: string
    }[]
  >`
    update shipments
    set
      polls = polls + 1,
      attempts = attempts + case state when 'buying' then 1 else 0 end,
      leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where slice_id = (
      select slice_id
      from shipments
      where
        poll_at <= ${now()}
        and provider = ${provider}
        and (leased_until is null or leased_until < clock_timestamp())
      order by poll_at, slice_id
      limit 1
      for update skip locked
    )
    returning
      slice_id as "sliceId",
      state,
      polls,
      attempts as attempt,
      leased_until::text as lease,
      reference,
      label_name as "labelName"
  `
  if (!due) return undefined
  const { sliceId, state, polls, attempt, lease, reference, labelName } = due
  const scheduled = delayAfter(polls)
  const isLast = scheduled === undefined
  // The carrier may not respond to the last poll. A purchase is polled until it is no longer in doubt.
  const delay = scheduled ?? (state === 'buying' ? LATER_DELAY_MS : undefined)
  const pollAt = delay === undefined ? null : new Date(now().getTime() + delay)
  await db`
    update shipments
    set poll_at = ${pollAt}
    where slice_id = ${sliceId} and attempts = ${attempt}
  `
  if (state === 'bought') return { sliceId, purchase: null, lease, isLast }
  return {
    sliceId,
    lease,
    isLast,
    purchase: {
      sliceId,
      attempt,
      reference,
      labelName,
      isInDoubt: true,
      schedule: { polls, pollAt },
      lines: 0,
    },
  }
}

/** Ends the lease of a claim, but not the lease of another process that has taken the poll over. */
async function releasePoll({ db }: Context, sliceId: number, lease: string): Promise<void> {
  await db`
    update shipments
    set leased_until = null
    where
      slice_id = ${sliceId}
      and state = 'bought'
      and leased_until = ${lease}::text::timestamptz
  `
}
