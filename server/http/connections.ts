import { AsyncLocalStorage } from 'node:async_hooks'
import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as inNextTurn } from 'node:timers'
import { setImmediate } from 'node:timers/promises'
import { type Bytes, bufferOf } from '../catalog/bytes.ts'
import { realTime } from '../time/real-time.ts'
import { unlessLate } from '../time/unless-late.ts'
import { createServer, IncomingMessage, ServerResponse } from './node-http.ts'
import { limitUnread, type ReaderLimits, type Sender } from './unread-responses.ts'

/** Above the idle timeouts of common load balancers, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000
/** Time for a client to close its side after the server has closed its own. */
const LINGER_MS = 1_000
/** A pause of this process counts as a tenth of that time at most. */
const LINGER_STEPS = 10

/** Requests of one connection that the application handles at a time. Further pipelined requests wait. */
const MAX_CONCURRENT_REQUESTS = 8

/** Counts as bytes of unsent responses for each waiting request. It exceeds Node's limit, so Node stops reading. */
const WEIGHT_OF_WAITING = 1024 * 1024

/**
 * Chunks that a chunked body may have, whatever their size, and the average size of all further ones. Each costs four
 * microseconds of CPU time, so that 256 KiB in chunks of a byte would take a second.
 */
const SMALL_CHUNKS = 5_000
const CHUNK_BYTES = 256

/** The code of the `clientError` for a body with more and smaller chunks. */
export const CHUNKS_TOO_SMALL = 'CHUNKS_TOO_SMALL'

/** Limits of responses that their clients don't read. */
const READER_LIMITS: ReaderLimits = { stallTimeoutMs: 60_000, maxUnsentBytes: 128 * 1024 * 1024 }

/** Node's default backlog: the connections that the operating system accepts in advance. */
const BACKLOG = 511

/** A client's connection, with its unanswered requests. */
export type Connection = {
  /**
   * Stops reading. Sends these bytes as the response to the incomplete request, after the responses to all complete
   * requests before it, and closes.
   */
  conclude(response: string): void
  /** Responds to a request that failed with an uncaught error, or closes the connection if that is not possible. */
  fail(response: string): void
  /** Exempts the current request from the request timeout, because its route has its own. */
  allowSlowRequest(): void
  /** Whether the current request is exempt from the request timeout. */
  readonly isSlowAllowed: boolean
}

type Response = InstanceType<typeof ServerResponse>

const connections = new WeakMap<Socket, TrackedConnection>()
const windDowns = new WeakMap<Server, () => Promise<void>>()

/** The connection whose request the running code serves, in hooks, promises, timers and event listeners. */
const current = new AsyncLocalStorage<TrackedConnection>()

/** The connection of a request; undefined for an injected request in a test. */
export const connectionOf = (socket: Socket): Connection | undefined => connections.get(socket)

/** The connection whose request the running code serves, if any. Uncaught errors are reported to it. */
export const currentConnection = (): Connection | undefined => current.getStore()

/**
 * Creates the HTTP server. Every request that reaches `listener` gets its response before the connection closes, unless
 * the client disconnects: see `TrackedConnection`.
 *
 * @param requestTimeoutMs real time for a client to send a complete request, from its first byte or from the connection;
 *   a slower request causes a `clientError`, and so does a body in too many small chunks
 */
export function createHttpServer(
  listener: RequestListener,
  requestTimeoutMs: number,
  readerLimits = READER_LIMITS,
): Server {
  const open = new Set<TrackedConnection>()
  let ending = false
  let accepted = 0

  const server = createServer(
    {
      IncomingMessage: TrackedRequest as typeof IncomingMessage,
      ServerResponse: TrackedResponse,
      requireHostHeader: false,
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.ceil(requestTimeoutMs / 60),
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    },
    (request, response) => {
      const connection = connections.get(request.socket)
      if (!connection || connection.take(response)) listener(request, response)
    },
  )
  // The application refuses an unknown expectation like any other invalid request.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))

  // Node's own listener reads from the connection, so everything that it causes runs in the connection's context.
  const [accept] = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.on('connection', (socket) => {
    const connection = new TrackedConnection(socket, listener, (code) => {
      server.emit('clientError', Object.assign(new Error(code), { code }), socket)
    })
    connections.set(socket, connection)
    open.add(connection)
    accepted++
    socket.once('close', () => open.delete(connection))
    current.run(connection, () => accept!.call(server, socket))
    if (ending) connection.windDown()
  })

  limitUnread(server, open, readerLimits)

  // Node calls it when the server closes. An idle connection may still have bytes of a response to send.
  server.closeIdleConnections = () => {}
  windDowns.set(server, async () => {
    ending = true
    for (const connection of open) connection.windDown()
    // Connections in the backlog would be reset, so they are accepted first. Each turn of the event loop accepts one.
    await setImmediate()
    for (let turn = 0, before = -1; before !== accepted && turn < BACKLOG; turn++) {
      before = accepted
      await setImmediate()
    }
  })
  return server
}

/**
 * Closes the server gracefully: it reads no further requests, responds to those that it has read (with `Connection: close`
 * on the last response of a connection), and closes the connections. Resolves when all connections are closed.
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
 * Tracks the requests and responses of one connection, to guarantee two things:
 *
 * - Every request that reached the application gets its response, in order, before the connection closes. Node closes
 *   after any response with `Connection: close` and drops the responses to pipelined requests behind it. Here only the
 *   last response has this header, and requests behind it do not reach the application.
 * - The connection closes with FIN. Closing a socket that has unread bytes sends RST, which can destroy a response
 *   before the client reads it. Therefore the rest is read and discarded until the client closes its side.
 *
 * It also bounds the work that a client causes by pipelining: few of its requests are handled at a time, and no more are
 * read while others wait.
 */
class TrackedConnection implements Connection, Sender {
  readonly #socket: Socket
  /** Responses that are not sent yet, in the order of their requests. */
  readonly #pending: TrackedResponse[] = []
  readonly #listener: RequestListener
  readonly #reportError: (code: string) => void
  /** The last ones of `#pending`, whose requests have not reached the application yet. */
  readonly #waiting: TrackedResponse[] = []
  #isStarting = false
  #lastRequest: InstanceType<typeof IncomingMessage> | undefined
  isSlowAllowed = false
  /** No further request reaches the application. */
  #isLastTaken = false
  #isReading = true
  #isEnding = false
  #isClosing = false
  #conclusion: string | undefined

  constructor(socket: Socket, listener: RequestListener, reportError: (code: string) => void) {
    this.#socket = socket
    this.#listener = listener
    this.#reportError = reportError
    // Makes Node cache the address, so that the rate limit can count a client that has disconnected.
    void socket.remoteAddress
    // Node calls it after the last response.
    socket.destroySoon = () => this.#close()
  }

  /** Every response may be the last one. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  get unsentBytes(): number {
    let bytes = this.#socket.writableLength
    // The first one includes the bytes of the socket.
    for (let i = 1; i < this.#pending.length; i++) bytes += this.#pending[i]!.writableLength
    return bytes
  }

  get isBlocked(): boolean {
    return this.#socket.writableLength > 0
  }

  get takenBytes(): number {
    // Node's own counts: its public ones show the progress of a large write only at its end.
    const { _handle: handle } = this.#socket as unknown as {
      _handle: { bytesWritten: number; writeQueueSize: number } | null
    }
    return handle ? handle.bytesWritten - handle.writeQueueSize : 0
  }

  reset(): void {
    this.#socket.resetAndDestroy()
  }

  /**
   * Registers a request. False if the caller must not handle it: it comes after the last request that gets a response, or
   * it waits and is handled later.
   */
  take(response: TrackedResponse): boolean {
    if (this.#isLastTaken) return false
    this.isSlowAllowed = false
    this.#lastRequest = response.req
    this.#pending.push(response)
    // It is emitted once, and `once` costs more.
    response.on('close', () => {
      this.#pending.splice(this.#pending.indexOf(response), 1)
      if (this.#waiting.length > 0) this.#startWaiting()
      this.#closeWhenDone()
    })
    if (this.#pending.length <= MAX_CONCURRENT_REQUESTS && this.#waiting.length === 0) return true
    this.#waiting.push(response)
    response._onPendingData(WEIGHT_OF_WAITING)
    return false
  }

  /** Handles waiting requests in a later turn of the event loop, so that one connection doesn't occupy it. */
  #startWaiting(): void {
    if (this.#isStarting) return
    this.#isStarting = true
    inNextTurn(() => {
      this.#isStarting = false
      while (this.#pending.length - this.#waiting.length < MAX_CONCURRENT_REQUESTS) {
        const response = this.#waiting.shift()
        if (!response) return
        response._onPendingData(-WEIGHT_OF_WAITING)
        if (!response.destroyed) current.run(this, this.#listener, response.req, response)
      }
    })
  }

  /** Adds or removes `Connection: close` before the headers are written. */
  beforeHeaders(response: Response, headers: Record<string, unknown> | undefined): void {
    const wantsToClose =
      this.#isEnding ||
      String(headers?.connection ?? response.getHeader('connection')).toLowerCase() === 'close'
    if (!wantsToClose) return
    if (headers) delete headers.connection
    if (this.#pending.at(-1) === response && this.#conclusion === undefined) {
      response.setHeader('connection', 'close')
      this.#stopReading()
    } else {
      response.removeHeader('connection')
    }
  }

  allowSlowRequest(): void {
    this.isSlowAllowed = true
  }

  /** Refuses the request whose body has too many small chunks. If it has its response already, only stops reading. */
  refuseChunks(): void {
    if (this.#isReading) this.#reportError(CHUNKS_TOO_SMALL)
  }

  conclude(response: string): void {
    if (this.#isClosing || this.#conclusion !== undefined) return
    this.#conclusion = response
    this.#stopReading()
    this.#closeWhenDone()
  }

  fail(response: string): void {
    const [failed, ...others] = this.#pending
    if (!failed) return
    if (others.length > 0 || failed.headersSent || !this.#socket.writable) {
      this.#socket.destroy()
      return
    }
    this.#stopReading()
    this.#socket.write(response)
    this.#close()
  }

  windDown(): void {
    this.#isEnding = true
    const last = this.#pending.at(-1)
    // An incomplete request is read to its end.
    if (!last || last.req.complete) this.#stopReading()
    this.#closeWhenDone()
  }

  /** After all earlier responses, sends the concluding one, if any, and closes the connection. */
  #closeWhenDone(): void {
    if (this.#conclusion === undefined) {
      if (this.#isEnding && this.#pending.length === 0) this.#close()
      return
    }
    const [next] = this.#pending
    if (next?.req.complete) return
    // The incomplete request may have its response already, or a part of it.
    const isAnswered = next ? next.headersSent : this.#lastRequest?.complete === false
    if (!isAnswered && this.#socket.writable) this.#socket.write(this.#conclusion)
    this.#close()
  }

  /** Disconnects the parser and discards further bytes. */
  #stopReading(): void {
    this.#isLastTaken = true
    if (!this.#isReading) return
    this.#isReading = false
    this.#socket.removeAllListeners('data')
    this.#socket.on('data', () => {})
    if (!this.#socket.readable) return
    // Node stops reading while a request's buffer is full. `resume` alone doesn't start it again, because for the stream
    // its last read is still under way.
    this.#socket.resume()
    this.#socket._read(0)
  }

  #close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#stopReading()
    const socket = this.#socket
    if (socket.destroyed) return
    const linger = () => {
      // It takes several turns of the event loop to read all that arrived during a pause of this process.
      const cancelTimeout = unlessLate(LINGER_MS, LINGER_STEPS, () => socket.destroy())
      socket.once('close', cancelTimeout)
    }
    socket.end()
    if (socket.writableFinished) linger()
    else socket.once('finish', linger)
  }
}

/** Larger responses are sent from a buffer of their own. */
const MAX_SHARED_BYTES = 64 * 1024

/** Responses are put together here, one after the other: memory that is in use costs less than new memory. */
let shared = Buffer.allocUnsafeSlow(MAX_SHARED_BYTES)

/** The fields of a response, in their order. */
export type Head = { header(name: string, value: string | number): unknown }

/** Sends a response whose fields Node checks. */
export function sendChecked(
  response: Response,
  status: number,
  writeFields: (head: Head) => void,
  body: Bytes | undefined,
): void {
  const fields: (string | number)[] = []
  writeFields({ header: (name, value) => fields.push(name, value) })
  response.writeHead(status, fields)
  if (body) response.end(bufferOf(body))
  else response.end()
}

/**
 * Sends a 200 response whose length is in its fields. `writeHead` checks and joins each field again, and head and body would
 * be two buffers, which takes a third of a small response. The fields must be the service's own.
 */
export function sendKnown(
  response: Response,
  writeFields: (head: Head) => void,
  body: Bytes,
): void {
  const connection = connections.get(response.req.socket)
  if (!connection || connection.isEnding || !response.shouldKeepAlive) {
    sendChecked(response, 200, writeFields, body)
    return
  }
  let head = 'HTTP/1.1 200 OK\r\n'
  writeFields({
    header(name, value) {
      head += `${name}: ${value}\r\n`
    },
  })
  head += `Date: ${httpDate()}\r\nConnection: keep-alive\r\n${KEEP_ALIVE}\r\n\r\n`
  // The fields of Node in which `writeHead` and the first write leave the same.
  const internals = response as unknown as { _header: string; _headerSent: boolean }
  internals._header = head
  const length = head.length + body.length
  // A pipelined response, or one that a slow client waits for, would occupy the whole buffer.
  if (length > MAX_SHARED_BYTES || response.socket?.writableLength !== 0) {
    response.end(bufferOf(body))
    return
  }
  shared.write(head, 'latin1')
  body.copy(shared, head.length)
  internals._headerSent = true
  response.end(shared.subarray(0, length))
  // The operating system has not taken everything: Node sends the rest from this buffer.
  if (response.socket.writableLength !== 0) shared = Buffer.allocUnsafeSlow(MAX_SHARED_BYTES)
}

const KEEP_ALIVE = `Keep-Alive: timeout=${KEEP_ALIVE_TIMEOUT_MS / 1000}`

let dateSecond = Number.NaN
let date = ''

/** The value of the Date header, made once a second. */
function httpDate(): string {
  const second = Math.floor(realTime() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    date = new Date(second * 1000).toUTCString()
  }
  return date
}

/** A request whose chunks are counted, also those that are discarded because it has its response already. */
class TrackedRequest extends IncomingMessage {
  #chunks = 0
  #bytes = 0

  override push(chunk: Buffer | null): boolean {
    if (chunk !== null && this.headers['transfer-encoding'] !== undefined) {
      this.#chunks++
      this.#bytes += chunk.length
      if (this.#chunks > SMALL_CHUNKS + this.#bytes / CHUNK_BYTES) {
        const connection = connections.get(this.socket)
        if (connection && !connection.isSlowAllowed) {
          connection.refuseChunks()
          // Otherwise Node would stop reading, but the rest must be read before the connection can close.
          return true
        }
      }
    }
    return super.push(chunk)
  }

  /** Node calls it when a request has its response, and would no longer call `push` then. */
  _dump(): void {
    this.removeAllListeners('data')
    this.resume()
  }
}

class TrackedResponse extends ServerResponse {
  /** Node's own count of the bytes of responses that wait for earlier ones. While they are many, it doesn't read. */
  declare _onPendingData: (bytes: number) => void

  override writeHead(...parameters: unknown[]): this {
    const headers = parameters.at(-1)
    connections
      .get(this.req.socket)
      ?.beforeHeaders(
        this,
        typeof headers === 'object' ? (headers as Record<string, unknown>) : undefined,
      )
    return super.writeHead(...(parameters as Parameters<Response['writeHead']>))
  }
}
