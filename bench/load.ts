import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * Sends a request on each connection as soon as it has the previous response, and counts the responses. A response must
 * be a 2xx and have the expected length, if there is one. The client does as little as possible for each request, so
 * that the server is the bottleneck. Runs in its own process.
 */
export type Load = {
  port: number
  key: string
  /** Sent in rotation. */
  requests: LoadRequest[]
  connections: number
  ms: number
}

export type LoadRequest = {
  path: string
  /** The expected length of the response's body. */
  bodyLength?: number
  /** GET by default. */
  method?: string
  /** The JSON body. */
  body?: string
}

export type LoadResult = { responses: number; ms: number; cpuMs: number }

process.on('message', async (load: Load) => {
  process.send!((await run(load)) satisfies LoadResult)
})

async function run(load: Load): Promise<LoadResult> {
  const requests = load.requests.map((request) => prepared(load, request))
  const tally = { responses: 0, sending: true }
  const clients = Array.from({ length: load.connections }, (_, i) =>
    client(load.port, requests, i, tally),
  )
  await Promise.all(clients.map(({ socket }) => once(socket, 'connect')))

  const began = performance.now()
  const cpu = process.cpuUsage()
  for (const { send } of clients) send()
  await new Promise((resolve) => setTimeout(resolve, load.ms))
  const { responses } = tally
  const ms = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)

  tally.sending = false
  await Promise.all(clients.map(({ socket }) => once(socket, 'close')))
  return { responses, ms, cpuMs: (user + system) / 1000 }
}

type Prepared = { path: string; bytes: Buffer; bodyLength: number | undefined }

function prepared({ port, key }: Load, request: LoadRequest): Prepared {
  const { path, method = 'GET', body = '', bodyLength } = request
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${key}`,
    'accept: application/json',
    'user-agent: cardstall-bench',
    ...(body
      ? ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]
      : []),
    '\r\n',
  ]
  return { path, bytes: Buffer.from(head.join('\r\n') + body), bodyLength }
}

const READ_BYTES = 256 * 1024

/** A connection with one request at a time. It closes itself after the last response. */
function client(
  port: number,
  requests: Prepared[],
  first: number,
  tally: { responses: number; sending: boolean },
): { socket: Socket; send(): void } {
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  let next = first
  let current = requests[0]!
  let missing = 0

  const send = () => {
    if (!tally.sending) {
      socket.destroy()
      return
    }
    current = requests[next++ % requests.length]!
    socket.write(current.bytes)
  }
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer,
      callback(length) {
        if (missing === 0) missing = responseLength(buffer, length, current)
        missing -= length
        if (missing < 0) throw new Error(`${current.path}: more bytes than its content-length`)
        if (missing === 0) {
          tally.responses++
          send()
        }
        return true
      },
    },
  })
  socket.once('end', () => {
    throw new Error(`${current.path}: the server closed the connection`)
  })
  return { socket, send }
}

const OK = Buffer.from('HTTP/1.1 20')
const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = Buffer.from('\r\ncontent-length: ')

/** The length of the response that begins in the buffer. Throws if it isn't the expected one. */
function responseLength(buffer: Buffer, length: number, { path, bodyLength }: Prepared): number {
  const headEnd = buffer.indexOf(HEAD_END)
  const lengthAt = buffer.indexOf(LENGTH)
  const announced = Number.parseInt(
    buffer.toString('latin1', lengthAt + LENGTH.length, lengthAt + LENGTH.length + 12),
    10,
  )
  const isExpected =
    OK.compare(buffer, 0, OK.length) === 0 &&
    lengthAt !== -1 &&
    lengthAt < headEnd &&
    (bodyLength === undefined || announced === bodyLength)
  if (!isExpected || headEnd + HEAD_END.length > length) {
    throw new Error(`${path}: unexpected response\n${buffer.toString('utf8', 0, length)}`)
  }
  return headEnd + HEAD_END.length + announced
}
