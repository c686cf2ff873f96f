import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { MAX_STREAMS } from '../../events/follow.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../../test/app.ts'
import { deliveriesIn, sendSampleEvent, subscribe } from '../../test/fakes/receiver.ts'
import { NO_LIMITS } from '../../test/fixtures/listings.ts'
import { until } from '../../test/until.ts'
import { whileReplaced } from '../../test/while-replaced.ts'
import { closeServer } from '../connections.ts'

type Running = TestApp & { origin: string; listeners(): number }

let app: Running
let accountId: number

/** Listens on a port, because app.inject() would wait for the end of the stream. */
async function startListening(): Promise<Running> {
  const app = await startTestApp({ settings: NO_LIMITS })
  let listeners = 0
  const { on } = app.ctx.signals
  app.ctx.signals.on = (topic, notified) => {
    listeners++
    const unsubscribe = on(topic, notified)
    return () => {
      listeners--
      unsubscribe()
    }
  }
  const origin = await app.app.listen({ port: 0, host: '127.0.0.1' })
  return { ...app, origin, listeners: () => listeners }
}

beforeAll(async () => {
  app = await startListening()
})

beforeEach(async () => {
  accountId = (await app.seller()).accountId
})

const pathOf = (id: number | string) => `/operator/v1/accounts/${id}/events/stream`

/** Opens the stream and collects its messages. */
async function follow({
  after = '',
  query = '',
  on = app,
  of = accountId,
  token = OPERATOR_TOKEN,
} = {}) {
  const leaving = new AbortController()
  const response = await fetch(`${on.origin}${pathOf(of)}${query}`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(after ? { 'last-event-id': after } : {}),
    },
    signal: leaving.signal,
  })
  const ids: string[] = []
  const messages: EventSourceMessage[] = []
  const comments: string[] = []
  const parser = createParser({
    onComment: (comment) => comments.push(comment),
    onId: (id) => ids.push(id),
    onEvent: (message) => messages.push(message),
  })
  const ended = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body!) parser.feed(decoder.decode(chunk, { stream: true }))
  })()
  ended.catch(() => {})
  await until('the stream has sent its position', () => ids.length > 0)
  return {
    headers: response.headers,
    ids,
    messages,
    comments,
    received: (count: number) =>
      until(`${count} messages have arrived`, () => messages.length >= count),
    ended,
    async leave() {
      leaving.abort()
      await ended.catch(() => {})
    },
  }
}

describe('the event stream', () => {
  it('the event stream sends each event with its position, its name and its payload in one line', async () => {
    const stream = await follow()
    expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(stream.headers.get('x-accel-buffering')).toBe('no')
    await sendSampleEvent(app, accountId, 'order.cancelled')
    await stream.received(1)
    const [event] = await app.ctx.db<{ id: number; data: string }[]>`
      select id, data from events where account_id = ${accountId}
    `
    const [message] = stream.messages
    const { created_at } = JSON.parse(message!.data)
    expect(message).toEqual({
      id: expect.stringMatching(new RegExp(`^\\d+-${event!.id}$`)),
      event: 'order.cancelled',
      data: `{"event":"order.cancelled","delivery_id":${event!.id},"created_at":"${created_at}","data":${event!.data}}`,
    })
    await stream.leave()
  })

  it('the event stream sends a comment after 15 seconds without events, so that no proxy takes it for dead', async () => {
    const { add } = app.ctx.eventWatch
    const clock = vi.spyOn(performance, 'now')
    onTestFinished(() => void clock.mockRestore())
    // The stream believes that it began 15 seconds ago.
    const addLate: typeof add = (...stream) => {
      const added = add(...stream)
      clock.mockReturnValueOnce(performance.now() - 15_000)
      return added
    }
    const stream = await whileReplaced(app.ctx.eventWatch, { add: addLate }, async () => {
      const opened = await follow()
      await until('a comment has arrived', () => opened.comments.length > 0)
      return opened
    })
    expect(stream.messages).toEqual([])
    await stream.leave()
  })

  it('the event stream resumes after the position in Last-Event-ID or ?after=', async () => {
    const stream = await follow()
    for (let n = 0; n < 3; n++) await sendSampleEvent(app, accountId)
    await stream.received(3)
    await stream.leave()
    const [first, second, third] = stream.ids.slice(1)
    const inHeader = await follow({ after: first!, query: `?after=${third}` })
    await inHeader.received(2)
    expect(inHeader.ids).toEqual([first, second, third])
    await inHeader.leave()
    const inQuery = await follow({ query: `?after=${second}` })
    await inQuery.received(1)
    expect(inQuery.ids).toEqual([second, third])
    await inQuery.leave()
  })

  it('the event stream starts with its position, so that a client cut off before any event can resume', async () => {
    const earlier = await follow()
    await sendSampleEvent(app, accountId)
    await earlier.received(1)
    await earlier.leave()
    const cutOff = await follow()
    await cutOff.leave()
    await sendSampleEvent(app, accountId, 'listing.sold')
    const stream = await follow({ after: cutOff.ids[0]! })
    await stream.received(1)
    expect(stream.messages.map(({ event }) => event)).toEqual(['listing.sold'])
    await stream.leave()
  })

  it('the event stream sends a resent delivery again with the same delivery_id', async () => {
    const seller = await app.seller()
    await subscribe(seller, 'https://93.184.215.14/hook')
    const stream = await follow({ of: seller.accountId })
    await sendSampleEvent(app, seller.accountId)
    await stream.received(1)
    const [{ id }] = await deliveriesIn(app, `account_id=${seller.accountId}`)
    await app.operator.post(`/operator/v1/deliveries/${id}/resend`)
    await stream.received(2)
    const [first, again] = stream.messages
    expect(again).toEqual({ ...first, id: again!.id })
    expect(again!.id).not.toBe(first!.id)
    await stream.leave()
  })

  it('the event stream requires the operator token, an existing account and a valid position', async () => {
    const path = pathOf(accountId)
    expect((await app.anyone.get(path)).status).toBe(401)
    for (const id of [999_999, 0, 'x'])
      expect((await app.operator.get(pathOf(id))).status).toBe(404)
    for (const position of ['x', '1', '1-', `${'9'.repeat(19)}-1`, '1-2,3']) {
      const { status, body } = await app.operator.get(`${path}?after=${position}`)
      expect({ status, fields: Object.keys(body.error.fields) }).toEqual({
        status: 422,
        fields: ['after'],
      })
    }
    const { status, body } = await app.operator.get(path, { headers: { 'last-event-id': 'x' } })
    expect(status).toBe(422)
    expect(body.error.fields).toEqual({
      'Last-Event-ID': ['The Last-Event-ID is not the id of a message of this stream.'],
    })
    expect((await app.operator.head(path)).status).toBe(405)
  })
})

describe('clients of the event stream', () => {
  it('the event stream ends when the staff token is revoked', async () => {
    const { body } = await app.operator.post('/operator/v1/staff', {
      payload: { name: 'Anna', role: 'support' },
    })
    const stream = await follow({ token: body.token })
    await sendSampleEvent(app, accountId)
    await stream.received(1)
    await app.operator.delete(`/operator/v1/staff/${body.data.id}`)
    await sendSampleEvent(app, accountId)
    await stream.ended
    expect(stream.messages).toHaveLength(1)
  })

  it('a client that disconnects from the event stream is unsubscribed', async () => {
    const before = app.listeners()
    const streams = await Promise.all([follow(), follow(), follow()])
    await until('the clients are subscribed', () => app.listeners() === before + 1)
    await Promise.all(streams.map((stream) => stream.leave()))
    await until('the clients are unsubscribed', () => app.listeners() === before)
  })

  it('a process has at most 1,000 event streams, and one that ends makes room for another', async () => {
    const { eventWatch } = app.ctx
    const position = { transaction: '0', eventId: 0 }
    const streams = Array.from({ length: MAX_STREAMS }, () => eventWatch.add(accountId, position))
    const { status, body } = await app.operator.get(pathOf(accountId))
    expect([status, body.error.message]).toEqual([503, 'Too many event streams are open.'])
    eventWatch.delete(streams.pop()!)
    const stream = await follow()
    await stream.leave()
    for (const stream of streams) eventWatch.delete(stream)
  })

  it('a slow client gets every event, and the service buffers only a few for it', async () => {
    const EVENTS = 2_000
    const connections: Socket[] = []
    app.app.server.on('connection', (socket) => connections.push(socket))
    const { port } = app.app.server.address() as AddressInfo
    const slow = connect(port, '127.0.0.1')
    slow.write(
      `GET ${pathOf(accountId)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${OPERATOR_TOKEN}\r\n\r\n`,
    )
    await once(slow, 'readable')
    const fast = await follow()
    await app.ctx.db`
      insert into events (account_id, event, data, created_at)
      select ${accountId}, 'order.created', to_json(repeat('x', 10_000) || n)::text, ${app.ctx.now()}
      from generate_series(1, ${EVENTS}::int) as n
    `
    await app.ctx.signal('deliveries')
    const [slowConnection] = connections
    // By the time a fast client has everything, the slow one has been sent little.
    await fast.received(EVENTS)
    expect(slowConnection!.bytesWritten).toBeLessThan((EVENTS * 10_000) / 2)
    expect(slowConnection!.writableLength).toBeLessThan(4_000_000)
    await fast.leave()

    let arrived = 0
    let last = ''
    let rest = ''
    slow.setEncoding('utf8').on('data', (chunk) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop()!
      const data = lines.filter((line) => line.startsWith('data: '))
      arrived += data.length
      last = data.at(-1) ?? last
    })
    await until('every event has arrived', () => last.includes(`x${EVENTS}"`))
    expect(arrived).toBe(EVENTS)
    slow.destroy()
  })
})

describe('shutdown', () => {
  it('shutdown ends every event stream without waiting for its client', async () => {
    const other = await startListening()
    const { accountId } = await other.seller()
    const stream = await follow({ on: other, of: accountId })
    await closeServer(other.app)
    await stream.ended
    expect(other.listeners()).toBe(0)
  })
})
