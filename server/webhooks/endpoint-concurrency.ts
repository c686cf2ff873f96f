/** Concurrent attempts that one process makes at an endpoint: at first and after a failure, and at most. */
export const INITIAL_CONCURRENCY = 2
export const MAX_CONCURRENCY = 32
/** Deliveries that are claimed ahead for a fast endpoint: a claim for a few would cost more than sending them. */
const PREFETCH = 224
/** Real time. A delivery that waits for longer is returned: another process may have capacity for it. */
const MAX_WAIT_MS = 1_000
/** Real time. A queue is then read from its beginning again: deliveries may have been returned to it. */
const RESCAN_INTERVAL_MS = 1_000
/** Real time. The state of an endpoint without claimed deliveries is kept for this long. */
const IDLE_TTL_MS = 10_000

/**
 * Limits the concurrent attempts at each endpoint, in this process. The limit starts at INITIAL_CONCURRENCY, grows by
 * one with each success, and falls back after a failure. An endpoint that never responds therefore occupies two of the
 * worker's deliveries, however long its queue is, and a small shop is not flooded.
 */
export type Limiter = {
  /** The number of deliveries of each endpoint that may be claimed; INITIAL_CONCURRENCY if the endpoint isn't listed. */
  capacity(): Capacity
  /** The same, restricted to endpoints that have capacity and probably a backlog. */
  backlogCapacity(): Capacity
  /** Whether an endpoint has capacity and probably a backlog. */
  hasBacklogCapacity(): boolean
  /**
   * Records a claim.
   *
   * @param capacity what the claim was given
   * @param isFull whether the claim reached its own limit, so that any endpoint may have more due deliveries
   */
  recordClaim(claimed: Claimed[], capacity: Capacity, isFull: boolean): void
  /**
   * Waits until the endpoint's limit permits another attempt.
   *
   * @returns false if the delivery has to be returned to the queue instead
   */
  acquire(endpointId: number): Promise<boolean>
  /** Ends an attempt that `acquire` permitted. */
  release(endpointId: number, outcome: 'delivered' | 'failed' | 'not attempted'): void
  /** Records that a claimed delivery ended without an attempt. */
  skip(endpointId: number): void
  /** Records that a delivery for which `acquire` returned false is in the queue again. */
  returned(endpointId: number): void
  /** Makes every waiting `acquire` return false, because an endpoint was disabled or deleted. */
  returnAll(): void
}

/** Parallel lists, as the claim's statement binds them. */
export type Capacity = {
  endpointIds: number[]
  /** Deliveries that may be claimed. */
  limits: number[]
  /** The claim continues after this delivery. */
  cursors: (Cursor | undefined)[]
}

/** A position in an endpoint's queue, which is in this order. */
export type Cursor = { dueAt: Date; id: number }

type Claimed = Cursor & { endpointId: number }

type EndpointState = {
  /** The current limit of concurrent attempts. */
  concurrency: number
  attempting: number
  /** Claimed deliveries that have not ended: those that are attempted and those that wait. */
  held: number
  waiting: ((isPermitted: boolean) => void)[]
  /** It has reached MAX_CONCURRENCY and keeps up with what is prefetched. */
  isFast: boolean
  /** The end of the last claim. Index entries of delivered rows lie before it, and each claim would walk over them. */
  cursor: (Cursor & { since: number }) | undefined
  lastUsedAt: number
}

/** Limits the concurrent deliveries of each endpoint in this process. */
export function endpointLimiter(): Limiter {
  const states = new Map<number, EndpointState>()
  /** The last claim found as many deliveries as it was allowed to take, so there are probably more. */
  const backlogged = new Set<EndpointState>()

  const newState = (): EndpointState => ({
    concurrency: INITIAL_CONCURRENCY,
    attempting: 0,
    held: 0,
    waiting: [],
    isFast: false,
    cursor: undefined,
    lastUsedAt: 0,
  })
  const stateOf = (endpointId: number) => states.getOrInsertComputed(endpointId, newState)

  const forgetIdle = () => {
    const before = performance.now() - IDLE_TTL_MS
    for (const [id, state] of states) {
      if (state.held > 0 || state.lastUsedAt >= before) continue
      states.delete(id)
      backlogged.delete(state)
    }
  }

  const reachedEnd = (state: EndpointState) => {
    backlogged.delete(state)
    state.cursor = undefined
  }

  const capacityOf = (entries: [number, EndpointState][]): Capacity => {
    const before = performance.now() - RESCAN_INTERVAL_MS
    for (const [, state] of entries) {
      if (state.cursor && state.cursor.since < before) state.cursor = undefined
    }
    return {
      endpointIds: entries.map(([id]) => id),
      limits: entries.map(([, state]) => claimLimit(state)),
      cursors: entries.map(([, { cursor }]) => cursor),
    }
  }

  return {
    capacity() {
      forgetIdle()
      return capacityOf([...states])
    },

    backlogCapacity() {
      return capacityOf(
        [...states].filter(([, state]) => backlogged.has(state) && claimLimit(state) > 0),
      )
    },

    hasBacklogCapacity() {
      for (const state of backlogged) if (claimLimit(state) > 0) return true
      return false
    },

    recordClaim(claimed, capacity, isFull) {
      const byEndpoint = Map.groupBy(claimed, ({ endpointId }) => endpointId)
      for (const [i, id] of capacity.endpointIds.entries()) {
        const state = stateOf(id)
        if (isFull || (byEndpoint.get(id)?.length ?? 0) === capacity.limits[i]) {
          backlogged.add(state)
        } else reachedEnd(state)
      }
      for (const [id, deliveries] of byEndpoint) {
        const isNew = !states.has(id)
        const state = stateOf(id)
        if (isNew && (isFull || deliveries.length === INITIAL_CONCURRENCY)) backlogged.add(state)
        state.held += deliveries.length
        if (backlogged.has(state)) {
          state.cursor = { ...lastOf(deliveries), since: state.cursor?.since ?? performance.now() }
        }
      }
    },

    acquire(endpointId) {
      const state = stateOf(endpointId)
      if (state.attempting < state.concurrency) {
        state.attempting++
        return Promise.resolve(true)
      }
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          // It doesn't keep up, so nothing more is prefetched for it.
          state.isFast = false
          state.waiting = state.waiting.filter((waiter) => waiter !== decide)
          decide(false)
        }, MAX_WAIT_MS)
        const decide = (isPermitted: boolean) => {
          clearTimeout(timer)
          if (isPermitted) state.attempting++
          else state.held--
          resolve(isPermitted)
        }
        state.waiting.push(decide)
      })
    },

    release(endpointId, outcome) {
      const state = states.get(endpointId)!
      state.attempting--
      state.held--
      state.lastUsedAt = performance.now()
      if (outcome === 'delivered') {
        state.concurrency = Math.min(state.concurrency + 1, MAX_CONCURRENCY)
        state.isFast = state.concurrency === MAX_CONCURRENCY
      }
      if (outcome === 'failed') {
        state.concurrency = INITIAL_CONCURRENCY
        state.isFast = false
        for (const decide of state.waiting.splice(0)) decide(false)
      }
      while (state.attempting < state.concurrency && state.waiting.length > 0) {
        state.waiting.shift()!(true)
      }
    },

    skip(endpointId) {
      stateOf(endpointId).held--
    },

    returned(endpointId) {
      const state = stateOf(endpointId)
      state.cursor = undefined
      backlogged.add(state)
    },

    returnAll() {
      for (const { waiting } of states.values()) {
        for (const decide of waiting.splice(0)) decide(false)
      }
    },
  }
}

/**
 * The number of deliveries that may be claimed. A fast endpoint gets none until half of its quota has finished, because
 * small claims cost more than they bring.
 */
function claimLimit({ concurrency, held, isFast }: EndpointState): number {
  if (!isFast) return Math.max(concurrency - held, 0)
  const quota = concurrency + PREFETCH
  return held <= quota / 2 ? quota - held : 0
}

const lastOf = (claimed: Claimed[]): Cursor =>
  claimed.reduce((last, next) =>
    next.dueAt > last.dueAt || (next.dueAt.getTime() === last.dueAt.getTime() && next.id > last.id)
      ? next
      : last,
  )
