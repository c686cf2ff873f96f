import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  CANCELLATION_REQUESTED,
  type Carrier,
  CarrierError,
  type CarrierShipment,
  MissingShipmentError,
} from '../carriers/carrier.ts'
import type { FileStore } from '../files/file-store.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { advance, NO_LIMITS } from '../test/fixtures/listings.ts'
import { BUYER, type InsertedSlice, insertSlice } from '../test/fixtures/orders.ts'
import { sampleValue } from '../test/metrics.ts'
import { until } from '../test/until.ts'
import { whileReplaced } from '../test/while-replaced.ts'
import { startCarrierPoll } from './carrier-poll.ts'
import { buyLabels } from './several-labels.ts'
import { recordReading } from './shipments.ts'

const NO_REQUEST = { mayRequestLabel: false }

let app: TestApp
let seller: Seller
/** The sandbox's carrier, unchanged. */
let simulated: Carrier
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
  seller = await app.seller()
  simulated = app.ctx.carrier!
})

/** The calls of the carrier, in order. */
let calls: string[]
beforeEach(async () => {
  calls = []
  interfere({})
  // Polls of one test must not run in the next.
  await app.ctx.db`truncate shipments`
})

/** Replaces methods of the simulated carrier, and records all calls. */
function interfere(methods: Partial<Carrier>, of = app) {
  const recorded = (name: 'buy' | 'find' | 'read' | 'label') => {
    const method = (methods[name] ?? simulated[name]) as (input: never) => Promise<never>
    return (...inputs: never[]) => {
      calls.push(name)
      return (method as (...inputs: never[]) => Promise<never>)(...inputs)
    }
  }
  of.ctx.carrier = {
    provider: methods.provider ?? 'simulated',
    buy: recorded('buy'),
    find: recorded('find'),
    read: recorded('read'),
    label: recorded('label'),
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
const eventsOf = async ({ orderIds }: InsertedSlice) => {
  const rows = await app.ctx.db<{ data: string }[]>`
    select data from events where event = 'order.label_ready' order by id
  `
  return rows.map(({ data }) => JSON.parse(data)).filter((data) => orderIds.includes(data.order_id))
}
const timeOut = (): never => {
  throw new CarrierError(
    'unknown',
    'The carrier did not respond in time: raw words of the carrier.',
  )
}

const refuse = (): never => {
  throw new CarrierError('refused', 'No such street.')
}

const isMissing = (): never => {
  throw new MissingShipmentError('The carrier has no such shipment.')
}

const cancelAsSeller = ({ orderIds }: { orderIds: number[] }) =>
  seller.post(`/tools/v1/orders/${orderIds[0]}/cancel`, { payload: { reason: 'other' } })

/** Polls every hour. All polls but the last two are only counted: a week of them would take seconds. */
async function pollHourly(hours: number): Promise<void> {
  const counted = Math.max(hours - 2, 0)
  await app.ctx.db`update shipments set polls = polls + ${counted} where poll_at is not null`
  await advance(app.operator, counted * 3_600)
  for (let hour = counted; hour < hours; hour++) {
    await advance(app.operator, 3_600)
    await app.runPolls()
  }
}

describe('a purchase whose response is lost', () => {
  it('the next label call finds a shipment whose response was lost, and buys nothing', async () => {
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
    expect(await eventsOf(parcel)).toEqual([])

    interfere({})
    calls = []
    expect((await label(parcel)).body.data).toMatchObject({ status: 'ready', shipped_lines: 1 })
    expect(calls).toEqual(['find', 'label'])
    expect(await bought()).toBe(before + 1)
    expect(await eventsOf(parcel)).toHaveLength(1)
  })

  it('a shipment that is found later covers the rows of its purchase, even a row cancelled since', async () => {
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

  it('without a further label call, a poll finds the shipment and records its event once', async () => {
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
    expect(await eventsOf(parcel)).toEqual([])
    await advance(app.operator, 60)
    calls = []
    await app.runPolls()
    expect(calls).toEqual(['find', 'label'])
    expect(await eventsOf(parcel)).toEqual([expect.objectContaining({ has_label: true })])
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect(await eventsOf(parcel)).toHaveLength(1)
  })

  it('a purchase that never reached the carrier is repeated by the next call under the same reference, not by a poll', async () => {
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
    expect(calls).toEqual(['buy', 'find', 'find', 'buy'])
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

  it('nothing is bought while the carrier cannot say whether a purchase in doubt exists', async () => {
    const parcel = await order()
    interfere({ buy: timeOut })
    await label(parcel)
    interfere({ find: timeOut })
    calls = []
    expect((await label(parcel)).status).toBe(502)
    interfere({
      find: async () => {
        throw new CarrierError('refused', 'Too many requests.')
      },
    })
    expect((await label(parcel)).status).toBe(502)
    expect(calls).toEqual(['find', 'find'])
    interfere({})
    calls = []
    await label(parcel)
    expect(calls).toEqual(['find', 'buy', 'label'])
  })

  it('a purchase in doubt is looked up although no row is left to ship, and not repeated if it does not exist', async () => {
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

  it('a purchase in doubt is looked up only at its own carrier', async () => {
    const parcel = await order()
    interfere({ buy: timeOut })
    await label(parcel)
    interfere({ provider: 'another' })
    calls = []
    expect((await label(parcel)).status).toBe(502)
    await advance(app.operator, 3_600)
    await app.runPolls()
    expect(calls).toEqual([])
  })

  it('a purchase in doubt whose carrier is no longer configured prevents a cancellation for another week', async () => {
    const parcel = await order()
    interfere({ buy: timeOut })
    await label(parcel)
    const config = { ...app.ctx.config, carrier: undefined }
    await whileReplaced(app.ctx, { config, carrier: undefined }, async () => {
      await advance(app.operator, 6 * 24 * 3_600)
      expect((await cancelAsSeller(parcel)).status).toBe(409)
      await advance(app.operator, 2 * 24 * 3_600)
      expect((await cancelAsSeller(parcel)).status).toBe(200)
    })
  })

  it('a purchase that the carrier doesn’t know after a week of polls, as soon as it answers one, no longer prevents a cancellation', async () => {
    const parcel = await order()
    interfere({ buy: timeOut })
    await label(parcel)
    await pollHourly(7 * 24)
    expect((await cancelAsSeller(parcel)).status).toBe(409)
    interfere({ find: timeOut })
    await pollHourly(4)
    expect((await cancelAsSeller(parcel)).status).toBe(409)
    interfere({})
    await pollHourly(1)
    expect((await cancelAsSeller(parcel)).status).toBe(200)
  })

  it.each([
    ['have bought nothing', [{ buy: refuse }, { find: timeOut }], 200],
    ['may have bought a label', [{ buy: timeOut }], 409],
  ])(
    'calls after a lost response that %s: the week of polls starts over only if they may',
    async (_, failures, status) => {
      const parcel = await order()
      interfere({ buy: timeOut })
      await label(parcel)
      for (let day = 1; day <= 8; day++) {
        interfere({})
        await pollHourly(24)
        if (day > 6) continue
        interfere(failures[day % failures.length]!)
        expect((await label(parcel)).status).toBe(502)
      }
      expect((await cancelAsSeller(parcel)).status).toBe(status)
    },
  )

  it('calls that buy nothing neither hasten nor delay the polls of a purchase in doubt', async () => {
    const parcel = await order()
    interfere({ buy: timeOut })
    await label(parcel)
    interfere({ buy: refuse })
    // Polls are due after 1, 6, 21 and 81 minutes, then hourly.
    for (const minutes of [1, 5, 15, 60, 60].flatMap((wait) => [wait / 2, wait / 2])) {
      await label(parcel)
      await advance(app.operator, minutes * 60)
      await app.runPolls()
    }
    const [shipment] = await app.ctx.db<{ polls: number }[]>`
      select polls from shipments where slice_id = ${parcel.sliceId}
    `
    expect(shipment!.polls).toBe(5)
  })
})

describe('a purchase that the carrier refused', () => {
  it('after a refusal by the carrier the next label call buys without a lookup', async () => {
    const parcel = await order()
    interfere({ buy: refuse })
    expect((await label(parcel)).status).toBe(502)
    await advance(app.operator, 3_600)
    await app.runPolls()
    interfere({})
    expect((await label(parcel)).status).toBe(200)
    expect(calls).toEqual(['buy', 'buy', 'label'])
  })

  it('the operator sees no shipment after a refusal, and one that is being bought after a lost response', async () => {
    const [refused, lost] = [await order(), await order()]
    interfere({
      async buy({ sliceKey }) {
        if (sliceKey === lost.sliceKey) return timeOut()
        return refuse()
      },
    })
    for (const parcel of [refused, lost]) await label(parcel)
    const read = async (path: string) => (await app.operator.get(`/operator/v1/${path}`)).body
    const { data, meta } = await read(`shipments?slice_key=${refused.sliceKey}`)
    expect([data, meta.total]).toEqual([[], 0])
    expect((await read(`slices/${refused.sliceKey}`)).data.shipment).toBeNull()
    expect((await read(`slices/${lost.sliceKey}`)).data.shipment.state).toBe('buying')
    const all = await read('shipments?per_page=100')
    expect(all.data[0].slice_key).toBe(lost.sliceKey)
    expect(all.meta.total).toBe(all.data.length)
  })

  it('after a refusal and a lost response the purchase of a label is looked up', async () => {
    const parcel = await order()
    interfere({ buy: refuse })
    await label(parcel)
    interfere({ buy: timeOut })
    await label(parcel)
    interfere({})
    await label(parcel)
    expect(calls).toEqual(['buy', 'buy', 'find', 'buy', 'label'])
  })

  it('after a refusal and an interrupted attempt the purchase of a label is looked up', async () => {
    const parcel = await order()
    interfere({ buy: refuse })
    await label(parcel)
    const { promise: never, resolve: end } = Promise.withResolvers<never>()
    onTestFinished(() => end(undefined as never))
    interfere({ buy: () => never })
    calls = []
    label(parcel).catch(() => {})
    await until('the label is being bought', () => calls.includes('buy'))
    await app.ctx.db`
      update shipments set leased_until = clock_timestamp() where slice_id = ${parcel.sliceId}
    `
    interfere({})
    await label(parcel)
    expect(calls).toEqual(['buy', 'find', 'buy', 'label'])
  })

  it('after an unexpected error of the carrier the purchase of a label is looked up', async () => {
    const parcel = await order()
    interfere({
      buy: async () => {
        throw new TypeError('a bug')
      },
    })
    expect((await label(parcel)).status).toBe(500)
    interfere({})
    await label(parcel)
    expect(calls).toEqual(['buy', 'find', 'buy', 'label'])
  })
})

describe('concurrent calls', () => {
  it('twenty concurrent label calls buy one shipment', async () => {
    const parcel = await order({ rows: 2 })
    const responses = await Promise.all(Array.from({ length: 20 }, () => label(parcel)))
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(calls).toEqual(['buy', 'label'])
  })
})

describe('a call during the purchase of another', () => {
  /** A carrier that responds to purchases when the returned function is called. */
  function slowCarrier() {
    const { promise: released, resolve: respond } = Promise.withResolvers<void>()
    interfere({
      async buy(parcel) {
        const shipment = await simulated.buy(parcel)
        await released
        return shipment
      },
    })
    onTestFinished(() => respond())
    return respond
  }

  it('a label call waits for the purchase of another call and returns its shipment', async () => {
    const respond = slowCarrier()
    const parcel = await order({ rows: 2 })
    const [first, second] = [label(parcel), label(parcel)]
    await until('the label is being bought', () => calls.includes('buy'))
    respond()
    const [a, b] = [(await first).body.data, (await second).body.data]
    expect(a.tracking_code).toBe(b.tracking_code)
    expect(a.label_url).not.toBe(b.label_url)
    expect(calls).toEqual(['buy', 'label'])
    expect(await eventsOf(parcel)).toHaveLength(1)
  })

  it('a label call that waited does not read a pending shipment again', async () => {
    await app.operator.put('/operator/v1/sandbox/carrier', { payload: { label: 'processing' } })
    onTestFinished(async () => {
      await app.operator.put('/operator/v1/sandbox/carrier', { payload: {} })
    })
    const respond = slowCarrier()
    const parcel = await order()
    const { begin } = app.ctx
    let claimed = 0
    const counting: typeof begin = async (...work) => {
      try {
        return await begin(...work)
      } finally {
        claimed++
      }
    }
    const responses = await whileReplaced(app.ctx, { begin: counting }, async () => {
      const labels = [label(parcel), label(parcel), label(parcel)]
      await until(
        'all calls have tried to claim the purchase',
        () => claimed === 3 && calls.includes('buy'),
      )
      return labels
    })
    respond()
    for (const { body } of await Promise.all(responses)) expect(body.data.status).toBe('processing')
    expect(calls).toEqual(['buy'])
  })

  it('a label call waits for another purchase for ten seconds, then responds with 409', async () => {
    const respond = slowCarrier()
    const parcel = await order()
    const first = label(parcel)
    await until('the label is being bought', () => calls.includes('buy'))
    const began = performance.now()
    const { status, body } = await label(parcel)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
    expect(performance.now() - began).toBeGreaterThan(9_900)
    respond()
    expect((await first).status).toBe(200)
    expect((await label(parcel)).status).toBe(200)
    expect(calls).toEqual(['buy', 'label'])
  })

  it('a label call buys the label when the purchase that it waited for fails', async () => {
    const { promise: released, resolve: fail } = Promise.withResolvers<void>()
    let purchases = 0
    interfere({
      async buy(parcel) {
        if (++purchases > 1) return simulated.buy(parcel)
        await released
        throw new CarrierError('refused', 'No.')
      },
    })
    const parcel = await order()
    const first = label(parcel)
    await until('the label is being bought', () => calls.includes('buy'))
    const second = label(parcel)
    fail()
    expect((await first).status).toBe(502)
    expect((await second).status).toBe(200)
  })

  it('a label call takes over a purchase whose lease has expired, and the late response changes nothing', async () => {
    const respond = slowCarrier()
    const parcel = await order()
    const before = await bought()
    const first = label(parcel)
    await until('the carrier has it', async () => (await bought()) === before + 1)
    await app.ctx.db`
      update shipments set leased_until = clock_timestamp() where slice_id = ${parcel.sliceId}
    `
    const second = (await label(parcel)).body.data
    expect(calls).toEqual(['buy', 'find', 'label'])
    respond()
    expect((await first).body.data).toMatchObject({
      status: 'ready',
      tracking_code: second.tracking_code,
    })
    expect(await bought()).toBe(before + 1)
    expect(await eventsOf(parcel)).toHaveLength(1)
  })

  it('a purchase that is refused after its lease has expired does not end the purchase of the call that took over', async () => {
    const { promise: refused, resolve: refuseFirst } = Promise.withResolvers<void>()
    const { promise: released, resolve: respond } = Promise.withResolvers<void>()
    onTestFinished(() => respond())
    let purchases = 0
    interfere({
      async buy(parcel) {
        if (++purchases === 1) {
          await refused
          return refuse()
        }
        await released
        return simulated.buy(parcel)
      },
    })
    const parcel = await order()
    const first = label(parcel)
    await until('the label is being bought', () => purchases === 1)
    await app.ctx.db`
      update shipments set leased_until = clock_timestamp() where slice_id = ${parcel.sliceId}
    `
    const second = label(parcel)
    await until('the other call is buying it', () => purchases === 2)
    refuseFirst()
    expect((await first).status).toBe(502)
    expect((await cancelAsSeller(parcel)).status).toBe(409)
    respond()
    expect((await second).status).toBe(200)
    expect(calls).toEqual(['buy', 'find', 'buy', 'label'])
  })
})

describe('labels of several orders', () => {
  it('a call for several labels starts no purchase after its time: these orders get provider_error, and a further call buys them', async () => {
    const before = await bought()
    // Enough for a busy machine to start the first purchases, which end after this time.
    const startWithinMs = 1_000
    interfere({ buy: (parcel) => sleep(startWithinMs + 10).then(() => simulated.buy(parcel)) })
    const orders = await Promise.all(Array.from({ length: 6 }, () => order()))
    const orderIds = orders.map(({ orderIds }) => orderIds[0]!)
    const account = { id: seller.accountId, payoutVerified: true }
    const results = await buyLabels(app.ctx, account, orderIds, { startWithinMs })
    const tried = 4
    expect(results.map(({ orderId }) => orderId)).toEqual(orderIds)
    expect(results.slice(0, tried).map((result) => 'label' in result)).toEqual(
      Array(tried).fill(true),
    )
    for (const { error } of results.slice(tried)) {
      expect(error).toMatchObject({ type: 'provider_error', status: 502 })
    }
    expect(await bought()).toBe(before + tried)

    const again = await buyLabels(app.ctx, account, orderIds)
    expect(again.every(({ error }) => error === undefined)).toBe(true)
    expect(await bought()).toBe(before + orders.length)
  })

  it('rows of one slice in a call share its purchase, and none waits while other labels could be bought', async () => {
    const [parcel, other] = [await order({ rows: 5 }), await order()]
    const otherBegun = Promise.withResolvers<void>()
    interfere({
      async buy(bought) {
        if (bought.sliceKey === other.sliceKey) otherBegun.resolve()
        await otherBegun.promise
        return simulated.buy(bought)
      },
    })
    const account = { id: seller.accountId, payoutVerified: true }
    const orderIds = [...parcel.orderIds, ...other.orderIds]
    const results = await buyLabels(app.ctx, account, orderIds)
    expect(results.map(({ orderId, error }) => [orderId, error?.type])).toEqual(
      orderIds.map((id) => [id, undefined]),
    )
    expect(calls.filter((call) => call === 'buy')).toHaveLength(2)
  })
})

describe('a reading of the carrier', () => {
  const reading = (fields: Partial<CarrierShipment>) => ({
    read: async (id: string): Promise<CarrierShipment> => ({
      id,
      status: 'ready',
      message: null,
      cancellation: null,
      trackingCode: null,
      trackingUrl: null,
      trackingStatus: null,
      ...fields,
    }),
  })

  const CANCELLED = { status: 'action_required', cancellation: 'confirmed' } as const

  const mailsAbout = async ({ sliceKey }: InsertedSlice) =>
    (await app.operator.get(`/operator/v1/mails?slice_key=${sliceKey}`)).body.data

  it('reading a shipment without a tracking code keeps the known code', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    const { tracking_code, tracking_url } = (await label(parcel)).body.data
    expect(tracking_code).toMatch(/^SIM/)
    interfere(reading({ status: 'processing' }))
    expect((await label(parcel)).body.data).toMatchObject({ tracking_code, tracking_url })
    expect(await eventsOf(parcel)).toHaveLength(1)
    interfere(reading({ status: 'ready' }))
    expect((await label(parcel)).body.data).toMatchObject({ tracking_code, tracking_url })
    expect((await eventsOf(parcel)).map((data) => data.tracking_code)).toEqual([
      tracking_code,
      tracking_code,
    ])
  })

  it('reading a shipment without a label keeps the stored label', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), trackingCode: null }),
    })
    expect((await label(parcel)).body.data.status).toBe('ready')
    for (const status of ['processing', 'action_required'] as const) {
      interfere(reading({ status, message: 'Fix it.' }))
      const { body } = await label(parcel)
      expect(body.data).toMatchObject({ status: 'ready', message: null })
      expect(body.data.label_url).toBeTruthy()
    }
    expect(await eventsOf(parcel)).toHaveLength(1)
  })

  it('a label that was ready and is cancelled at the carrier must not be used, and its seller gets one e-mail and can cancel the order', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), trackingCode: null }),
    })
    expect((await label(parcel)).body.data.label_url).toBeTruthy()
    interfere(reading({ ...CANCELLED, trackingStatus: 'Cancelled' }))
    await advance(app.operator, 60)
    await app.runPolls()
    // The rule must not depend on the stored text.
    const { count } = await app.ctx.db`
      update shipments set message = 'Another text' where slice_id = ${parcel.sliceId}
    `
    expect(count).toBe(1)
    const [id] = parcel.orderIds
    const { body } = await seller.get(`/v1/orders/${id}`)
    expect(body.data.shipping.tracking_status).toBe('Cancelled')
    const mails = await mailsAbout(parcel)
    expect(mails).toMatchObject([{ subject: `The label of order ${id} was cancelled` }])
    expect(mails[0].text).toContain(`Don’t use the label that you bought for order ${id}.`)
    const message = expect.stringMatching(/^The shipment was cancelled .*or cancel the order/)
    expect(mails[0].text.split('\n\n')).toContainEqual(message)
    const member = await app.member(seller.accountId)
    const slice = async () => (await member.get(`/dashboard/api/orders/${id}`)).body.data
    expect(await slice()).toMatchObject({ label: { message }, actions: { cancel: [id] } })
    const shipments = async () =>
      (await app.operator.get(`/operator/v1/shipments?slice_key=${parcel.sliceKey}`)).body.data
    expect(await shipments()).toMatchObject([{ status: 'action_required', message }])
    expect((await cancelAsSeller(parcel)).status).toBe(200)
    const notNeeded = { status: 'action_required', message: expect.stringMatching(/to do\.$/) }
    expect((await label(parcel)).body.data).toMatchObject({ ...notNeeded, label_url: null })
    expect(await shipments()).toMatchObject([notNeeded])
    await app.operator.post('/operator/v1/buyers/erase', { payload: { email: BUYER.email } })
    const erased = { status: 'action_required', message: expect.stringMatching(/was deleted/) }
    expect((await label(parcel)).body.data).toMatchObject(erased)
    expect(await shipments()).toMatchObject([erased])
  })

  it('a label whose cancellation is only requested must not be used, and its seller gets an e-mail and can’t cancel the order until the carrier has decided', async () => {
    const [confirmed, deleted, refused] = [await order(), await order(), await order()]
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), trackingCode: null }),
      ...reading({
        status: 'processing',
        message: CANCELLATION_REQUESTED,
        cancellation: 'requested',
      }),
    })
    const parcels = [confirmed, deleted, refused]
    for (const parcel of parcels) {
      expect((await label(parcel)).body.data.label_url).toBeTruthy()
    }
    // The next poll is the last of the missing tracking code.
    await app.ctx.db`update shipments set polls = 1000`
    await advance(app.operator, 60)
    await app.runPolls()
    const notYet = ({ orderIds: [id] }: InsertedSlice) => ({
      subject: `Don’t use the label of order ${id} yet`,
      text: expect.stringMatching(/not confirmed it yet\. Don’t use the label\./),
    })
    const member = await app.member(seller.accountId)
    for (const parcel of parcels) {
      expect(await mailsAbout(parcel)).toMatchObject([notYet(parcel)])
      expect((await label(parcel)).body.data).toMatchObject({
        status: 'processing',
        label_url: null,
        message: expect.stringMatching(/not confirmed it yet/),
      })
      expect((await cancelAsSeller(parcel)).status).toBe(409)
      const { body } = await member.get(`/dashboard/api/orders/${parcel.orderIds[0]}`)
      expect(body.data.actions.cancel).toEqual([])
    }
    interfere(reading({}))
    expect((await label(refused)).body.data).toMatchObject({ status: 'ready', message: null })
    expect((await cancelAsSeller(refused)).status).toBe(409)
    expect(await mailsAbout(refused)).toHaveLength(1)
    const { carrier_id: deletedId } = (await shipmentOf(deleted))!
    interfere({
      async read(id) {
        return id === deletedId ? isMissing() : reading(CANCELLED).read(id)
      },
    })
    await advance(app.operator, 60)
    await app.runPolls()
    for (const parcel of [confirmed, deleted]) {
      const subject = `The label of order ${parcel.orderIds[0]} was cancelled`
      expect(await mailsAbout(parcel)).toMatchObject([{ subject }, notYet(parcel)])
      expect((await cancelAsSeller(parcel)).status).toBe(200)
    }
  })

  it('a label that is cancelled at the carrier after all rows of its order were cancelled stays `ready`', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), trackingCode: null }),
      ...reading(CANCELLED),
    })
    await label(parcel)
    await app.operator.post(`/operator/v1/orders/${parcel.orderIds[0]}/cancel`, {
      payload: { cancelled_by: 'buyer' },
    })
    expect((await label(parcel)).body.data.status).toBe('ready')
  })

  it('a tracking code that arrives after the shipment is e-mailed to the buyer once, and not for an order that was not shipped', async () => {
    const [shipped, pending] = [await order(), await order()]
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), trackingCode: null }),
    })
    for (const parcel of [shipped, pending]) await label(parcel)
    const [id] = shipped.orderIds
    expect((await seller.post(`/v1/orders/${id}/ship`)).status).toBe(200)
    for (const code of ['3S136', '3S137']) {
      const trackingUrl = `https://t.example/${code}`
      interfere(reading({ trackingCode: code, trackingUrl }))
      for (const parcel of [shipped, pending]) {
        await recordReading(app.ctx, parcel.sliceId, await app.ctx.carrier!.read('', NO_REQUEST))
      }
    }
    const [mail, onItsWay, ...others] = await mailsAbout(shipped)
    expect([mail.to, mail.subject]).toEqual([
      BUYER.email,
      expect.stringMatching(/^Tracking code: /),
    ])
    expect(mail.text).toMatch(/\n\nTracking code: 3S136\nhttps:\/\/t\.example\/3S136$/)
    expect(mail.text).toContain(`(order ${id})`)
    expect(onItsWay.subject).toMatch(/^On its way: /)
    expect([others, await mailsAbout(pending)]).toEqual([[], []])
  })

  it('a tracking code that the operator reports after the shipment is e-mailed to the buyer', async () => {
    const parcel = await order({ rows: 2 })
    await seller.post(`/v1/orders/${parcel.orderIds[0]}/ship`)
    for (const tracking_code of ['3S136', '3S137']) {
      await app.operator.post(`/operator/v1/slices/${parcel.sliceKey}/tracking`, {
        payload: { tracking_code },
      })
    }
    const subjects = (await mailsAbout(parcel)).map(({ subject }: { subject: string }) => subject)
    expect(subjects.filter((subject: string) => subject.startsWith('Tracking'))).toEqual([
      'Tracking code: 2 items',
    ])
  })

  it('reading a shipment with a new tracking code replaces the earlier code and emits an event', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    await label(parcel)
    interfere(reading({ status: 'processing', trackingCode: 'OTHER' }))
    expect((await label(parcel)).body.data).toMatchObject({
      tracking_code: 'OTHER',
      tracking_url: null,
    })
    expect((await eventsOf(parcel)).map((data) => data.tracking_code)).toEqual([
      expect.stringMatching(/^SIM/),
      'OTHER',
    ])
  })

  it('a seller gets one e-mail when the carrier withholds a label after the purchase, however often it is read again', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
      ...reading({ status: 'processing' }),
    })
    await label(parcel)
    await label(parcel)
    expect(await mailsAbout(parcel)).toEqual([])
    interfere(reading({ status: 'action_required', message: 'Fix it.' }))
    await advance(app.operator, 60)
    await app.runPolls()
    expect((await label(parcel)).body.data.status).toBe('action_required')
    const [id] = parcel.orderIds
    expect(await mailsAbout(parcel)).toMatchObject([
      {
        subject: `The carrier withholds the label of order ${id}`,
        text: expect.stringMatching(new RegExp(`\n\nFix it\\.\n\n.*/dashboard/orders/${id}$`)),
      },
    ])
  })

  it('a seller whose purchase got no response gets an e-mail when a poll finds that the label is withheld', async () => {
    const parcel = await order()
    let bought: CarrierShipment | undefined
    interfere({
      async buy(parcel) {
        const shipment = await simulated.buy(parcel)
        bought = { ...shipment, status: 'action_required', message: 'Fix it.' }
        return timeOut()
      },
      find: async () => bought,
    })
    expect((await label(parcel)).status).toBe(502)
    await advance(app.operator, 60)
    await app.runPolls()
    expect(await mailsAbout(parcel)).toMatchObject([
      { subject: `The carrier withholds the label of order ${parcel.orderIds[0]}` },
    ])
  })

  it('a seller gets no e-mail about a label that is withheld at the purchase, or not needed any more', async () => {
    const [withheld, cancelled] = [await order(), await order()]
    interfere({
      buy: async (parcel) => ({
        ...(await simulated.buy(parcel)),
        status: parcel.sliceKey === withheld.sliceKey ? 'action_required' : 'processing',
      }),
      ...reading({ status: 'action_required', message: 'Fix it.' }),
    })
    for (const parcel of [withheld, cancelled]) await label(parcel)
    await app.operator.post(`/operator/v1/orders/${cancelled.orderIds[0]}/cancel`, {
      payload: { cancelled_by: 'buyer' },
    })
    for (const parcel of [withheld, cancelled]) {
      expect((await label(parcel)).body.data.status).toBe('action_required')
      const mails: { text: string }[] = await mailsAbout(parcel)
      expect(mails.filter(({ text }) => text.includes('Fix it.'))).toEqual([])
    }
  })

  it('a label that is erased while the carrier is asked for its code gets no link', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), trackingCode: null }),
      async read() {
        const erased = await app.operator.post('/operator/v1/buyers/erase', {
          payload: { email: BUYER.email },
        })
        expect(erased.body.data.labels).toBe(1)
        return timeOut()
      },
    })
    expect((await label(parcel)).body.data).toMatchObject({ status: 'ready', tracking_code: null })
    await app.ctx.db`
      update orders
      set status = 'received', shipped_at = created_at, received_at = created_at
      where slice_id = ${parcel.sliceId}
    `
    const { status, body } = await label(parcel)
    expect([status, body.data]).toMatchObject([200, { status: 'action_required', label_url: null }])
  })

  it('a shipment is `processing` until its label can be fetched and stored, and the metrics count the failures', async () => {
    const notStored = async () => {
      const { text } = await app.operator.get('/metrics')
      return sampleValue(text, 'cardstall_files_not_stored_total{kind="label"}')!
    }
    const before = await notStored()
    const parcel = await order()
    interfere({ label: timeOut })
    expect((await label(parcel)).body.data).toMatchObject({ status: 'processing', label_url: null })
    interfere({ read: isMissing })
    expect((await label(parcel)).status).toBe(502)
    interfere({})
    const files = { ...app.ctx.files, put: () => Promise.reject(new Error('The disk is full.')) }
    await whileReplaced(app.ctx, { files }, async () => {
      expect((await label(parcel)).body.data.status).toBe('processing')
    })
    expect(await notStored()).toBe(before + 2)
    expect((await label(parcel)).body.data.status).toBe('ready')
    expect(await notStored()).toBe(before + 2)
    expect((await eventsOf(parcel)).map((data) => data.has_label)).toEqual([false, true])
  })

  it('a label whose upload outlasts the patience of a call is stored by a poll', async () => {
    const parcel = await order()
    const { put } = app.ctx.files
    const files: FileStore = {
      ...app.ctx.files,
      put: (name, bytes, type, signal) =>
        signal ? Promise.reject(new Error('The upload is slow.')) : put(name, bytes, type),
    }
    await whileReplaced(app.ctx, { files }, async () => {
      for (let call = 0; call < 2; call++) {
        expect((await label(parcel)).body.data.status).toBe('processing')
      }
      await advance(app.operator, 3_600)
      await app.runPolls()
    })
    expect((await eventsOf(parcel)).map((data) => data.has_label)).toEqual([false, true])
  })

  it('the carrier is never called inside a transaction', async () => {
    const parcel = await order()
    const open: unknown[] = []
    const recordOpenTransactions = async () => {
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
        await recordOpenTransactions()
        return { ...(await simulated.buy(parcel)), status: 'processing' }
      },
      async read(id, options) {
        await recordOpenTransactions()
        return simulated.read(id, options)
      },
      async label(id) {
        await recordOpenTransactions()
        return simulated.label(id)
      },
    })
    await label(parcel)
    await label(parcel)
    expect(calls).toEqual(['buy', 'read', 'label'])
    expect(open).toEqual([])
  })
})

describe('the carrier poll', () => {
  it('a pending shipment is polled when the clock reaches its time', async () => {
    const parcel = await order()
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    await label(parcel)
    interfere({})
    const worker = startCarrierPoll(app.ctx, { pollIntervalMs: 3_600_000 })
    onTestFinished(() => worker.stop())
    await advance(app.operator, 60)
    // A separate statement releases the lease after the event.
    const shipment = await until('the poll has ended', async () => {
      const found = await shipmentOf(parcel)
      return found?.status === 'ready' && found.leased_until === null && found
    })
    expect(shipment.poll_at).toBeNull()
    expect(await eventsOf(parcel)).toHaveLength(2)
  })

  it('a failed poll is repeated later and does not stop the other polls', async () => {
    const [failing, other] = [await order(), await order()]
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    await label(failing)
    await label(other)
    const { carrier_id: id } = (await shipmentOf(failing))!
    interfere({
      read: async (read, options) => (read === id ? timeOut() : simulated.read(read, options)),
    })
    await advance(app.operator, 60)
    await app.runPolls()
    expect(await shipmentOf(failing)).toMatchObject({ status: 'processing', leased_until: null })
    expect((await shipmentOf(other))!.status).toBe('ready')
    interfere({})
    await advance(app.operator, 300)
    await app.runPolls()
    expect((await shipmentOf(failing))!.status).toBe('ready')
  })

  it('a poll whose lease has expired does not end the lease of the process that took over', async () => {
    interfere({
      buy: async (parcel) => ({ ...(await simulated.buy(parcel)), status: 'processing' as const }),
    })
    const parcel = await order()
    await label(parcel)
    const { carrier_id: id } = (await shipmentOf(parcel))!
    const responses: (() => void)[] = []
    interfere({
      read: async (read, options) => {
        if (read === id) await new Promise<void>((respond) => responses.push(respond))
        return simulated.read(read, options)
      },
    })
    const polls: Promise<void>[] = []
    for (const asked of [1, 2]) {
      await app.ctx.db`
        update shipments
        set poll_at = ${app.ctx.now()}, leased_until = clock_timestamp()
        where slice_id = ${parcel.sliceId}
      `
      polls.push(app.runPolls())
      await until('the carrier is asked', () => responses.length === asked)
    }
    responses[0]!()
    await polls[0]
    expect((await shipmentOf(parcel))!.leased_until).not.toBeNull()
    responses[1]!()
    await polls[1]
    expect((await shipmentOf(parcel))!.leased_until).toBeNull()
  })

  it('two processes share the polls, and each shipment is read once', async () => {
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
    calls = []
    await advance(app.operator, 60)
    await until(
      'the other clock follows',
      () => Math.abs(twin.ctx.now().getTime() - app.ctx.now().getTime()) < 1_000,
    )
    await Promise.all([app.runPolls(), twin.runPolls()])
    expect(calls.filter((name) => name === 'read')).toHaveLength(6)
  })
})
