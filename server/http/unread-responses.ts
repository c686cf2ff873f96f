import type { Server } from 'node:http'

/** A client is checked this often during the stall timeout. A pause of this process counts as one check. */
const CHECKS = 60
/** Above the limit of unsent bytes, a client may be closed that has read nothing during this number of checks. */
const CHECKS_ABOVE_LIMIT = 10

/** A connection with responses. */
export type Sender = {
  /** Bytes of its responses that the operating system has not taken yet. */
  readonly unsentBytes: number
  /** Whether the operating system refuses further bytes, because the client doesn't read. */
  readonly isBlocked: boolean
  /** Bytes that the operating system has taken since the connection was opened. */
  readonly takenBytes: number
  /** Closes the connection, and discards what the operating system has. */
  reset(): void
}

export type ReaderLimits = {
  /** Real time after which a connection whose client reads nothing of a response is closed. */
  stallTimeoutMs: number
  /** Maximum of all unsent bytes. Above it, the connections whose clients have read nothing for longest are closed. */
  maxUnsentBytes: number
}

/**
 * Bounds the time and memory of responses that their clients don't read. A client that reads slowly gets everything. All
 * connections are checked at an interval, so that a response that is sent at once costs nothing.
 */
export function limitUnread(
  server: Server,
  open: ReadonlySet<Sender>,
  { stallTimeoutMs, maxUnsentBytes }: ReaderLimits,
): void {
  /** The connections with unsent bytes, and for how many checks their clients have read nothing. */
  let known = new Map<Sender, { taken: number; idle: number }>()

  const check = () => {
    const former = known
    known = new Map()
    let unsent = 0
    for (const sender of open) {
      const { unsentBytes, takenBytes: taken } = sender
      if (unsentBytes === 0) continue
      const before = former.get(sender)
      const idle = before?.taken === taken ? before.idle + 1 : 0
      if (idle >= CHECKS && sender.isBlocked) {
        sender.reset()
        continue
      }
      known.set(sender, { taken, idle })
      unsent += unsentBytes
    }
    if (unsent > maxUnsentBytes) closeLongest(unsent)
  }

  const closeLongest = (unsent: number) => {
    const longest = [...known]
      .filter(([, { idle }]) => idle >= CHECKS_ABOVE_LIMIT)
      .sort(([, a], [, b]) => b.idle - a.idle)
    let left = unsent
    for (const [sender] of longest) {
      if (left <= maxUnsentBytes) return
      left -= sender.unsentBytes
      sender.reset()
    }
  }

  server.once('listening', () => {
    const checks = setInterval(check, Math.ceil(stallTimeoutMs / CHECKS)).unref()
    server.once('close', () => clearInterval(checks))
  })
}
