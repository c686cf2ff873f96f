import { AsyncLocalStorage } from 'node:async_hooks'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'

/** Above the idle timeouts of common load balancers, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000
/** Time for a client to close its side after the server has closed its own. */
const LINGER_MS = 1_000

/** Connections that Node lets the system accept ahead. */
const MAX_BACKLOG = 511

/** One client's connection: the requests on it that are not answered yet, and whether more may be read. */
export type Connection = {
  /**
   * Reads no further, answers the request that is arriving with these bytes, once all complete requests before it are
   * answered, and closes.
   */
  conclude(answer: string): void
  /** Answers a request that failed where nobody catches it, or closes the connection where that's not possible. */
  fail(answer: string): void
  /** Lets the current request take longer than the request timeout: its route has a timeout of its own. */
  allowSlowRequest(): void
  /** True for a request that `allowSlowRequest` was called for. */
  readonly isSlowAllowed: boolean
}

type Answer = ServerResponse<IncomingMessage>

const connections = new WeakMap<Socket, FollowedConnection>()
const windDowns = new WeakMap<Server, () => Promise<void>>()

/** The connection that the current code works for: a request's hooks, promises, timers and event listeners. */
const current = new AsyncLocalStorage<FollowedConnection>()

/** The connection of a request; undefined in a test that injects it without one. */
export const connectionOf = (socket: Socket): Connection | undefined => connections.get(socket)

/** The connection whose request the running code belongs to, if any. For errors that nothing has caught. */
export const currentConnection = (): Connection | undefined => current.getStore()

/**
 * Creates the HTTP server. Every request that reaches `listener` gets its answer before the connection is closed, unless
 * the client goes away: see `FollowedConnection`.
 *
 * @param requestTimeoutMs real time for a client to send a complete request, from its first byte or from the connection;
 *   what takes longer is a `clientError`
 */
export function createHttpServer(listener: RequestListener, requestTimeoutMs: number): Server {
  const open = new Set<FollowedConnection>()
  let ending = false
  let accepted = 0

  const server = createServer(
    {
      ServerResponse: FollowedAnswer,
      requireHostHeader: false,
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.ceil(requestTimeoutMs / 60),
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    },
    (request, answer) => {
      if (connections.get(request.socket)?.take(answer) !== false) listener(request, answer)
    },
  )
  // An expectation that the server doesn't know is answered like any other mistake of a request.
  server.on('checkExpectation', (request, answer) => server.emit('request', request, answer))

  // Node's own listener reads from the connection: all that happens because of it belongs to the connection.
  const [accept] = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.on('connection', (socket) => {
    const connection = new FollowedConnection(socket)
    connections.set(socket, connection)
    open.add(connection)
    accepted++
    socket.once('close', () => open.delete(connection))
    current.run(connection, () => accept!.call(server, socket))
    if (ending) connection.windDown()
  })

  // Called when the server closes. A connection without a request in it may still have bytes of an answer to send.
  server.closeIdleConnections = () => {}
  windDowns.set(server, async () => {
    ending = true
    for (const connection of open) connection.windDown()
    // Clients whose connections the system has accepted for us would get them reset: they are taken over first. One
    // comes with each turn of the event loop.
    await setImmediate()
    for (let turn = 0, before = -1; before !== accepted && turn < MAX_BACKLOG; turn++) {
      before = accepted
      await setImmediate()
    }
  })
  return server
}

/**
 * Closes the service without losing a request: from now on no further request is read, each one that was read is
 * answered (the last one of a connection with `Connection: close`), then its connection is closed. Resolves when all are.
 */
export async function closeServer(app: {
  server: Server
  close(): PromiseLike<unknown>
}): Promise<void> {
  await windDowns.get(app.server)?.()
  const closed = new Promise((resolve) => app.server.close(resolve))
  await app.close()
  await closed
}

/**
 * Follows the requests and answers of one connection, to keep two promises:
 *
 * - A request that was handed on is answered, in order, before the connection closes. Node closes after any answer that
 *   says `Connection: close`, and drops the answers to requests that the client has sent behind it. Here only the last
 *   answer says so, and what is read behind it is not handed on.
 * - The connection closes with FIN. Closing a socket with unread bytes in it sends RST, which can take the answer
 *   from the client that is about to read it. So the rest is read and discarded until the client closes its side.
 */
class FollowedConnection implements Connection {
  readonly #socket: Socket
  /** Answers that are not out of our hands yet, in the order of their requests. */
  readonly #pending: Answer[] = []
  #lastRequest: IncomingMessage | undefined
  isSlowAllowed = false
  /** No further request is handed on. */
  #isLastTaken = false
  #isReading = true
  #isEnding = false
  #isClosing = false
  #conclusion: string | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    // Node remembers the address from now on, so that a client that has gone still counts for it.
    void socket.remoteAddress
    // Node calls it after the last answer.
    socket.destroySoon = () => this.#close()
  }

  /** Takes on a request; false when it stands behind the last one that is answered. */
  take(answer: Answer): boolean {
    if (this.#isLastTaken) return false
    this.isSlowAllowed = false
    this.#lastRequest = answer.req
    this.#pending.push(answer)
    answer.once('close', () => {
      this.#pending.splice(this.#pending.indexOf(answer), 1)
      this.#goOn()
    })
    return true
  }

  /** Decides about `Connection: close` as the answer's headers are written. */
  beforeHeaders(answer: Answer, headers: Record<string, unknown> | undefined): void {
    const wantsToClose =
      this.#isEnding ||
      String(headers?.connection ?? answer.getHeader('connection')).toLowerCase() === 'close'
    if (!wantsToClose) return
    if (headers) delete headers.connection
    if (this.#pending.at(-1) === answer && this.#conclusion === undefined) {
      answer.setHeader('connection', 'close')
      this.#stopReading()
    } else {
      answer.removeHeader('connection')
    }
  }

  allowSlowRequest(): void {
    this.isSlowAllowed = true
  }

  conclude(answer: string): void {
    if (this.#isClosing || this.#conclusion !== undefined) return
    this.#conclusion = answer
    this.#stopReading()
    this.#goOn()
  }

  fail(answer: string): void {
    const [failed, ...others] = this.#pending
    if (!failed) return
    if (others.length > 0 || failed.headersSent || !this.#socket.writable) {
      this.#socket.destroy()
      return
    }
    this.#stopReading()
    this.#socket.write(answer)
    this.#close()
  }

  windDown(): void {
    this.#isEnding = true
    const last = this.#pending.at(-1)
    // A request that is still arriving is read to its end.
    if (!last || last.req.complete) this.#stopReading()
    this.#goOn()
  }

  /** Closes once everything is answered. */
  #goOn(): void {
    if (this.#conclusion === undefined) {
      if (this.#isEnding && this.#pending.length === 0) this.#close()
      return
    }
    const [next] = this.#pending
    if (next?.req.complete) return
    // The request that is arriving may be answered already, or its answer has begun.
    const isAnswered = next ? next.headersSent : this.#lastRequest?.complete === false
    if (!isAnswered && this.#socket.writable) this.#socket.write(this.#conclusion)
    this.#close()
  }

  /** From now on the parser gets nothing, and what arrives is discarded. */
  #stopReading(): void {
    this.#isLastTaken = true
    if (!this.#isReading) return
    this.#isReading = false
    this.#socket.removeAllListeners('data')
    this.#socket.on('data', () => {})
  }

  #close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#stopReading()
    const socket = this.#socket
    if (socket.destroyed) return
    const linger = () => {
      const timer = setTimeout(() => socket.destroy(), LINGER_MS)
      socket.once('close', () => clearTimeout(timer))
    }
    socket.end()
    if (socket.writableFinished) linger()
    else socket.once('finish', linger)
  }
}

class FollowedAnswer extends ServerResponse {
  override writeHead(...parameters: unknown[]): this {
    const headers = parameters.at(-1)
    connections
      .get(this.req.socket)
      ?.beforeHeaders(
        this,
        typeof headers === 'object' ? (headers as Record<string, unknown>) : undefined,
      )
    return super.writeHead(...(parameters as Parameters<ServerResponse['writeHead']>))
  }
}
