import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * Sends requests over raw sockets, one at a time on each connection. All connections share one walk through the
 * requests. Every response must have the expected status, length and texts; a wrong one ends the process. The client does
 * as little as possible for each request, so that the server is the bottleneck. Runs in its own process.
 */
export type Load = {
  port: number
  connections: number
  /** The load ends after this time, or after the last request. Slow responses get up to five times as long. */
  ms: number
  requests: LoadRequest[]
  /** Starts again after the last request. */
  repeats: boolean
}

export type LoadRequest = {
  path: string
  /** Sent as a bearer token. */
  key: string
  /** Texts that the response contains: an id, or the number of the page. */
  expected: string[]
  /** GET by default. */
  method?: string
  /** The JSON body. */
  body?: string
  /** 200 by default. */
  status?: number
  /** Parameters of the SQL that does the same (bare-sql.ts). */
  parameters?: unknown[]
}

/** `used` counts the requests from the first one that were sent and got a response; `cpu` is in microseconds. */
export type LoadResult = { used: number; ms: number; cpu: number; latencies: Float32Array }

process.on('message', async (load: Load) => {
  process.send!((await run(load)) satisfies LoadResult)
})

/** Fewer requests than this are too small a sample. */
const MIN_REQUESTS = 1_000

type Walk = { next(): Prepared | undefined; done(ms: number): void }

async function run({ port, connections, ms, requests, repeats }: Load): Promise<LoadResult> {
  const prepared = requests.map((request) => prepare(port, request))
  const latencies: number[] = []
  let sent = 0
  let began = performance.now()
  const walk: Walk = {
    next() {
      const elapsed = performance.now() - began
      const isOver = elapsed >= (sent < MIN_REQUESTS ? 5 * ms : ms)
      if (isOver || (!repeats && sent >= prepared.length)) return undefined
      return prepared[sent++ % prepared.length]
    },
    done: (latency) => latencies.push(latency),
  }
  const clients = Array.from({ length: connections }, () => client(port, walk))
  await Promise.all(clients.map(({ socket }) => once(socket, 'connect')))

  began = performance.now()
  const cpu = process.cpuUsage()
  const ends = clients.map(({ socket }) => once(socket, 'close'))
  for (const { send } of clients) send()
  await Promise.all(ends)
  const took = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  return { used: sent, ms: took, cpu: user + system, latencies: Float32Array.from(latencies) }
}

type Prepared = { path: string; bytes: Buffer; status: Buffer; expected: Buffer[] }

function prepare(port: number, request: LoadRequest): Prepared {
  const { path, key, method = 'GET', body = '', status = 200, expected } = request
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
  return {
    path,
    bytes: Buffer.from(head.join('\r\n') + body),
    status: Buffer.from(`HTTP/1.1 ${status} `),
    expected: expected.map((text) => Buffer.from(text)),
  }
}

const READ_BYTES = 256 * 1024

/** A connection with one request at a time. It closes itself after its last response. */
function client(port: number, walk: Walk): { socket: Socket; send(): void } {
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  let current: Prepared
  let sentAt = 0
  /** The beginning of a response that did not arrive at once. */
  let beginning: Buffer | undefined

  const send = () => {
    const next = walk.next()
    if (!next) return void socket.destroy()
    current = next
    sentAt = performance.now()
    socket.write(next.bytes)
  }
  const received = (length: number) => {
    let response = buffer.subarray(0, length)
    if (beginning) response = Buffer.concat([beginning, response])
    const total = lengthOf(response, current)
    if (total === undefined || total > response.length) {
      beginning = Buffer.from(response)
      return
    }
    beginning = undefined
    const isRight =
      total === response.length && current.expected.every((text) => response.includes(text))
    if (!isRight) throw wrong(current, response)
    walk.done(performance.now() - sentAt)
    send()
  }
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer,
      callback(length) {
        received(length)
        return true
      },
    },
  })
  socket.once('end', () => {
    throw new Error(`${current.path}: the server closed the connection`)
  })
  return { socket, send }
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** The length of a response with its head; undefined while the head is incomplete. */
function lengthOf(response: Buffer, request: Prepared): number | undefined {
  const headEnd = response.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  const { status } = request
  const length = /\r\ncontent-length: (\d+)/i.exec(response.toString('latin1', 0, headEnd))
  if (status.compare(response, 0, status.length) !== 0 || !length) throw wrong(request, response)
  return headEnd + HEAD_END.length + Number(length[1])
}

const wrong = ({ path, expected }: Prepared, response: Buffer) =>
  new Error(
    `${path}: unexpected response, expected ${expected.join(' and ')}\n${response.toString('utf8', 0, 3000)}`,
  )
