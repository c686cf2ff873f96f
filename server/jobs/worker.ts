import type { Context } from '../context.ts'
import { gate } from '../gate.ts'
import type { Queue } from './wakes.ts'

const LOOK_EVERY_MS = 1_000
/** What can't be given back at a shutdown, as a picture that's being written, gets this long to finish. */
const STOP_PATIENCE_MS = 10_000

/** What a worker does: it takes what is due in a table, piece by piece. */
export type Work<Piece> = {
  queue: Queue
  /** Pieces that one process is at, at a time. */
  hands: number
  /** At a shutdown, how long what is under way may go on before it's told to give up. */
  graceMs?: number
  /** Takes one piece, if one is due, so that no other process takes it, too. */
  claim(): Promise<Piece | undefined>
  /** @param stopping the process is about to end: what can't be finished at once is given back */
  carryOut(piece: Piece, stopping: AbortSignal): Promise<void>
}

export type Worker = { stop(): Promise<void> }
export type WorkerOptions = { lookEveryMs?: number }

/** Does the work as it becomes due, until it's told to stop. Woken or not, it looks by itself from time to time. */
export function startWorker<Piece>(
  ctx: Pick<Context, 'log' | 'wakes'>,
  work: Work<Piece>,
  { lookEveryMs = LOOK_EVERY_MS }: WorkerOptions = {},
): Worker {
  const stopping = new AbortController()
  const hands = handsOf(ctx, work, stopping.signal)
  const deafen = ctx.wakes.on(work.queue, hands.call)
  const timer = setInterval(hands.call, lookEveryMs).unref()
  hands.call()
  return {
    async stop() {
      deafen()
      clearInterval(timer)
      hands.takeNoMore()
      if (work.graceMs) await atMost(work.graceMs, hands.resting())
      stopping.abort()
      await atMost(STOP_PATIENCE_MS, hands.resting())
    },
  }
}

/** Does all that is due now, and what becomes due meanwhile. */
export async function doDueWork<Piece>(
  ctx: Pick<Context, 'log'>,
  work: Work<Piece>,
): Promise<void> {
  const hands = handsOf(ctx, work, new AbortController().signal)
  hands.call()
  await hands.resting()
}

/** A hand takes piece after piece until none is due. One that finds a piece calls the next, so that idle ones cost a
 * single look. */
function handsOf<Piece>(
  { log }: Pick<Context, 'log'>,
  { queue, hands, claim, carryOut }: Work<Piece>,
  stopping: AbortSignal,
) {
  const busy = new Set<Promise<void>>()
  const oneAtATime = gate(1)
  let leaving = false
  let troubled = false

  const call = () => {
    if (leaving || busy.size === hands) return
    const hand = work().finally(() => busy.delete(hand))
    busy.add(hand)
  }

  const work = async () => {
    try {
      while (!leaving) {
        const piece = await oneAtATime(claim)
        troubled = false
        if (piece === undefined) return
        call()
        await carryOut(piece, stopping)
      }
    } catch (error) {
      // The database is away, most likely: said once, not every second.
      if (!troubled) log.error({ err: error, queue }, 'work has to wait: something is wrong')
      troubled = true
    }
  }

  return {
    call,
    takeNoMore: () => {
      leaving = true
    },
    async resting() {
      while (busy.size > 0) await Promise.all(busy)
    },
  }
}

async function atMost(ms: number, done: Promise<void>): Promise<void> {
  const { promise: patience, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([done, patience])
  clearTimeout(timer)
}
