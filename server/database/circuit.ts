import { DatabaseUnavailable } from './unavailable.ts'

/**
 * Knows whether the database is away. While it is, statements fail at once, and short visits on connections of their
 * own find out when it's back: nothing has to wait for a client's growing pauses between its attempts.
 */
export type Circuit = {
  /** Why the database is taken for away; undefined while it isn't. */
  readonly away: DatabaseUnavailable | undefined
  /** A connection failed while no other one works. */
  failed(error: unknown): void
  /**
   * Something waits for long. Unless anything else was answered lately the database is visited; it's away if it doesn't
   * answer the visit either.
   */
  suspect(): void
  /** The database has answered, whatever it was. */
  answered(): void
  /** Calls `heard` when the database goes away. */
  on(heard: (away: DatabaseUnavailable) => void): void
  close(): void
}

export type CircuitTimes = {
  /** Between two visits while the database is away. */
  visitEveryMs: number
  /** A database that has said nothing for so long, although something waits, may be away. */
  silenceMs: number
  /** How long it has to answer the visit then. */
  timeoutMs: number
}

export const CIRCUIT_TIMES: CircuitTimes = {
  visitEveryMs: 300,
  silenceMs: 2_000,
  timeoutMs: 3_000,
}

/** A frozen server takes connections and says nothing on them: further visits are made beside those. */
const MAX_VISITS = 10

const TOO_MANY_CONNECTIONS = '53300'

/** One visit: resolves when the database has answered. */
type Visit = { answer: Promise<unknown>; end(): void }

export function openCircuit(
  visit: () => Visit,
  { visitEveryMs, silenceMs, timeoutMs }: CircuitTimes = CIRCUIT_TIMES,
): Circuit {
  const visits = new Set<Visit>()
  const listeners: ((away: DatabaseUnavailable) => void)[] = []
  let away: DatabaseUnavailable | undefined
  let timer: NodeJS.Timeout | undefined
  let suspicion: NodeJS.Timeout | undefined
  let answeredAt = performance.now()
  let isClosed = false

  const makeVisit = () => {
    if (visits.size >= MAX_VISITS) return
    const made = visit()
    visits.add(made)
    made.answer
      .then(
        () => answered(),
        (error) => {
          if (!suspicion) return
          // A server that has no room for a visitor is there.
          if (error?.code === TOO_MANY_CONNECTIONS) answered()
          else failed(error)
        },
      )
      .finally(() => {
        visits.delete(made)
        made.end()
      })
  }
  const visitAgain = () => {
    timer = setTimeout(() => {
      makeVisit()
      visitAgain()
    }, visitEveryMs)
    timer.unref()
  }
  const failed = (cause: unknown) => {
    if (isClosed || away) return
    clearTimeout(suspicion)
    suspicion = undefined
    away = new DatabaseUnavailable('The database is away.', { cause })
    for (const heard of listeners) heard(away)
    visitAgain()
  }
  const rest = () => {
    clearTimeout(timer)
    clearTimeout(suspicion)
    suspicion = undefined
    for (const made of visits) made.end()
  }
  const answered = () => {
    answeredAt = performance.now()
    if (!away && !suspicion) return
    away = undefined
    rest()
  }

  return {
    get away() {
      return away
    },
    failed,
    suspect() {
      if (isClosed || away || suspicion || performance.now() - answeredAt < silenceMs) return
      suspicion = setTimeout(() => failed(new Error('The database does not answer.')), timeoutMs)
      suspicion.unref()
      makeVisit()
    },
    answered,
    on(heard) {
      listeners.push(heard)
    },
    close() {
      isClosed = true
      rest()
    },
  }
}
