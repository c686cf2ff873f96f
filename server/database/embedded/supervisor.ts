import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from './session.ts'

const ATTEMPTS = 3
const BETWEEN_ATTEMPTS_MS = 500

export type Supervisor = {
  /** The current server; a new one after each restart. */
  readonly server: Server
  /** Resolves when the server could not be restarted. */
  failed: Promise<Error>
  stop(): void
}

/** Steps of a supervisor when a server may have died. */
type Remedy = {
  /** Undefined if another process held the lock all the time, because it is restarting the server too. */
  lock(): Promise<(() => void) | undefined>
  /** The running server, with this process as its user. Waits while it recovers from a crash. */
  find(): Promise<Server | undefined>
  start(): Promise<Server>
  logError(message: string, error?: unknown): void
}

/**
 * Watches over a server by the connection that counts us among its users. When that breaks, either the server has
 * dropped all connections because one of its processes crashed, and we join it again; or it died, and is started again.
 * Both happen under the lock of the data directory, so of several processes only one starts it, and the others find it.
 */
export function supervise(server: Server, remedy: Remedy): Supervisor {
  const { promise: failed, resolve: fail } = Promise.withResolvers<Error>()
  let current = server
  let isStopped = false

  const use = (next: Server) => {
    current = next
    // It may have broken already, because the server can die as soon as it is ready.
    void next.session.broken.then(() => {
      if (current === next && !isStopped) void recover()
    })
  }

  const recover = async () => {
    for (let attempt = 1; !isStopped; attempt++) {
      try {
        if (await joinOrStart()) return
        attempt = 0
      } catch (error) {
        remedy.logError('cannot restart the embedded database', error)
        if (attempt === ATTEMPTS) return fail(error as Error)
      }
      await sleep(BETWEEN_ATTEMPTS_MS)
    }
  }

  /** False if another process is restarting the server. */
  const joinOrStart = async (): Promise<boolean> => {
    const release = await remedy.lock()
    if (!release) return false
    try {
      if (isStopped) return true
      const former = current
      const running = await remedy.find()
      if (running && running.port !== former.port) {
        // A command has started it at the same moment. The pools of this process keep connecting to the former port.
        await running.session.close()
        throw new Error('Another process has started the embedded database on another port.')
      }
      if (!running) remedy.logError('the embedded database died; restarting it')
      use(running ?? (await remedy.start()))
      await former.session.close()
      return true
    } finally {
      release()
    }
  }

  use(server)
  return {
    get server() {
      return current
    },
    failed,
    stop() {
      isStopped = true
    },
  }
}
