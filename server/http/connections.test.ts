import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { standStill } from '../test/stand-still.ts'
import { until } from '../test/until.ts'
import { closeServer, connectionOf, createHttpServer } from './connections.ts'

/** A server whose only route records each request and responds with its number after up to 3 ms. */
async function countingServer() {
  const executed: string[] = []
  const app = Fastify({
    serverFactory: (handler) => createHttpServer(handler, 60_000),
    return503OnClosing: false,
  })
  app.post<{ Params: { number: string } }>('/:number', async ({ params: { number } }) => {
    executed.push(number)
    await sleep(Number(number) % 4)
    return `<${number}>`
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, executed, port: (app.server.address() as AddressInfo).port }
}

const requestText = (number: number) =>
  `POST /${number} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`

type Client = { socket: Socket; received: string; errors: unknown[]; closed: Promise<unknown> }

async function connectClient(port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const client: Client = { socket, received: '', errors: [], closed }
  socket.on('error', (error) => client.errors.push(error))
  socket.setEncoding('latin1').on('data', (text) => {
    client.received += text
  })
  await once(socket, 'connect')
  return client
}

async function waitForText(client: Client, text: string): Promise<void> {
  while (!client.received.includes(text)) await once(client.socket, 'data')
}

const responsesIn = ({ received }: Client) => [...received.matchAll(/<(\w+)>/g)].map(([, n]) => n!)

describe('shutdown', () => {
  it('shutdown responds to every request that was executed, in order, and resets no connection', async () => {
    let requests = 0
    await fc.assert(
      fc.asyncProperty(
        // Per connection: the number of pipelined requests, and how many of their bytes go into a second packet.
        fc.array(
          fc.array(fc.record({ pipelined: fc.integer({ min: 1, max: 20 }), late: fc.nat(150) }), {
            minLength: 1,
            maxLength: 8,
          }),
          { minLength: 1, maxLength: 6 },
        ),
        fc.nat(40),
        async (connections, executedBefore) => {
          const { app, executed, port } = await countingServer()
          const sent = new Set<string>()
          const clients = await Promise.all(connections.map(() => connectClient(port)))
          const sending = clients.map(async (client, index) => {
            for (const { pipelined, late } of connections[index]!) {
              const numbers = Array.from({ length: pipelined }, () => ++requests)
              for (const number of numbers) sent.add(String(number))
              const text = numbers.map((number) => requestText(number)).join('')
              if (client.socket.destroyed) return
              client.socket.write(text.slice(0, text.length - late))
              await sleep(0)
              client.socket.write(text.slice(text.length - late))
              await Promise.race([waitForText(client, `<${numbers.at(-1)}>`), client.closed])
            }
          })
          let allSent = false
          void Promise.all(sending).then(() => {
            allSent = true
          })
          while (executed.length < executedBefore && !allSent) await setImmediate()
          await closeServer(app)
          await Promise.all([...sending, ...clients.map(({ closed }) => closed)])

          const answered = clients.flatMap(responsesIn)
          expect(answered.toSorted()).toEqual(executed.toSorted())
          for (const client of clients) {
            const responses = responsesIn(client)
            expect(responses).toEqual(responses.toSorted((a, b) => Number(a) - Number(b)))
            const [, ...afterClose] = client.received.split(/^connection: close\r$/im)
            expect(afterClose.join('').match(/HTTP\/1\.1/g)).toBeNull()
            expect(client.errors).toEqual([])
          }
        },
      ),
      { numRuns: 200, seed: 7, endOnFailure: true },
    )
  })
})

describe('pipelined requests', () => {
  it('at most 8 pipelined requests of a connection are handled at a time, and all get their responses in order', async () => {
    const REQUESTS = 2_500
    const RESPONSE_BYTES = 2_000
    const text = requestText(10_000)
    let running = 0
    let executed = 0
    const most = { running: 0, waiting: 0 }
    const app = Fastify({ serverFactory: (handler) => createHttpServer(handler, 60_000) })
    app.post<{ Params: { number: string } }>('/:number', async ({ params, raw }, reply) => {
      executed++
      most.running = Math.max(most.running, ++running)
      most.waiting = Math.max(most.waiting, raw.socket.bytesRead / text.length - executed)
      reply.raw.once('close', () => running--)
      await setImmediate()
      return `<${params.number}>`.padEnd(RESPONSE_BYTES)
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const client = await connectClient((app.server.address() as AddressInfo).port)
    client.socket.pause()
    const numbers = Array.from({ length: REQUESTS }, (_, n) => 10_000 + n)
    client.socket.write(numbers.map((number) => requestText(number)).join(''))
    await until('the client has to read', () => executed > 8)
    client.socket.resume()
    await waitForText(client, `<${numbers.at(-1)}>`)
    expect(responsesIn(client).map(Number)).toEqual(numbers)
    expect(most.running).toBe(8)
    // Two reads of 64 KiB at most.
    expect(most.waiting).toBeLessThan((2 * 64 * 1024) / text.length)
    client.socket.destroy()
    await closeServer(app)
  })
})

describe('responses that their clients do not read', () => {
  /** More than the operating system takes. */
  const BYTES = 24 * 1024 * 1024
  const STALL_TIMEOUT_MS = 600
  const STEPS = 32
  const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'
  const GET_LATE = GET.replace('/', '/late')

  /** A server that responds with many bytes, on `/late` not before `admit` is called. */
  async function largeServer(limits = { stallTimeoutMs: STALL_TIMEOUT_MS, maxUnsentBytes: 1e9 }) {
    const { promise: admitted, resolve: admit } = Promise.withResolvers<void>()
    const app = Fastify({ serverFactory: (handler) => createHttpServer(handler, 60_000, limits) })
    const body = Buffer.alloc(BYTES, 'x')
    app.get('/', async () => body)
    app.get('/late', async () => {
      await admitted
      return body
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    /** Connects a client that reads nothing. Resolves with the time at which the server closes the connection. */
    const stall = async () => {
      const accepted = once(app.server, 'connection')
      const client = await connectClient(port)
      client.socket.pause().write(GET)
      const [socket] = (await accepted) as [Socket]
      return { client, closed: new Promise((resolve) => socket.once('close', resolve)) }
    }
    return { app, admit, port, stall }
  }

  it('a connection is closed when its client has read nothing of a response for the stall timeout', async () => {
    const { app, stall } = await largeServer()
    const { client, closed } = await stall()
    await closed
    client.socket.resume()
    await client.closed
    expect(client.received.length).toBeLessThan(BYTES)
    await closeServer(app)
  })

  it('a client that reads slowly gets the whole response', async () => {
    const { app, port } = await largeServer()
    const client = await connectClient(port)
    client.socket.write(GET)
    // In total longer than the stall timeout.
    for (let step = 1; step <= STEPS; step++) {
      client.socket.pause()
      await sleep(STALL_TIMEOUT_MS / 12)
      client.socket.resume()
      while (client.received.length < (step / STEPS) * BYTES) await once(client.socket, 'data')
    }
    expect(client.errors).toEqual([])
    client.socket.destroy()
    await closeServer(app)
  })

  it('the time until a response is made does not count, also for the responses that wait behind it', async () => {
    const { app, admit, port, stall } = await largeServer()
    const client = await connectClient(port)
    client.socket.write(GET_LATE + GET)
    const { closed } = await stall()
    await closed
    admit()
    await until('both have arrived', () => client.received.length > 2 * BYTES)
    client.socket.destroy()
    await closeServer(app)
  })

  it('above the limit of unsent bytes, the client that has read nothing for longest is disconnected', async () => {
    const { app, stall } = await largeServer({
      stallTimeoutMs: 10_000,
      maxUnsentBytes: 1.5 * BYTES,
    })
    const first = await stall()
    const second = await stall()
    await first.closed
    second.client.socket.resume()
    await until('the second one has everything', () => second.client.received.length > BYTES)
    second.client.socket.destroy()
    first.client.socket.destroy()
    await closeServer(app)
  })
})

describe('a chunked body', () => {
  const chunks = (count: number, size: number) =>
    `${size.toString(16)}\r\n${' '.repeat(size)}\r\n`.repeat(count)
  const head = (route: string) =>
    `POST ${route} HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n`

  /** `/length` responds with the length of the body, `/early` before it reads any of it. */
  async function startServer() {
    const refusals: unknown[] = []
    const app = Fastify({
      serverFactory: (handler) => createHttpServer(handler, 60_000),
      clientErrorHandler: (error, socket) => {
        refusals.push(error.code)
        connectionOf(socket)?.conclude('HTTP/1.1 400 Bad Request\r\n\r\n')
      },
      bodyLimit: 16 * 1024 * 1024,
    })
    app.post('/length', ({ body }) => `<${(body as string).length}>`)
    app.post('/early', { onRequest: async (_, reply) => reply.send('<early>') }, () => {})
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { app, refusals, port: (app.server.address() as AddressInfo).port }
  }

  it.each([
    [5_000, 1],
    [40_000, 256],
  ])('a body of %i chunks of %i bytes is read', async (count, size) => {
    const { app, refusals, port } = await startServer()
    const client = await connectClient(port)
    client.socket.write(`${head('/length')}${chunks(count, size)}0\r\n\r\n`)
    await waitForText(client, `<${count * size}>`)
    expect(refusals).toEqual([])
    await closeServer(app)
  })

  it('a body of more than 5,000 small chunks is refused after the responses to earlier requests', async () => {
    const { app, refusals, port } = await startServer()
    const client = await connectClient(port)
    client.socket.write(`${head('/length')}${chunks(10, 1)}0\r\n\r\n`)
    client.socket.write(`${head('/length')}${chunks(100_000, 1)}0\r\n\r\n`)
    await client.closed
    expect(client.received).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*<10>HTTP\/1\.1 400 Bad Request\r\n\r\n$/,
    )
    expect([refusals, client.errors]).toEqual([['CHUNKS_TOO_SMALL'], []])
    await closeServer(app)
  })

  it('a body of more than 5,000 small chunks ends the connection if it got its response before', async () => {
    const { app, refusals, port } = await startServer()
    const client = await connectClient(port)
    client.socket.write(head('/early'))
    await waitForText(client, '<early>')
    client.socket.write(chunks(100_000, 1))
    await client.closed
    expect(client.received).toMatch(/<early>$/)
    expect([refusals, client.errors]).toEqual([['CHUNKS_TOO_SMALL'], []])
    await closeServer(app)
  })
})

it('a client can send a refused body to its end, although the server had stopped reading it and its process pauses', async () => {
  const { promise: admitted, resolve: admit } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<IncomingMessage>()
  const app = Fastify({
    serverFactory: (handler) => createHttpServer(handler, 60_000),
    bodyLimit: 1024,
  })
  app.addHook('onRequest', async ({ raw }) => {
    arrive(raw)
    await admitted
  })
  app.post('/', async () => 'accepted')
  await app.listen({ port: 0, host: '127.0.0.1' })
  const client = await connectClient((app.server.address() as AddressInfo).port)
  // More than the operating system takes.
  const body = Buffer.alloc(8 * 1024 * 1024, 'x')
  client.socket.write(
    `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  client.socket.write(body)
  const request = await arrived
  await until('the buffer is full', () => request.readableLength >= request.readableHighWaterMark)
  admit()
  await waitForText(client, 'HTTP/1.1 413 ')
  // By now the server waits for the client to close its side, at most for a second.
  await sleep(1)
  standStill(1_200)
  await client.closed
  expect(client.received).toMatch(/^HTTP\/1\.1 413 /)
  expect(client.errors).toEqual([])
  await closeServer(app)
})
