import { type Carrier, CarrierError } from '../carriers/carrier.ts'
import type { Signals } from '../database/signals.ts'
import {
  drainQueue,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { askAgain, resolveDoubt, type ShippingContext } from './labels.ts'
import { claimPoll, type DuePoll, leavePoll, readShipment } from './shipments.ts'

const CONCURRENCY = 4

/** Polls the carrier for pending labels and tracking codes, and looks up purchases in doubt. */
export const startCarrierPoll = (
  ctx: ShippingContext & { signals: Signals },
  options?: WorkerOptions,
): Worker => startWorker(ctx, pollWork(ctx), options)

/** Makes every poll that is due now or becomes due meanwhile, then returns. */
export const runDuePolls = (ctx: ShippingContext): Promise<void> => drainQueue(ctx, pollWork(ctx))

const pollWork = (ctx: ShippingContext): Work<DuePoll> => ({
  queue: 'shipments',
  concurrency: CONCURRENCY,
  async claim() {
    const due = ctx.carrier && (await claimPoll(ctx, ctx.carrier.provider))
    return due ? [due] : []
  },
  run: (due) => poll(ctx, ctx.carrier!, due),
})

async function poll(ctx: ShippingContext, carrier: Carrier, due: DuePoll): Promise<void> {
  try {
    if (due.purchase) return await resolveDoubt(ctx, carrier, due.purchase)
    const shipment = await readShipment(ctx, due.sliceId)
    await askAgain(ctx, carrier, shipment!)
  } catch (error) {
    if (!(error instanceof CarrierError)) throw error
    ctx.log.warn({ err: error, slice: due.sliceId }, 'the carrier could not be asked')
  } finally {
    await leavePoll(ctx, due)
  }
}
