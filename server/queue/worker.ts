import type { Context } from '../context.ts'
import type { Signals, Topic } from '../database/signals.ts'

const POLL_INTERVAL_MS = 1_000
/** What can't be given back at a shutdown, as a picture that's being written, gets this long to finish. */
const STOP_TIMEOUT_MS = 10_000

/** What a worker does: it takes what is due in a table, piece by piece. */
export type Work<Piece> = {
  queue: Topic
  /** Pieces that one process is at, at a time. */
  hands: number
  /** At a shutdown, how long what is under way may go on before it's told to give up. */
  graceMs?: number
  /**
   * Takes what is due, at most so many pieces, so that no other process takes them, too. Called again, one call at a
   * time, until it takes none.
   */
  claim(most: number): Promise<Piece[]>
  /** Whether a look is worth it when a piece is finished. Always, unless it says otherwise. */
  looksAgain?(): boolean
  /**
   * @param stopping the process is about to end: what can't be finished at once is given back
   * @param look for a piece that makes room for others before it's finished
   */
  carryOut(piece: Piece, stopping: AbortSignal, look: () => void): Promise<void>
}

export type Worker = { stop(): Promise<void> }
export type WorkerOptions = { pollIntervalMs?: number }

/** Does the work as it becomes due, until it's told to stop. Woken or not, it looks by itself from time to time. */
export function startWorker<Piece>(
  ctx: Pick<Context, 'log'> & { signals: Signals },
  work: Work<Piece>,
  { pollIntervalMs = POLL_INTERVAL_MS }: WorkerOptions = {},
): Worker {
  const stopping = new AbortController()
  const crew = crewFor(ctx, work, stopping.signal)
  const unsubscribe = [ctx.signals.on(work.queue, crew.look), ctx.signals.on('time', crew.look)]
  const timer = setInterval(crew.look, pollIntervalMs).unref()
  crew.look()
  return {
    async stop() {
      for (const end of unsubscribe) end()
      clearInterval(timer)
      crew.takeNoMore()
      if (work.graceMs) await atMost(work.graceMs, crew.resting())
      stopping.abort()
      await atMost(STOP_TIMEOUT_MS, crew.resting())
    },
  }
}

/** Does all that is due now, and what becomes due meanwhile. */
export async function doDueWork<Piece>(
  ctx: Pick<Context, 'log'>,
  work: Work<Piece>,
): Promise<void> {
  const crew = crewFor(ctx, work, new AbortController().signal)
  crew.look()
  await crew.resting()
}

/**
 * One look at a time takes what the free hands can carry. Whoever calls for one meanwhile, or finishes a piece, is
 * answered by a single further look, however many they are.
 */
function crewFor<Piece>(
  { log }: Pick<Context, 'log'>,
  { queue, hands, claim, looksAgain = () => true, carryOut }: Work<Piece>,
  stopping: AbortSignal,
) {
  const busy = new Set<Promise<void>>()
  let looked: Promise<void> | undefined
  let isLooking = false
  let isCalled = false
  let leaving = false
  let troubled = false

  const look = () => {
    isCalled = true
    if (isLooking) return
    isLooking = true
    looked = takeWhatIsDue()
  }

  const takeWhatIsDue = async () => {
    try {
      while (isCalled && !leaving && busy.size < hands) {
        isCalled = false
        const pieces = await claim(hands - busy.size)
        troubled = false
        if (pieces.length > 0 && looksAgain()) isCalled = true
        for (const piece of pieces) begin(piece)
      }
    } catch (error) {
      complain(error)
    } finally {
      isLooking = false
    }
  }

  const begin = (piece: Piece) => {
    const hand = carryOut(piece, stopping, look).then(
      () => {
        busy.delete(hand)
        if (looksAgain()) look()
      },
      (error) => {
        busy.delete(hand)
        complain(error)
      },
    )
    busy.add(hand)
  }

  // The database is away, most likely: said once, and the next look is the timer's.
  const complain = (error: unknown) => {
    if (!troubled) log.error({ err: error, queue }, 'work has to wait: something is wrong')
    troubled = true
  }

  return {
    look,
    takeNoMore: () => {
      leaving = true
    },
    async resting() {
      while (isLooking || busy.size > 0) await Promise.all([looked, ...busy])
    },
  }
}

async function atMost(ms: number, done: Promise<void>): Promise<void> {
  const { promise: patience, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([done, patience])
  clearTimeout(timer)
}
