import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * Sends requests as fast as they are answered and counts the answers; each must be a 200 or 201, of the expected length
 * where one is given. As little as possible is done for each, so that it's the server that is measured. Runs as a process of its own.
 */
export type Load = {
  port: number
  key: string
  /** Asked for in turn. */
  requests: LoadRequest[]
  connections: number
  ms: number
}

export type LoadRequest = {
  path: string
  /** Of the answer. */
  bodyLength?: number
  /** GET where it isn't given. */
  method?: string
  /** JSON that is sent along. */
  body?: string
}

export type LoadResult = { answers: number; ms: number; cpuMs: number }

process.on('message', async (load: Load) => {
  process.send!((await run(load)) satisfies LoadResult)
})

async function run(load: Load): Promise<LoadResult> {
  const requests = load.requests.map((request) => prepared(load, request))
  const tally = { answers: 0, sending: true }
  const clients = Array.from({ length: load.connections }, (_, i) =>
    client(load.port, requests, i, tally),
  )
  await Promise.all(clients.map(({ socket }) => once(socket, 'connect')))

  const began = performance.now()
  const cpu = process.cpuUsage()
  for (const { send } of clients) send()
  await new Promise((resolve) => setTimeout(resolve, load.ms))
  const { answers } = tally
  const ms = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)

  tally.sending = false
  await Promise.all(clients.map(({ socket }) => once(socket, 'close')))
  return { answers, ms, cpuMs: (user + system) / 1000 }
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

/** One connection with one request under way at a time. It closes itself once nothing more is to be sent. */
function client(
  port: number,
  requests: Prepared[],
  first: number,
  tally: { answers: number; sending: boolean },
): { socket: Socket; send(): void } {
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  let turn = first
  let asked = requests[0]!
  let missing = 0

  const send = () => {
    if (!tally.sending) {
      socket.destroy()
      return
    }
    asked = requests[turn++ % requests.length]!
    socket.write(asked.bytes)
  }
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer,
      callback(length) {
        if (missing === 0) missing = answerLength(buffer, length, asked)
        missing -= length
        if (missing < 0) throw new Error(`${asked.path}: more bytes than its content-length says`)
        if (missing === 0) {
          tally.answers++
          send()
        }
        return true
      },
    },
  })
  socket.once('end', () => {
    throw new Error(`${asked.path}: the server closed the connection`)
  })
  return { socket, send }
}

const OK = Buffer.from('HTTP/1.1 20')
const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = Buffer.from('\r\ncontent-length: ')

/** How long the answer that begins in the buffer will be, if it's the expected one. */
function answerLength(buffer: Buffer, length: number, { path, bodyLength }: Prepared): number {
  const headEnd = buffer.indexOf(HEAD_END)
  const lengthAt = buffer.indexOf(LENGTH)
  const announced = Number.parseInt(
    buffer.toString('latin1', lengthAt + LENGTH.length, lengthAt + LENGTH.length + 12),
    10,
  )
  const isRight =
    OK.compare(buffer, 0, OK.length) === 0 &&
    lengthAt !== -1 &&
    lengthAt < headEnd &&
    (bodyLength === undefined || announced === bodyLength)
  if (!isRight || headEnd + HEAD_END.length > length) {
    throw new Error(`${path}: not the expected answer\n${buffer.toString('utf8', 0, length)}`)
  }
  return headEnd + HEAD_END.length + announced
}
