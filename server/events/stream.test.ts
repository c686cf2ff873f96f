import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Signals } from '../database/signals.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { deliveriesIn, sendSampleEvent, subscribe } from '../test/fakes/receiver.ts'
import { NO_LIMITS } from '../test/fixtures/listings.ts'
import { until } from '../test/until.ts'
import { followEvents, watchEvents } from './follow.ts'
import { recordEvent } from './record.ts'
import {
  currentPosition,
  eventsAfter,
  hasReached,
  MAX_BATCH,
  type Position,
  positionIn,
  positionText,
  type StreamedEvent,
} from './stream.ts'

let app: TestApp
let seller: Seller
let start: Position

beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
})

beforeEach(async () => {
  seller = await app.seller()
  start = await currentPosition(app.ctx)
})

/** All visible events after a position, read in batches. */
async function readAfter(position: Position): Promise<StreamedEvent[]> {
  const events: StreamedEvent[] = []
  for (;;) {
    const after = events.at(-1)?.position ?? position
    const batch = await eventsAfter(app.ctx, seller.accountId, after)
    if (batch.length === 0) return events
    events.push(...batch)
  }
}

/** Waits until `count` events are visible: open transactions in other databases of the server hold events back. */
const read = async (count: number, position: Position): Promise<StreamedEvent[]> => {
  await until(
    `${count} events are visible`,
    async () => (await readAfter(position)).length >= count,
  )
  return readAfter(position)
}

/** Records an event that contains a number. */
const write = (ctx: Context, order_id: number) =>
  recordEvent(ctx, {
    accountId: seller.accountId,
    event: 'order.cancelled',
    data: { order_id, cancelled_by: 'buyer' },
  })

const numbersOf = (events: StreamedEvent[]) => events.map(({ data }) => JSON.parse(data).order_id)

/** A transaction that records an event and stays open until `commit`. */
async function openTransaction(order_id: number) {
  const written = Promise.withResolvers<void>()
  const permitted = Promise.withResolvers<void>()
  const committed = inTransaction(app.ctx, async (tx) => {
    await write(tx, order_id)
    written.resolve()
    await permitted.promise
  })
  await written.promise
  return {
    commit() {
      permitted.resolve()
      return committed
    },
  }
}

describe('the stream', () => {
  it('the stream contains each event of its account after a position, once, with its recorded data', async () => {
    await write(app.ctx, 1)
    await sendSampleEvent(app, (await app.seller()).accountId)
    await write(app.ctx, 2)
    const events = await read(2, start)
    expect(numbersOf(events)).toEqual([1, 2])
    expect(events[0]).toMatchObject({
      event: 'order.cancelled',
      data: '{"order_id":1,"cancelled_by":"buyer"}',
      createdAt: expect.any(Date),
    })
    expect(numbersOf(await readAfter(events[0]!.position))).toEqual([2])
    expect(await readAfter(events[1]!.position)).toEqual([])
    await until('the current position is after them', async () => {
      return (await readAfter(await currentPosition(app.ctx))).length === 0
    })
  })

  it('the stream neither misses nor repeats the event of a transaction that begins first and commits last', async () => {
    const early = await openTransaction(1)
    await write(app.ctx, 2)
    expect(await readAfter(start)).toEqual([])
    await early.commit()
    await write(app.ctx, 3)
    const events = await read(3, start)
    expect(numbersOf(events)).toEqual([1, 2, 3])
    for (const [i, { position }] of events.entries()) {
      expect(numbersOf(await readAfter(position))).toEqual([1, 2, 3].slice(i + 1))
    }
  })

  it('a stream from the current position contains the events of open transactions', async () => {
    const early = await openTransaction(1)
    const begun = await currentPosition(app.ctx)
    await early.commit()
    expect(numbersOf(await read(1, begun))).toEqual([1])
  })

  it('the stream neither misses nor repeats events while many transactions write', async () => {
    const events: StreamedEvent[] = []
    const readMore = async () => {
      events.push(
        ...(await eventsAfter(app.ctx, seller.accountId, events.at(-1)?.position ?? start)),
      )
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
    while (writing) await readMore()
    await written
    await until('all events are visible', async () => {
      await readMore()
      return events.length >= numbers.length
    })
    expect(numbersOf(events).toSorted((a, b) => a - b)).toEqual(numbers)
  })

  it('events of one transaction are split into batches', async () => {
    await inTransaction(app.ctx, async (tx) => {
      for (let n = 0; n < MAX_BATCH + 20; n++) await write(tx, n)
    })
    const events = await read(MAX_BATCH + 20, start)
    expect(numbersOf(events)).toEqual(Array.from({ length: MAX_BATCH + 20 }, (_, n) => n))
    const batch = await eventsAfter(app.ctx, seller.accountId, start)
    expect(batch).toEqual(events.slice(0, MAX_BATCH))
  })
})

describe('resends', () => {
  const HOOK = 'https://93.184.215.14/hook'

  it('a resend repeats the event with its id and data', async () => {
    const endpoint = await subscribe(seller, HOOK)
    await write(app.ctx, 1)
    await write(app.ctx, 2)
    const [first, second] = await read(2, start)
    const [, delivery] = await deliveriesIn(app, `endpoint_id=${endpoint.id}`)
    let last = second!
    for (let time = 1; time <= 2; time++) {
      await app.operator.post(`/operator/v1/deliveries/${delivery.id}/resend`)
      const [again, ...others] = await read(1, last.position)
      expect(others).toEqual([])
      expect(again).toEqual({ ...first, position: again!.position })
      expect(again!.position).not.toEqual(first!.position)
      last = again!
    }
  })

  it('resending all missed deliveries of an endpoint repeats each event in order', async () => {
    const endpoint = await subscribe(seller, HOOK)
    await app.ctx.db`update webhook_endpoints set disabled_at = now() where id = ${endpoint.id}`
    const numbers = Array.from({ length: MAX_BATCH + 20 }, (_, n) => n)
    for (const n of numbers) await write(app.ctx, n)
    const first = await read(numbers.length, start)
    const path = `/operator/v1/accounts/${seller.accountId}/webhooks/${endpoint.id}`
    await app.operator.post(`${path}/enable`)
    const { body } = await app.operator.post(`${path}/resend`, {
      payload: { from: '2026-01-01', to: '2126-01-01' },
    })
    expect(body.data.deliveries).toBe(numbers.length)
    const again = await read(numbers.length, first.at(-1)!.position)
    expect(again.map(({ id }) => id)).toEqual(first.map(({ id }) => id))
  })

  it('a resend to several endpoints in one transaction repeats the event once', async () => {
    await subscribe(seller, HOOK)
    await subscribe(seller, HOOK)
    await write(app.ctx, 1)
    const [first] = await read(1, start)
    const { count } = await app.ctx.db`
      update deliveries set resent_in = pg_current_xact_id()
      where endpoint_id in (select id from webhook_endpoints where account_id = ${seller.accountId})
    `
    expect(count).toBe(2)
    expect(numbersOf(await read(1, first!.position))).toEqual([1])
  })

  it('the stream does not miss a resend by an open transaction', async () => {
    await subscribe(seller, HOOK)
    await write(app.ctx, 1)
    await write(app.ctx, 2)
    const [first, second] = await read(2, start)
    const resend = (db: Context['db'], id: number) =>
      db`update deliveries set resent_in = pg_current_xact_id() where event_id = ${id}`
    const written = Promise.withResolvers<void>()
    const permitted = Promise.withResolvers<void>()
    const committed = inTransaction(app.ctx, async ({ db }) => {
      await resend(db, first!.id)
      written.resolve()
      await permitted.promise
    })
    await written.promise
    await resend(app.ctx.db, second!.id)
    expect(await readAfter(second!.position)).toEqual([])
    permitted.resolve()
    await committed
    expect(numbersOf(await read(2, second!.position))).toEqual([1, 2])
  })
})

describe('followEvents', () => {
  it('a follower gets committed events, and by polling those that an older transaction held back', async () => {
    const ended = new AbortController()
    const events: StreamedEvent[] = []
    const following = (async () => {
      const options = { ended: ended.signal, silenceMs: 60_000 }
      for await (const batch of followEvents(app.ctx, seller.accountId, start, options)) {
        events.push(...batch)
      }
    })()
    const early = await openTransaction(1)
    await write(app.ctx, 2)
    // Without a signal, as from a process that dies after the commit.
    const signal = Object.assign(async () => {}, {
      deferUntilCommit: app.ctx.signal.deferUntilCommit,
    })
    await write({ ...app.ctx, signal }, 3)
    await early.commit()
    await until('all three events are visible', () => events.length === 3)
    ended.abort()
    await following
    expect(numbersOf(events)).toEqual([1, 2, 3])
  })

  it('followers read only when their account has events, whatever other accounts sell', async () => {
    const reads: number[] = []
    const db = Object.assign((...query: Parameters<Context['db']>) => {
      const [text, ...values] = query
      if (String(text).includes('e.created_at as "createdAt"')) reads.push(Number(values[0]))
      return app.ctx.db(...query)
    }, app.ctx.db)
    const ctx = { db, eventWatch: watchEvents({ db, signals: app.ctx.signals }) }
    const ended = new AbortController()
    const options = { ended: ended.signal, silenceMs: 60_000 }
    const others = await Promise.all(Array.from({ length: 10 }, () => app.seller()))
    const following = [seller, ...others].map(async ({ accountId }) => {
      const got: number[] = []
      for await (const batch of followEvents(ctx, accountId, start, options)) {
        got.push(...numbersOf(batch))
        if (got.includes(20)) break
      }
      return got
    })
    for (let n = 1; n <= 20; n++) await write(app.ctx, n)
    expect((await following[0])!.at(-1)).toBe(20)
    ended.abort()
    await Promise.all(following)
    for (const { accountId } of others) {
      expect(reads.filter((reader) => reader === accountId)).toHaveLength(1)
    }
  })

  it('a follower gets an empty batch as a heartbeat', async () => {
    const ended = new AbortController()
    const options = { ended: ended.signal, silenceMs: 0 }
    const following = followEvents(app.ctx, seller.accountId, start, options)
    expect((await following.next()).value).toEqual([])
    ended.abort()
    expect((await following.next()).done).toBe(true)
  })

  it('an ended follower leaves no subscription behind', async () => {
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
    const ctx = { ...app.ctx, eventWatch: watchEvents({ ...app.ctx, signals }) }
    const following = followEvents(ctx, seller.accountId, start, options)
    const next = following.next()
    expect(listeners).toBe(1)
    ended.abort()
    expect((await next).done).toBe(true)
    expect(listeners).toBe(0)
  })
})

describe('positions', () => {
  it('a position survives conversion to text, and malformed text is not a position', () => {
    const position = { transaction: '4611686018427387904', eventId: 512 }
    expect(positionText(position)).toBe('4611686018427387904-512')
    expect(positionIn('4611686018427387904-512')).toEqual(position)
    for (const text of ['', '7', '7-', '-7', '7-8-9', '07-1', '7-01', '7 - 8', '7-1e3', '-7-8']) {
      expect(positionIn(text), text).toBeUndefined()
    }
    expect(positionIn(`${'9'.repeat(20)}-1`)).toBeUndefined()
  })

  it('positions of a restored dump stay valid on a server with lower transaction ids, without gaps or repeats', async () => {
    await subscribe(seller, 'https://93.184.215.14/hook')
    await write(app.ctx, 1)
    await write(app.ctx, 2)
    await read(2, start)
    const end = await currentPosition(app.ctx)
    const { db } = app.ctx
    // The server of the dump was a billion transactions ahead, and another one.
    const ahead = (xid: string) => String(BigInt(xid) + 10n ** 9n)
    const { accountId } = seller
    for (const { id, position } of await readAfter(start)) {
      await db`update events set written_in = ${ahead(position.transaction)} where id = ${id}`
    }
    await db`update server_epoch set system_identifier = 1`
    const [early, late] = await db<{ id: number; transaction: string }[]>`
      select id, written_in as transaction from events where account_id = ${accountId} order by id
    `
    await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })

    await write(app.ctx, 3)
    const [delivery] = await deliveriesIn(app, `account_id=${accountId}`)
    await app.operator.post(`/operator/v1/deliveries/${delivery.id}/resend`)
    for (const [position, numbers] of [
      [{ transaction: early!.transaction, eventId: early!.id }, [2, 3, 3]],
      [{ transaction: late!.transaction, eventId: late!.id }, [3, 3]],
      [{ transaction: ahead(end.transaction), eventId: 0 }, [3, 3]],
    ] as const) {
      expect(await hasReached(app.ctx, position)).toBe(true)
      expect(numbersOf(await read(numbers.length, position))).toEqual(numbers)
    }
    await until('a new stream begins after the events of the dump', async () => {
      return (await readAfter(await currentPosition(app.ctx))).length === 0
    })
  })

  it('a position ahead of the database has not been reached', async () => {
    expect(await hasReached(app.ctx, start)).toBe(true)
    expect(await hasReached(app.ctx, { transaction: '9'.repeat(19), eventId: 1 })).toBe(false)
  })
})
