import { once } from 'node:events'
import { createServer } from 'node:net'

/** A free loopback port below the ephemeral range: the system could give an ephemeral one to another process at once. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
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
