import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that embedded databases choose and that the system gives out: they would take some before their use. */
const MIN_PORT = 15_000
/** Each worker of Vitest has a range of its own; the first one is for other programs. */
const RANGE = 1_000
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
