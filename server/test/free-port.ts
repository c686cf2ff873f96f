import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port nobody listens on, below those the system hands out by itself: they are gone again too easily. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer()
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening')
      await once(server.close(), 'close')
      return port
    } catch {
      // Taken: another one, then.
    }
  }
}
