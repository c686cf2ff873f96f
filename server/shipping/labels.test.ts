import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type Carrier, CarrierError, type CarrierShipment } from '../carriers/carrier.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { advance, NO_LIMITS } from '../test/fixtures/listings.ts'
import { type InsertedSlice, insertSlice } from '../test/fixtures/orders.ts'
import { until } from '../test/until.ts'
import { startCarrierPoll } from './carrier-poll.ts'

let app: TestApp
let seller: Awaited<ReturnType<TestApp['seller']>>
/** What the sandbox's carrier does when nobody interferes. */
let simulated: Carrier
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
  seller = await app.seller()
  simulated = app.ctx.carrier!
})

/** What was asked of the carrier, in order. */
let asked: string[]
beforeEach(async () => {
  asked = []
  interfere({})
  // What one test left to ask after is no business of the next.
  await app.ctx.db`truncate shipments`
})

/** The simulated carrier, with some of its answers replaced. */
function interfere(answers: Partial<Carrier>, of = app) {
  const noted = (name: 'buy' | 'find' | 'read' | 'label') => {
    const answer = (answers[name] ?? simulated[name]) as (input: never) => Promise<never>
    return (input: never) => {
      asked.push(name)
      return answer(input)
    }
  }
  of.ctx.carrier = {
    provider: answers.provider ?? 'simulated',
    buy: noted('buy'),
    find: noted('find'),
    read: noted('read'),
    label: noted('label'),
  }
}

const order = (options?: Parameters<typeof insertSlice>[2]) =>
  insertSlice(app.ctx.db, seller.accountId, { now: app.ctx.now(), ...options })
const label = ({ orderIds }: InsertedSlice) => seller.post(`/v1/orders/${orderIds[0]}/label`)
const shipmentOf = async ({ sliceId }: InsertedSlice) => {
  const [row] = await app.ctx.db`select * from shipments where slice_id = ${sliceId}`
  return row
}
const bought = async () => {
  const [row] = await app.ctx.db`select count(*)::int as count from simulated_shipments`
  return row!.count as number
}
const toldOf = async ({ orderIds }: InsertedSlice) => {
  const rows = await app.ctx.db<{ data: string }[]>`
    select data from events where event = 'order.label_ready' order by id
  `
  return rows.map(({ data }) => JSON.parse(data)).filter((data) => orderIds.includes(data.order_id))
}
const timeOut = (): never => {
  throw new CarrierError('unknown', 'The carrier did not answer in time: raw words of theirs.')
}

describe('a purchase whose answer never came', () => {
  it('is found by the next call, which buys nothing', async () => {
    const parcel = await order()
    const before = await bought()
    interfere({
      async buy(parcel) {
        await simulated.buy(parcel)
        return timeOut()
      },
    })
    const { status, body, text } = await label(parcel)
    expect([status, body.error.type]).toEqual([502, 'provider_error'])
    expect(text).not.toContain('raw words')
    expect(await toldOf(parcel)).toEqual([])

    interfere({})
    asked = []
    expect((await label(parcel)).body.data).toMatchObject({ status: 'ready', shipped_lines: 1 })
    expect(asked).toEqual(['find', 'label'])
    expect(await bought()).toBe(before + 1)
    expect(await toldOf(parcel)).toHaveLength(1)
  })

  it('covers the rows that it was bought for, whatever has become of them when it is found', async () => {
    const [found, lost] = [await order({ rows: 3 }), await order({ rows: 3 })]
    interfere({
      async buy(parcel) {
        if (parcel.sliceKey === found.sliceKey) await simulated.buy(parcel)
        return timeOut()
      },
    })
    for (const parcel of [found, lost]) {
      await label(parcel)
      await app.operator.post(`/operator/v1/orders/${parcel.orderIds[1]}/cancel`, {
        payload: { cancelled_by: 'buyer' },
      })
    }
    interfere({})
    expect((await label(found)).body.data.shipped_lines).toBe(3)
    expect((await label(lost)).body.data.shipped_lines).toBe(2)
  })

  it('is found by a poll if nobody calls, and told of as if the call had ended well', async () => {
    const parcel = await order()
    interfere({
      async buy(parcel) {
        await simulated.buy(parcel)
        return timeOut()
      },
    })
    await label(parcel)
    interfere({})
    await app.runPolls()
    expect(await toldOf(parcel)).toEqual([])
    await advance(app.operator, 60)
    asked = []
    await app.runPolls()
    expect(asked).toEqual(['find', 'label'])
    expect(await toldOf(parcel)).toEqual([expect.objectContaining({ has_label: true })])
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect(await toldOf(parcel)).toHaveLength(1)
  })

  it('that never arrived is bought by the next call, under the same reference; a poll buys nothing', async () => {
    const parcel = await order()
    const references: string[] = []
    interfere({
      async buy({ reference }) {
        references.push(reference)
        return timeOut()
      },
    })
    await label(parcel)
    await advance(app.operator, 3_600)
    await app.runPolls()
    await label(parcel)
    expect(asked).toEqual(['buy', 'find', 'find', 'buy'])
    interfere({
      async buy(parcel) {
        references.push(parcel.reference)
        return simulated.buy(parcel)
      },
    })
    expect((await label(parcel)).status).toBe(200)
    expect(references).toHaveLength(3)
    expect(new Set(references).size).toBe(1)
  })

  it('is not bought while nobody can say whether it was', async () => {
    const parcel = await order()
    interfere({ buy: timeOut })
    await label(parcel)
    interfere({ find: timeOut })
    asked = []
    expect((await label(parcel)).status).toBe(502)
    interfere({
      find: async () => {
        throw new CarrierError('refused', 'Too many requests.')
      },
    })
    expect((await label(parcel)).status).toBe(502)
    expect(asked).toEqual(['find', 'find'])
    interfere({})
    asked = []
    await label(parcel)
    expect(asked).toEqual(['find', 'buy', 'label'])
  })

  it('is looked up though no row is left to ship; what was not bought then stays unbought', async () => {
    const [arrived, lost] = [await order(), await order()]
    interfere({
      async buy(parcel) {
        if (parcel.sliceKey === arrived.sliceKey) await simulated.buy(parcel)
        return timeOut()
      },
    })
    for (const parcel of [arrived, lost]) {
      await label(parcel)
      await app.operator.post(`/operator/v1/orders/${parcel.orderIds[0]}/cancel`, {
        payload: { cancelled_by: 'buyer' },
      })
    }
    interfere({})
    const before = await bought()
    expect((await label(arrived)).body.data).toMatchObject({ status: 'ready', shipped_lines: 1 })
    expect((await label(lost)).status).toBe(409)
    expect(await bought()).toBe(before)
  })

  it('is asked of the carrier that may have it alone', async () => {
    const parcel = await order()
    interfere({ buy: timeOut })
    await label(parcel)
    interfere({ provider: 'another' })
    asked = []
    expect((await label(parcel)).status).toBe(502)
    await advance(app.operator, 3_600)
    await app.runPolls()
    expect(asked).toEqual([])
  })
})

describe('a purchase that the carrier refused', () => {
  it('is not looked up: the next call buys', async () => {
    const parcel = await order()
    interfere({
      buy: async () => {
        throw new CarrierError('refused', 'No such street.')
      },
    })
    expect((await label(parcel)).status).toBe(502)
    await advance(app.operator, 3_600)
    await app.runPolls()
    interfere({})
    expect((await label(parcel)).status).toBe(200)
    expect(asked).toEqual(['buy', 'buy', 'label'])
  })

  it('and whose second try got no answer is looked up', async () => {
    const parcel = await order()
    interfere({
      buy: async () => {
        throw new CarrierError('refused', 'No such street.')
      },
    })
    await label(parcel)
    interfere({ buy: timeOut })
    await label(parcel)
    interfere({})
    await label(parcel)
    expect(asked).toEqual(['buy', 'buy', 'find', 'buy', 'label'])
  })

  it('and whose second try died with its process is looked up', async () => {
    const parcel = await order()
    interfere({
      buy: async () => {
        throw new CarrierError('refused', 'No such street.')
      },
    })
    await label(parcel)
    const { promise: never, resolve: end } = Promise.withResolvers<never>()
    onTestFinished(() => end(undefined as never))
    interfere({ buy: () => never })
    asked = []
    label(parcel).catch(() => {})
    await until('it is being bought', () => asked.includes('buy'))
    await app.ctx.db`
      update shipments set leased_until = clock_timestamp() where slice_id = ${parcel.sliceId}
    `
    interfere({})
    await label(parcel)
    expect(asked).toEqual(['buy', 'find', 'buy', 'label'])
  })

  it('and then failed in another way is looked up', async () => {
    const parcel = await order()
    interfere({
      buy: async () => {
        throw new TypeError('a mistake of ours')
      },
    })
    expect((await label(parcel)).status).toBe(500)
    interfere({})
    await label(parcel)
    expect(asked).toEqual(['buy', 'find', 'buy', 'label'])
  })
})

describe('twenty calls at once', () => {
  it('ask the carrier for one shipment', async () => {
    const parcel = await order({ rows: 2 })
    const answers = await Promise.all(Array.from({ length: 20 }, () => label(parcel)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(asked).toEqual(['buy', 'label'])
  })
})

describe('a call while another is buying', () => {
  /** A carrier that answers a purchase when it's let. */
  function slowCarrier() {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    interfere({
      async buy(parcel) {
        const shipment = await simulated.buy(parcel)
        await answered
        return shipment
      },
    })
    onTestFinished(() => answer())
    return answer
  }

  it('gets its result', async () => {
    const answer = slowCarrier()
    const parcel = await order({ rows: 2 })
    const [first, second] = [label(parcel), label(parcel)]
    await until('it is being bought', () => asked.includes('buy'))
    answer()
    const [a, b] = [(await first).body.data, (await second).body.data]
    expect(a.tracking_code).toBe(b.tracking_code)
    expect(a.label_url).not.toBe(b.label_url)
    expect(asked).toEqual(['buy', 'label'])
    expect(await toldOf(parcel)).toHaveLength(1)
  })

  it('does not ask again for a label that is to come: the other has just been told', async () => {
    await app.operator.put('/operator/v1/sandbox/carrier', { payload: { label: 'processing' } })
    onTestFinished(async () => {
      await app.operator.put('/operator/v1/sandbox/carrier', { payload: {} })
    })
    const answer = slowCarrier()
    const parcel = await order()
    const { begin } = app.ctx
    let looked = 0
    app.ctx.begin = async (...work) => {
      try {
        return await begin(...work)
      } finally {
        looked++
      }
    }
    const calls = [label(parcel), label(parcel), label(parcel)]
    await until('all have looked', () => looked === 3 && asked.includes('buy'))
    app.ctx.begin = begin
    answer()
    for (const { body } of await Promise.all(calls)) expect(body.data.status).toBe('processing')
    expect(asked).toEqual(['buy'])
  })

  it('waits for ten seconds, then it is 409', async () => {
    const answer = slowCarrier()
    const parcel = await order()
    const first = label(parcel)
    await until('it is being bought', () => asked.includes('buy'))
    const began = performance.now()
    const { status, body } = await label(parcel)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
    expect(performance.now() - began).toBeGreaterThan(9_900)
    answer()
    expect((await first).status).toBe(200)
    expect((await label(parcel)).status).toBe(200)
    expect(asked).toEqual(['buy', 'label'])
  })

  it('goes on in its place when the other fails', async () => {
    const { promise: answered, resolve: fail } = Promise.withResolvers<void>()
    let calls = 0
    interfere({
      async buy(parcel) {
        if (++calls > 1) return simulated.buy(parcel)
        await answered
        throw new CarrierError('refused', 'No.')
      },
    })
    const parcel = await order()
    const first = label(parcel)
    await until('it is being bought', () => asked.includes('buy'))
    const second = label(parcel)
    fail()
    expect((await first).status).toBe(502)
    expect((await second).status).toBe(200)
  })

  it('takes over from one that was taken for dead, whose answer then changes nothing', async () => {
    const answer = slowCarrier()
    const parcel = await order()
    const before = await bought()
    const first = label(parcel)
    await until('the carrier has it', async () => (await bought()) === before + 1)
    await app.ctx.db`
      update shipments set leased_until = clock_timestamp() where slice_id = ${parcel.sliceId}
    `
    const second = (await label(parcel)).body.data
    expect(asked).toEqual(['buy', 'find', 'label'])
    answer()
    expect((await first).body.data).toMatchObject({
      status: 'ready',
      tracking_code: second.tracking_code,
    })
    expect(await bought()).toBe(before + 1)
    expect(await toldOf(parcel)).toHaveLength(1)
  })
})

describe('what the carrier says', () => {
  const answering = (said: Partial<CarrierShipment>) => ({
    read: async (id: string): Promise<CarrierShipment> => ({
      id,
      status: 'ready',
      message: null,
      trackingCode: null,
      trackingUrl: null,
      trackingStatus: null,
      ...said,
    }),
  })

  it('never takes a code away', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    const { tracking_code, tracking_url } = (await label(parcel)).body.data
    expect(tracking_code).toMatch(/^SIM/)
    interfere(answering({ status: 'processing' }))
    expect((await label(parcel)).body.data).toMatchObject({ tracking_code, tracking_url })
    expect(await toldOf(parcel)).toHaveLength(1)
    interfere(answering({ status: 'ready' }))
    expect((await label(parcel)).body.data).toMatchObject({ tracking_code, tracking_url })
    expect((await toldOf(parcel)).map((data) => data.tracking_code)).toEqual([
      tracking_code,
      tracking_code,
    ])
  })

  it('never takes a label away', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), trackingCode: null }),
    })
    expect((await label(parcel)).body.data.status).toBe('ready')
    for (const status of ['processing', 'action_required'] as const) {
      interfere(answering({ status, message: 'Mend it.' }))
      const { body } = await label(parcel)
      expect(body.data).toMatchObject({ status: 'ready', message: null })
      expect(body.data.label_url).toBeTruthy()
    }
    expect(await toldOf(parcel)).toHaveLength(1)
  })

  it('moves a code of its own, and tells of it', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    await label(parcel)
    interfere(answering({ status: 'processing', trackingCode: 'OTHER' }))
    expect((await label(parcel)).body.data).toMatchObject({
      tracking_code: 'OTHER',
      tracking_url: null,
    })
    expect((await toldOf(parcel)).map((data) => data.tracking_code)).toEqual([
      expect.stringMatching(/^SIM/),
      'OTHER',
    ])
  })

  it('of a label that can’t be fetched or stored yet is `processing`, until it can', async () => {
    const parcel = await order()
    interfere({ label: timeOut })
    expect((await label(parcel)).body.data).toMatchObject({ status: 'processing', label_url: null })
    const { files } = app.ctx
    interfere({})
    app.ctx.files = { ...files, put: () => Promise.reject(new Error('The disk is full.')) }
    expect((await label(parcel)).body.data.status).toBe('processing')
    app.ctx.files = files
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect((await toldOf(parcel)).map((data) => data.has_label)).toEqual([false, true])
  })

  it('is not asked inside a transaction', async () => {
    const parcel = await order()
    const open: unknown[] = []
    const look = async () => {
      open.push(
        ...(await app.ctx.db`
          select query
          from pg_stat_activity
          where datname = current_database() and state = 'idle in transaction'
        `),
      )
    }
    interfere({
      async buy(parcel) {
        await look()
        return { ...(await simulated.buy(parcel)), status: 'processing' }
      },
      async read(id) {
        await look()
        return simulated.read(id)
      },
      async label(id) {
        await look()
        return simulated.label(id)
      },
    })
    await label(parcel)
    await label(parcel)
    expect(asked).toEqual(['buy', 'read', 'label'])
    expect(open).toEqual([])
  })
})

describe('the worker that asks after labels', () => {
  it('does so by itself once the clock says so', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    await label(parcel)
    interfere({})
    const worker = startCarrierPoll(app.ctx, { pollIntervalMs: 3_600_000 })
    onTestFinished(() => worker.stop())
    await advance(app.operator, 60)
    // The lease ends in a statement of its own, after the event.
    const shipment = await until('the poll has ended', async () => {
      const found = await shipmentOf(parcel)
      return found?.status === 'ready' && found.leased_until === null && found
    })
    expect(shipment.poll_at).toBeNull()
    expect(await toldOf(parcel)).toHaveLength(2)
  })

  it('asks again later when the carrier fails, and goes on with the others', async () => {
    const [failing, other] = [await order(), await order()]
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    await label(failing)
    await label(other)
    const { carrier_id: id } = (await shipmentOf(failing))!
    interfere({ read: async (asked) => (asked === id ? timeOut() : simulated.read(asked)) })
    await advance(app.operator, 60)
    await app.runPolls()
    expect(await shipmentOf(failing)).toMatchObject({ status: 'processing', leased_until: null })
    expect((await shipmentOf(other))!.status).toBe('ready')
    interfere({})
    await advance(app.operator, 300)
    await app.runPolls()
    expect((await shipmentOf(failing))!.status).toBe('ready')
  })

  it('shares the work with those of other processes: each shipment is asked after once', async () => {
    const twin = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { STORAGE_URL: app.ctx.config.storageUrl },
    })
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    for (let i = 0; i < 6; i++) await label(await order())
    interfere({})
    interfere({}, twin)
    asked = []
    await advance(app.operator, 60)
    await until(
      'the other clock follows',
      () => Math.abs(twin.ctx.now().getTime() - app.ctx.now().getTime()) < 1_000,
    )
    await Promise.all([app.runPolls(), twin.runPolls()])
    expect(asked.filter((name) => name === 'read')).toHaveLength(6)
  })
})
