import { type Carrier, CarrierError } from '../carriers/carrier.ts'
import type { Signals } from '../database/signals.ts'
import {
  doDueWork,
  startWorker,
  type Work,
  type Worker,
  type WorkerOptions,
} from '../queue/worker.ts'
import { askAgain, resolveDoubt, type ShippingContext } from './labels.ts'
import { claimPoll, type DuePoll, leavePoll, readShipment } from './shipments.ts'

/** Shipments that one process asks after at a time. */
const HANDS = 4

/**
 * Asks the carrier after labels and tracking codes that are to come, and after purchases that nobody knows the end of,
 * until it's told to stop. It shares the work with the workers of other processes.
 */
export const startCarrierPoll = (
  ctx: ShippingContext & { signals: Signals },
  options?: WorkerOptions,
): Worker => startWorker(ctx, pollWork(ctx), options)

/** Does all that is due now. */
export const runDuePolls = (ctx: ShippingContext): Promise<void> => doDueWork(ctx, pollWork(ctx))

const pollWork = (ctx: ShippingContext): Work<DuePoll> => ({
  queue: 'shipments',
  hands: HANDS,
  async claim() {
    const due = ctx.carrier && (await claimPoll(ctx, ctx.carrier.provider))
    return due ? [due] : []
  },
  carryOut: (due) => poll(ctx, ctx.carrier!, due),
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
