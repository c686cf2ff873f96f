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
 *
 * A seller's endpoints together get further deliveries only while they hold fewer than are free, so one busy seller holds
 * about half of the worker's slots, the next one half of the rest, and so on, until attempts end: then `n` busy sellers
 * get equal shares. A seller who holds none may always have INITIAL_CONCURRENCY.
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

type Claimed = Cursor & { endpointId: number; accountId: number }

type EndpointState = {
  accountId: number
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

/**
 * Limits the concurrent deliveries of each endpoint in this process.
 *
 * @param slots deliveries that the worker can hold
 */
export function endpointLimiter(slots: number): Limiter {
  let free = slots
  const states = new Map<number, EndpointState>()
  /** The number of deliveries that each account's endpoints hold. */
  const heldOfAccount = new Map<number, number>()
  /** The last claim found as many deliveries as it was allowed to take, so there are probably more. */
  const backlogged = new Set<EndpointState>()

  const newState = (accountId: number): EndpointState => ({
    accountId,
    concurrency: INITIAL_CONCURRENCY,
    attempting: 0,
    held: 0,
    waiting: [],
    isFast: false,
    cursor: undefined,
    lastUsedAt: 0,
  })

  const hold = (state: EndpointState, change: number) => {
    state.held += change
    free -= change
    const held = (heldOfAccount.get(state.accountId) ?? 0) + change
    if (held > 0) heldOfAccount.set(state.accountId, held)
    else heldOfAccount.delete(state.accountId)
  }

  /**
   * The number of deliveries that may be claimed. A fast endpoint gets none until half of those that it may hold have
   * finished, because small claims cost more than they bring.
   */
  const claimLimit = ({ accountId, concurrency, held, isFast }: EndpointState): number => {
    const heldByAll = heldOfAccount.get(accountId) ?? 0
    const share = heldByAll === 0 ? Math.max(free, INITIAL_CONCURRENCY) : free
    const quota = concurrency + (isFast ? PREFETCH : 0)
    const most = Math.min(quota, share - heldByAll + held)
    return isFast && held > most / 2 ? 0 : Math.max(0, most - held)
  }

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
        const state = states.get(id)!
        if (isFull || (byEndpoint.get(id)?.length ?? 0) === capacity.limits[i]) {
          backlogged.add(state)
        } else reachedEnd(state)
      }
      for (const [id, deliveries] of byEndpoint) {
        const isNew = !states.has(id)
        const { accountId } = deliveries[0]!
        const state = states.getOrInsertComputed(id, () => newState(accountId))
        if (isNew && (isFull || deliveries.length === INITIAL_CONCURRENCY)) backlogged.add(state)
        hold(state, deliveries.length)
        if (backlogged.has(state)) {
          state.cursor = { ...lastOf(deliveries), since: state.cursor?.since ?? performance.now() }
        }
      }
    },

    acquire(endpointId) {
      const state = states.get(endpointId)!
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
          else hold(state, -1)
          resolve(isPermitted)
        }
        state.waiting.push(decide)
      })
    },

    release(endpointId, outcome) {
      const state = states.get(endpointId)!
      state.attempting--
      hold(state, -1)
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
      hold(states.get(endpointId)!, -1)
    },

    returned(endpointId) {
      // Without a state, the endpoint's next claim starts at the beginning of its queue.
      const state = states.get(endpointId)
      if (!state) return
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

const lastOf = (claimed: Claimed[]): Cursor =>
  claimed.reduce((last, next) =>
    next.dueAt > last.dueAt || (next.dueAt.getTime() === last.dueAt.getTime() && next.id > last.id)
      ? next
      : last,
  )
