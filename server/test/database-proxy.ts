import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './free-port.ts'
import { whenFileEnds } from './when-file-ends.ts'

/** A TCP relay in front of the test database, which can fail like a network or a server. */
export type DatabaseProxy = {
  /** The database's URL through the relay. */
  url: string
  /** The number of open connections. */
  readonly connections: number
  /** Resets every connection; new ones are accepted. */
  reset(): void
  /** Resets every connection and refuses new ones, as after a stop of the server. */
  refuse(): Promise<void>
  /** Accepts connections and passes no data, like a server that hangs. */
  freeze(): void
  /** Passes no more data on the open connections, like a firewall that has forgotten them; new ones work. */
  swallow(): void
  /** Ends `refuse`, `freeze` or `swallow`. */
  restore(): Promise<void>
}

/** Starts a relay on a free loopback port; it is closed when the test file ends. */
export async function databaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let isFrozen = false

  const relay = (client: Socket) => {
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

  const swallow = () => {
    for (const socket of sockets) socket.pause()
  }

  // Nobody else gets this port between `refuse` and `restore`.
  const port = await freePort()
  let listener: Server | undefined = await listen(port)
  const url = new URL(databaseUrl)
  url.search = ''
  url.host = `127.0.0.1:${port}`
  whenFileEnds(() => {
    listener?.close()
    reset()
  })

  return {
    url: url.href,
    get connections() {
      return sockets.size / 2
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
      swallow()
    },
    swallow,
    async restore() {
      isFrozen = false
      for (const socket of sockets) socket.resume()
      listener ??= await listen(port)
    },
  }
}
