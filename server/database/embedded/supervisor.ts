import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from './session.ts'

const ATTEMPTS = 3
const BETWEEN_ATTEMPTS_MS = 500

export type Supervisor = {
  /** The server as it is now; another one after a restart. */
  readonly server: Server
  /** Resolves when the server could not be started again. */
  failed: Promise<Error>
  stop(): void
}

/** Steps of a supervisor when a server may have died. */
type Remedy = {
  /** Undefined when another process kept the lock for long: it's at the same. */
  takeLock(): Promise<(() => void) | undefined>
  /** The server that runs, with us as its user; one that recovers is waited for. */
  find(): Promise<Server | undefined>
  start(): Promise<Server>
  tell(message: string, error?: unknown): void
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
    next.session.onBreak = () => {
      next.session.onBreak = () => {}
      void recover()
    }
  }

  const recover = async () => {
    for (let attempt = 1; !isStopped; attempt++) {
      try {
        if (await joinOrStart()) return
        attempt = 0
      } catch (error) {
        remedy.tell('the embedded database could not be started again', error)
        if (attempt === ATTEMPTS) return fail(error as Error)
      }
      await sleep(BETWEEN_ATTEMPTS_MS)
    }
  }

  /** False when another process is at it. */
  const joinOrStart = async (): Promise<boolean> => {
    const release = await remedy.takeLock()
    if (!release) return false
    try {
      if (isStopped) return true
      const former = current
      const running = await remedy.find()
      if (!running) remedy.tell('the embedded database has died, starting it again')
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
      current.session.onBreak = () => {}
    },
  }
}
