import { DatabaseUnavailable, TOO_MANY_CONNECTIONS } from './unavailable.ts'

/**
 * A circuit breaker for the database. While it is open, statements fail at once, and probes on connections of their
 * own detect when the database responds again, so that nothing waits for the client's growing reconnect delays.
 */
export type Circuit = {
  /** The reason while the circuit is open; undefined while it is closed. */
  readonly unavailable: DatabaseUnavailable | undefined
  /** Reports a failed connection while no other connection works: opens the circuit. */
  failed(error: unknown): void
  /** Reports a statement that waits for long. Unless the database has responded recently, a probe decides. */
  suspect(): void
  /** Reports a response of the database, even an error: closes the circuit. */
  answered(): void
  /** Calls `listener` each time the circuit opens. */
  onOpen(listener: (reason: DatabaseUnavailable) => void): void
  /** Calls `listener` each time the circuit closes again, with the time in milliseconds for which it was open. */
  onClose(listener: (openMs: number) => void): void
  close(): void
}

export type CircuitTimes = {
  /** Time between two probes while the circuit is open. */
  probeIntervalMs: number
  /** A suspicion within this time of the last response is ignored. */
  silenceMs: number
  /** Time limit of the probe that follows a suspicion. */
  timeoutMs: number
}

const CIRCUIT_TIMES: CircuitTimes = {
  probeIntervalMs: 300,
  silenceMs: 2_000,
  timeoutMs: 3_000,
}

/** A frozen server accepts connections and never responds on them: new probes run in addition to those. */
const MAX_PROBES = 10

/** One attempt to reach the database: `answer` resolves when it has responded. */
type Probe = { answer: Promise<unknown>; end(): void }

/** Creates a closed circuit. @param startProbe connects to the database and sends a statement */
export function createCircuit(
  startProbe: () => Probe,
  { probeIntervalMs, silenceMs, timeoutMs }: CircuitTimes = CIRCUIT_TIMES,
): Circuit {
  const probes = new Set<Probe>()
  const openListeners: ((reason: DatabaseUnavailable) => void)[] = []
  const closeListeners: ((openMs: number) => void)[] = []
  let openedAt = 0
  let unavailable: DatabaseUnavailable | undefined
  let timer: NodeJS.Timeout | undefined
  let suspicion: NodeJS.Timeout | undefined
  let answeredAt = performance.now()
  let isClosed = false

  const sendProbe = () => {
    if (probes.size >= MAX_PROBES) return
    const probe = startProbe()
    probes.add(probe)
    probe.answer
      .then(
        () => answered(),
        (error) => {
          if (!suspicion) return
          // A server that refuses the probe for lack of connections is up.
          if (error?.code === TOO_MANY_CONNECTIONS) answered()
          else failed(error)
        },
      )
      .finally(() => {
        probes.delete(probe)
        probe.end()
      })
  }
  const scheduleProbe = () => {
    timer = setTimeout(() => {
      sendProbe()
      scheduleProbe()
    }, probeIntervalMs)
    timer.unref()
  }
  const failed = (cause: unknown) => {
    if (isClosed || unavailable) return
    clearTimeout(suspicion)
    suspicion = undefined
    unavailable = new DatabaseUnavailable('The database is unavailable.', { cause })
    openedAt = performance.now()
    for (const listener of openListeners) listener(unavailable)
    scheduleProbe()
  }
  const stopProbing = () => {
    clearTimeout(timer)
    clearTimeout(suspicion)
    suspicion = undefined
    for (const probe of probes) probe.end()
  }
  const answered = () => {
    answeredAt = performance.now()
    if (!unavailable && !suspicion) return
    const wasOpen = unavailable !== undefined
    unavailable = undefined
    stopProbing()
    if (wasOpen) for (const listener of closeListeners) listener(answeredAt - openedAt)
  }

  return {
    get unavailable() {
      return unavailable
    },
    failed,
    suspect() {
      const isRecent = performance.now() - answeredAt < silenceMs
      if (isClosed || unavailable || suspicion || isRecent) return
      suspicion = setTimeout(() => failed(new Error('The database does not respond.')), timeoutMs)
      suspicion.unref()
      sendProbe()
    },
    answered,
    onOpen: (listener) => void openListeners.push(listener),
    onClose: (listener) => void closeListeners.push(listener),
    close() {
      isClosed = true
      stopProbing()
    },
  }
}
