import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Signals } from '../database/signals.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { deliveriesIn, sendSampleEvent, subscribe } from '../test/fakes/receiver.ts'
import { NO_LIMITS } from '../test/fixtures/listings.ts'
import { until } from '../test/until.ts'
import { recordEvent } from './record.ts'
import {
  currentPosition,
  eventsAfter,
  followEvents,
  hasReached,
  MAX_AT_ONCE,
  type Position,
  positionIn,
  positionText,
  type StreamedEvent,
} from './stream.ts'

let app: TestApp
let seller: Awaited<ReturnType<TestApp['seller']>>
let start: Position

beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
})

beforeEach(async () => {
  seller = await app.seller()
  start = await currentPosition(app.ctx)
})

/** All that there is after a position now, batch by batch, as a listener asks for it. */
async function heardAfter(position: Position): Promise<StreamedEvent[]> {
  const heard: StreamedEvent[] = []
  for (;;) {
    const after = heard.at(-1)?.position ?? position
    const batch = await eventsAfter(app.ctx, seller.accountId, after)
    if (batch.length === 0) return heard
    heard.push(...batch)
  }
}

/** The same once so many are there: other databases of the server have transactions, too, which hold events back. */
const hear = async (count: number, position: Position): Promise<StreamedEvent[]> => {
  await until(`${count} are heard`, async () => (await heardAfter(position)).length >= count)
  return heardAfter(position)
}

/** Writes an event with a number in it. */
const write = (ctx: Context, order_id: number) =>
  recordEvent(ctx, {
    accountId: seller.accountId,
    event: 'order.cancelled',
    data: { order_id, cancelled_by: 'buyer' },
  })

const numbersOf = (events: StreamedEvent[]) => events.map(({ data }) => JSON.parse(data).order_id)

/** A transaction that writes this event and stays open until it's told to commit. */
async function openTransaction(order_id: number) {
  const written = Promise.withResolvers<void>()
  const told = Promise.withResolvers<void>()
  const committed = inTransaction(app.ctx, async (tx) => {
    await write(tx, order_id)
    written.resolve()
    await told.promise
  })
  await written.promise
  return {
    commit() {
      told.resolve()
      return committed
    },
  }
}

describe('what a listener hears', () => {
  it('is what happened to its account since, each once, with its data as it was written', async () => {
    await write(app.ctx, 1)
    await sendSampleEvent(app, (await app.seller()).accountId)
    await write(app.ctx, 2)
    const heard = await hear(2, start)
    expect(numbersOf(heard)).toEqual([1, 2])
    expect(heard[0]).toMatchObject({
      event: 'order.cancelled',
      data: '{"order_id":1,"cancelled_by":"buyer"}',
      createdAt: expect.any(Date),
    })
    expect(numbersOf(await heardAfter(heard[0]!.position))).toEqual([2])
    expect(await heardAfter(heard[1]!.position)).toEqual([])
    await until('now is after them', async () => {
      return (await heardAfter(await currentPosition(app.ctx))).length === 0
    })
  })

  it('misses no event whose transaction began first and commits last, and hears none twice', async () => {
    const early = await openTransaction(1)
    await write(app.ctx, 2)
    expect(await heardAfter(start)).toEqual([])
    await early.commit()
    await write(app.ctx, 3)
    const heard = await hear(3, start)
    expect(numbersOf(heard)).toEqual([1, 2, 3])
    for (const [i, { position }] of heard.entries()) {
      expect(numbersOf(await heardAfter(position))).toEqual([1, 2, 3].slice(i + 1))
    }
  })

  it('begins now: with what is written in a transaction that is still open, too', async () => {
    const early = await openTransaction(1)
    const begun = await currentPosition(app.ctx)
    await early.commit()
    expect(numbersOf(await hear(1, begun))).toEqual([1])
  })

  it('is whole and without repetition while many write at once', async () => {
    const heard: StreamedEvent[] = []
    const hearMore = async () => {
      heard.push(...(await eventsAfter(app.ctx, seller.accountId, heard.at(-1)?.position ?? start)))
    }
    let writing = true
    const numbers = Array.from({ length: 200 }, (_, i) => i)
    const written = Promise.all(
      numbers.map((n) =>
        inTransaction(app.ctx, async (tx) => {
          await write(tx, n)
          await tx.db`select pg_sleep(${(n * 7919) % 10} * 0.001)`
        }),
      ),
    ).finally(() => {
      writing = false
    })
    while (writing) await hearMore()
    await written
    await until('all are heard', async () => {
      await hearMore()
      return heard.length >= numbers.length
    })
    expect(numbersOf(heard).toSorted((a, b) => a - b)).toEqual(numbers)
  })

  it('comes in batches, also out of one transaction', async () => {
    await inTransaction(app.ctx, async (tx) => {
      for (let n = 0; n < MAX_AT_ONCE + 20; n++) await write(tx, n)
    })
    const heard = await hear(MAX_AT_ONCE + 20, start)
    expect(numbersOf(heard)).toEqual(Array.from({ length: MAX_AT_ONCE + 20 }, (_, n) => n))
    const batch = await eventsAfter(app.ctx, seller.accountId, start)
    expect(batch).toEqual(heard.slice(0, MAX_AT_ONCE))
  })
})

describe('what is sent again', () => {
  const HOOK = 'https://93.184.215.14/hook'

  it('comes again, with the event’s own id and data', async () => {
    const endpoint = await subscribe(seller, HOOK)
    await write(app.ctx, 1)
    await write(app.ctx, 2)
    const [first, second] = await hear(2, start)
    const [, delivery] = await deliveriesIn(app, `endpoint_id=${endpoint.id}`)
    let last = second!
    for (let time = 1; time <= 2; time++) {
      await app.operator.post(`/operator/v1/deliveries/${delivery.id}/resend`)
      const [again, ...others] = await hear(1, last.position)
      expect(others).toEqual([])
      expect(again).toEqual({ ...first, position: again!.position })
      expect(again!.position).not.toEqual(first!.position)
      last = again!
    }
  })

  it('comes all of it, when an endpoint is sent what it missed', async () => {
    const endpoint = await subscribe(seller, HOOK)
    await app.ctx.db`update webhook_endpoints set disabled_at = now() where id = ${endpoint.id}`
    const numbers = Array.from({ length: MAX_AT_ONCE + 20 }, (_, n) => n)
    for (const n of numbers) await write(app.ctx, n)
    const first = await hear(numbers.length, start)
    const path = `/operator/v1/accounts/${seller.accountId}/webhooks/${endpoint.id}`
    await app.operator.post(`${path}/enable`)
    const { body } = await app.operator.post(`${path}/resend`, {
      payload: { from: '2026-01-01', to: '2126-01-01' },
    })
    expect(body.data.deliveries).toBe(numbers.length)
    const again = await hear(numbers.length, first.at(-1)!.position)
    expect(again.map(({ id }) => id)).toEqual(first.map(({ id }) => id))
  })

  it('to several endpoints in one transaction comes once', async () => {
    await subscribe(seller, HOOK)
    await subscribe(seller, HOOK)
    await write(app.ctx, 1)
    const [first] = await hear(1, start)
    const { count } = await app.ctx.db`
      update deliveries set resent_in = pg_current_xact_id()
      where endpoint_id in (select id from webhook_endpoints where account_id = ${seller.accountId})
    `
    expect(count).toBe(2)
    expect(numbersOf(await hear(1, first!.position))).toEqual([1])
  })

  it('in a transaction that is still open is not missed, either', async () => {
    await subscribe(seller, HOOK)
    await write(app.ctx, 1)
    await write(app.ctx, 2)
    const [first, second] = await hear(2, start)
    const resend = (db: Context['db'], id: number) =>
      db`update deliveries set resent_in = pg_current_xact_id() where event_id = ${id}`
    const written = Promise.withResolvers<void>()
    const told = Promise.withResolvers<void>()
    const committed = inTransaction(app.ctx, async ({ db }) => {
      await resend(db, first!.id)
      written.resolve()
      await told.promise
    })
    await written.promise
    await resend(app.ctx.db, second!.id)
    expect(await heardAfter(second!.position)).toEqual([])
    told.resolve()
    await committed
    expect(numbersOf(await hear(2, second!.position))).toEqual([1, 2])
  })
})

describe('a follower', () => {
  it('hears at once what is committed, and of itself what an older transaction held back', async () => {
    const ended = new AbortController()
    const heard: StreamedEvent[] = []
    const following = (async () => {
      const options = { ended: ended.signal, silenceMs: 60_000 }
      for await (const events of followEvents(app.ctx, seller.accountId, start, options)) {
        heard.push(...events)
      }
    })()
    const early = await openTransaction(1)
    await write(app.ctx, 2)
    // Nobody is woken: the event is written beside the verb, as in a process that dies.
    const signal = Object.assign(async () => {}, {
      deferUntilCommit: app.ctx.signal.deferUntilCommit,
    })
    await write({ ...app.ctx, signal }, 3)
    await early.commit()
    await until('all three are heard', () => heard.length === 3)
    ended.abort()
    await following
    expect(numbersOf(heard)).toEqual([1, 2, 3])
  })

  it('says that nothing happens when nothing does', async () => {
    const ended = new AbortController()
    const options = { ended: ended.signal, silenceMs: 0 }
    const following = followEvents(app.ctx, seller.accountId, start, options)
    expect((await following.next()).value).toEqual([])
    ended.abort()
    expect((await following.next()).done).toBe(true)
  })

  it('that is ended leaves nothing behind', async () => {
    let listeners = 0
    const signals: Signals = {
      ...app.ctx.signals,
      on(topic, notified) {
        listeners++
        const unsubscribe = app.ctx.signals.on(topic, notified)
        return () => {
          listeners--
          unsubscribe()
        }
      },
    }
    const ended = new AbortController()
    const options = { ended: ended.signal, silenceMs: 60_000 }
    const following = followEvents({ ...app.ctx, signals }, seller.accountId, start, options)
    const next = following.next()
    expect(listeners).toBe(1)
    ended.abort()
    expect((await next).done).toBe(true)
    expect(listeners).toBe(0)
  })
})

describe('a position', () => {
  it('is written and read again', () => {
    const position = { transaction: '4611686018427387904', eventId: 512 }
    expect(positionText(position)).toBe('4611686018427387904-512')
    expect(positionIn('4611686018427387904-512')).toEqual(position)
    for (const text of ['', '7', '7-', '-7', '7-8-9', '07-1', '7-01', '7 - 8', '7-1e3', '-7-8']) {
      expect(positionIn(text), text).toBeUndefined()
    }
    expect(positionIn(`${'9'.repeat(20)}-1`)).toBeUndefined()
  })

  it('of another database is told from one that was reached', async () => {
    expect(await hasReached(app.ctx, start)).toBe(true)
    expect(await hasReached(app.ctx, { transaction: '9'.repeat(19), eventId: 1 })).toBe(false)
  })
})
