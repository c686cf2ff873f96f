import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { withTimeout } from '../../server/time/with-timeout.ts'

/**
 * A raw TCP connection with its own response parser: an HTTP client would refuse to send hostile bytes and would hide
 * malformed responses.
 */

/** A parsed response. Header names are in lower case; a repeated header is joined with ", ". */
export type Response = {
  status: number
  headers: Record<string, string>
  /** Decompressed. */
  body: Buffer
}

/** The reason why no further response arrived. */
export type Silence = 'closed' | 'silent'

export type Connection = {
  send(bytes: Buffer): void
  /**
   * Reads the next response and skips interim ones (1xx). An event stream is complete after its headers.
   *
   * @param method a response to HEAD has no body, even with a Content-Length
   * @throws Error when the bytes are not an HTTP response
   */
  next(method: string, timeoutMs: number): Promise<Response | Silence>
  isOpen(): boolean
  close(): void
}

export async function openConnection(port: number): Promise<Connection> {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  await new Promise<void>((resolve, reject) =>
    socket.once('connect', resolve).once('error', reject),
  )
  let received: Buffer = Buffer.alloc(0)
  let isClosed = false
  let changed = Promise.withResolvers<void>()
  const notify = () => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes])
    notify()
  })
  // A reset ends the connection; `close` follows.
  socket.on('error', () => {})
  for (const event of ['end', 'close'] as const) {
    socket.on(event, () => {
      isClosed = true
      notify()
    })
  }

  return {
    send: (bytes) => write(socket, bytes),
    isOpen: () => !isClosed,
    close() {
      isClosed = true
      socket.destroy()
    },
    async next(method, timeoutMs) {
      const deadline = performance.now() + timeoutMs
      for (;;) {
        const parsed = parseResponse(received, method, isClosed)
        if (parsed) {
          received = received.subarray(parsed.length)
          if (parsed.response.status >= 200) return parsed.response
          continue
        }
        if (isClosed) {
          if (received.length > 0) throw new Error(`cut off after: ${excerpt(received)}`)
          return 'closed'
        }
        const left = deadline - performance.now()
        if (left <= 0) return 'silent'
        await withTimeout(left, changed.promise, () => {})
      }
    },
  }
}

function write(socket: Socket, bytes: Buffer): void {
  if (socket.writable) socket.write(bytes)
}

type Parsed = { response: Response; length: number }

/**
 * Parses the response at the start of these bytes; returns undefined while it is incomplete.
 *
 * @throws Error when the bytes can't become a response
 */
export function parseResponse(
  bytes: Buffer,
  method: string,
  isClosed: boolean,
): Parsed | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) {
    const beginsAsHttp = 'HTTP/1.1 '.startsWith(bytes.toString('latin1', 0, 9))
    if (bytes.length > 0 && !beginsAsHttp) throw new Error(`no HTTP: ${excerpt(bytes)}`)
    return undefined
  }
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})( |$)/.exec(statusLine)?.[1])
  if (!status) throw new Error(`no status line: ${excerpt(bytes)}`)
  const headers = headersOf(lines)
  const start = end + 4
  const done = (sent: Buffer, length: number) => {
    const isCompressed = sent.length > 0 && headers['content-encoding'] === 'gzip'
    const body = isCompressed ? gunzipSync(sent) : sent
    return { response: { status, headers, body }, length }
  }

  const hasNoBody = method === 'HEAD' || status < 200 || status === 204 || status === 304
  if (hasNoBody || headers['content-type'] === 'text/event-stream') {
    return done(Buffer.alloc(0), start)
  }
  if (headers['transfer-encoding']) return chunked(bytes, start, done)
  if (headers['content-length'] !== undefined) {
    const length = start + Number(headers['content-length'])
    return bytes.length < length ? undefined : done(bytes.subarray(start, length), length)
  }
  return isClosed ? done(bytes.subarray(start), bytes.length) : undefined
}

function headersOf(lines: string[]): Response['headers'] {
  const headers: Response['headers'] = {}
  for (const line of lines) {
    const [, name, value = ''] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
    if (name === undefined) throw new Error(`no header: ${line}`)
    const key = name.toLowerCase()
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value
  }
  return headers
}

function chunked(
  bytes: Buffer,
  start: number,
  done: (body: Buffer, length: number) => Parsed,
): Parsed | undefined {
  const chunks: Buffer[] = []
  let at = start
  for (;;) {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (!(size >= 0)) throw new Error(`no chunk size: ${excerpt(bytes.subarray(at))}`)
    const next = end + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return done(Buffer.concat(chunks), next)
    chunks.push(bytes.subarray(end + 2, end + 2 + size))
    at = next
  }
}

const EXCERPT_BYTES = 200
const excerpt = (bytes: Buffer) => JSON.stringify(bytes.toString('latin1', 0, EXCERPT_BYTES))
