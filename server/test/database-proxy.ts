import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll } from 'vitest'

/** A TCP relay before the test database, which can fail as a network or a server does. */
export type DatabaseProxy = {
  /** The database's address by way of the relay. */
  url: string
  /** Connections open now. */
  readonly connections: number
  /** Connections taken so far. */
  readonly taken: number
  /** Cuts every connection with a reset; new ones are taken. */
  reset(): void
  /** As if the server had stopped: cuts every connection and refuses new ones. */
  refuse(): Promise<void>
  /** As if the server stood still: connections are taken, and nothing passes either way. */
  freeze(): void
  /** Ends `refuse` or `freeze`. */
  restore(): Promise<void>
}

const closers: (() => void)[] = []
afterAll(() => {
  for (const close of closers.splice(0)) close()
})

/** Starts a relay on a loopback port of its own; it's closed after the tests of the file. */
export async function databaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let isFrozen = false
  let taken = 0

  const relay = (client: Socket) => {
    taken++
    const server = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket)
      socket.on('data', (bytes) => other.write(bytes))
      socket.on('end', () => other.end())
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      if (isFrozen) socket.pause()
    }
  }
  const listen = async (port: number): Promise<Server> => {
    const server = createServer(relay).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  const reset = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }

  let listener: Server | undefined = await listen(0)
  const { port } = listener.address() as { port: number }
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`
  closers.push(() => {
    listener?.close()
    reset()
  })

  return {
    url: url.href,
    get connections() {
      return sockets.size / 2
    },
    get taken() {
      return taken
    },
    reset,
    async refuse() {
      const closed = listener && once(listener.close(), 'close')
      listener = undefined
      reset()
      await closed
    },
    freeze() {
      isFrozen = true
      for (const socket of sockets) socket.pause()
    },
    async restore() {
      isFrozen = false
      for (const socket of sockets) socket.resume()
      listener ??= await listen(port)
    },
  }
}
