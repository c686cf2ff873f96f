import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ports of embedded databases (20,000 and above) and of outgoing connections: both could take a port before the
 * test uses it.
 */
const MIN_PORT = 15_000
/** One range for each worker of Vitest (`maxWorkers`); the first is for programs that run without Vitest. */
const RANGE = 1_000
/** `maxWorkers` + 1. */
const RANGES = 5

const first = MIN_PORT + (Number(process.env.VITEST_POOL_ID ?? 0) % RANGES) * RANGE
/** Random, because two runs on one machine would take the same ports. */
let next = randomInt(RANGE)

/** A free loopback port that no other test chooses before this one uses it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + next
    next = (next + 1) % RANGE
    const server = createServer()
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening')
      await once(server.close(), 'close')
      return port
    } catch {
      // The port is taken: try another.
    }
  }
}
