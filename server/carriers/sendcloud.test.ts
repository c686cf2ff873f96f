import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { startWebServer } from '../test/fakes/network.ts'
import { ADDRESS, BUYER, insertSlice } from '../test/fixtures/orders.ts'
import { CarrierError, type Parcel } from './carrier.ts'
import { sendcloudCarrier } from './sendcloud.ts'

const PDF = Buffer.from('%PDF-1.7\na label as Sendcloud makes them\n')
const AUTHORIZATION = `Basic ${Buffer.from('public:secret').toString('base64')}`

type Asked = { method: string; path: string; body: Record<string, Record<string, unknown>> }
type SendcloudParcel = Record<string, unknown> & { id: number }

/** A server that speaks as much of Sendcloud's HTTP as is documented and we use. */
let url: string
let parcels: SendcloudParcel[]
let nextId: number
let asked: Asked[]
/** What a parcel is like when it has just been created. */
let fresh: () => Record<string, unknown>
/** Called before each answer; true when it has answered itself. */
let interfere: (asked: Asked, res: ServerResponse, req: IncomingMessage) => boolean

const READY = { id: 1000, message: 'Ready to send' }
const announced = () => ({
  status: READY,
  tracking_number: '3SYZXG132912330',
  tracking_url: 'https://tracking.example/3SYZXG132912330',
  label: {
    normal_printer: [`${url}/label/normal_printer/1?start_from=0&hash=abc`],
    label_printer: `${url}/label/label_printer/1?hash=abc`,
  },
})
const unannounced = (id: number, message: string) => ({
  status: { id, message },
  tracking_number: '',
  tracking_url: null,
  label: null,
})

beforeAll(async () => {
  nextId = 3
  const { port } = await startWebServer(async (req, res) => {
    const path = req.url!.replace('/api/v2', '')
    const text = (await buffer(req)).toString()
    const request = { method: req.method!, path, body: text ? JSON.parse(text) : undefined }
    asked.push(request)
    const answer = (status: number, body: unknown) => {
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const fail = (code: number, message: string) =>
      answer(code, { error: { code, request: `api/v2${path}`, message } })
    if (req.headers.authorization !== AUTHORIZATION) return fail(401, 'Invalid username/password.')
    if (interfere(request, res, req)) return
    if (path.startsWith('/label/label_printer/')) {
      return res.writeHead(200, { 'content-type': 'application/pdf' }).end(PDF)
    }
    if (req.method === 'POST' && path === '/parcels') {
      const { external_reference } = request.body!.parcel!
      // Unique: the same again is the same parcel.
      const known = parcels.find((parcel) => parcel.external_reference === external_reference)
      const parcel = known ?? { id: nextId++, external_reference, ...fresh() }
      if (!known) parcels.push(parcel)
      return answer(200, { parcel })
    }
    if (req.method === 'PUT' && path === '/parcels') {
      const parcel = parcels.find(({ id }) => id === request.body!.parcel!.id)!
      return answer(200, { parcel: Object.assign(parcel, announced()) })
    }
    if (path.startsWith('/parcels?')) {
      const reference = new URLSearchParams(path.split('?')[1]).get('external_reference')
      return answer(200, {
        next: null,
        previous: null,
        parcels: parcels.filter((parcel) => parcel.external_reference === reference),
      })
    }
    const parcel = parcels.find(({ id }) => path === `/parcels/${id}`)
    return parcel ? answer(200, { parcel }) : fail(404, 'No Parcel matches the given query.')
  })
  url = `http://127.0.0.1:${port}/api/v2`
})

beforeEach(() => {
  parcels = []
  asked = []
  fresh = announced
  interfere = () => false
})

const PARCEL: Parcel = {
  reference: 'cs-reference',
  sliceKey: 'slc_key',
  shippingCode: 'parcel',
  sender: 'Kanto Cards',
  recipient: { ...ADDRESS, email: BUYER.email },
}

const opened: { close(): Promise<void> }[] = []
afterAll(() => Promise.all(opened.map((carrier) => carrier.close())))

function carrier(settings: object = {}, timeoutMs = 2_000) {
  const methods = new Map([
    ['parcel', 8],
    ['*', 9],
  ])
  const all = { url, publicKey: 'public', secretKey: 'secret', methods, ...settings }
  const made = sendcloudCarrier(all, { timeoutMs })
  opened.push(made)
  return made
}

/** How a call failed. */
const failure = async (call: Promise<unknown>): Promise<CarrierError> => {
  const error = await call.then(
    () => undefined,
    (error) => error,
  )
  expect(error).toBeInstanceOf(CarrierError)
  return error as CarrierError
}
const answering = (status: number, body: unknown = { error: { code: status, message: 'raw' } }) => {
  interfere = (_, res) => {
    res.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
    return true
  }
}

describe('Sendcloud', () => {
  it('is asked for a parcel with its label in one request, under our reference', async () => {
    expect(await carrier().buy(PARCEL)).toEqual({
      id: String(parcels[0]!.id),
      status: 'ready',
      message: null,
      trackingCode: '3SYZXG132912330',
      trackingUrl: 'https://tracking.example/3SYZXG132912330',
      trackingStatus: 'Ready to send',
    })
    expect(asked).toEqual([
      {
        method: 'POST',
        path: '/parcels',
        body: {
          parcel: {
            name: 'Misty Waterflower',
            address: 'Cape Road',
            house_number: '25 B',
            postal_code: '1234 AB',
            city: 'Cerulean City',
            country: 'NL',
            telephone: '+31 20 123 45 67',
            email: 'misty@cerulean.example',
            order_number: 'slc_key',
            external_reference: 'cs-reference',
            request_label: true,
            shipment: { id: 8 },
          },
        },
      },
    ])
  })

  it('is told the method of the shipping option, or that of all others; without one nothing is asked', async () => {
    await carrier().buy({ ...PARCEL, shippingCode: 'other' })
    expect(asked[0]!.body.parcel!.shipment).toEqual({ id: 9 })
    const without = carrier({ methods: new Map([['letter', 7]]) })
    const { outcome, message } = await failure(without.buy(PARCEL))
    expect([outcome, message]).toEqual(['refused', expect.stringContaining('SENDCLOUD_METHODS')])
    expect(asked).toHaveLength(1)
  })

  it('finds a parcel by our reference, and takes no other one for it', async () => {
    const sendcloud = carrier()
    expect(await sendcloud.find('cs-reference')).toBeUndefined()
    await sendcloud.buy(PARCEL)
    expect(await sendcloud.find('cs-reference')).toMatchObject({
      id: String(parcels[0]!.id),
      status: 'ready',
    })
    expect(asked.at(-1)!.path).toBe('/parcels?external_reference=cs-reference')
    // A server that doesn't know the filter sends all there are.
    answering(200, { parcels })
    expect(await sendcloud.find('cs-another')).toBeUndefined()
  })

  it('gives the label for label printers, with our credentials', async () => {
    const sendcloud = carrier()
    const { id } = await sendcloud.buy(PARCEL)
    expect(Buffer.from(await sendcloud.label(id))).toEqual(PDF)
    expect(asked.at(-1)!.path).toBe('/label/label_printer/1?hash=abc')
  })

  it.each([
    ['elsewhere', () => 'https://elsewhere.example/label.pdf'],
    ['on another port', () => 'http://127.0.0.1:1/label.pdf'],
    ['nowhere', () => 'label.pdf'],
  ])('is sent no credentials to a label %s', async (_, address) => {
    const sendcloud = carrier()
    fresh = () => ({ ...announced(), label: { label_printer: address() } })
    const { id } = await sendcloud.buy(PARCEL)
    expect((await failure(sendcloud.label(id))).message).toMatch(/not its own/)
  })

  it('whose label is no PDF, or endless, gave none', async () => {
    const sendcloud = carrier()
    const { id } = await sendcloud.buy(PARCEL)
    const sending = (body: Buffer | string) => {
      interfere = ({ path }, res) => {
        if (!path.startsWith('/label/')) return false
        res.end(body)
        return true
      }
    }
    sending('<html>')
    expect((await failure(sendcloud.label(id))).message).toMatch(/no PDF/)
    sending(Buffer.alloc(10 * 1024 * 1024 + 1, '%PDF-'))
    expect((await failure(sendcloud.label(id))).message).toMatch(/larger than/)
  })

  it.each([
    ['being announced', () => unannounced(1001, 'Being announced'), 'processing'],
    ['ready without a label yet', () => ({ ...announced(), label: null }), 'processing'],
    ['without a status or a label', () => ({}), 'processing'],
    ['not announced', () => unannounced(999, 'No label'), 'action_required'],
    ['refused by the carrier', () => unannounced(1002, 'Announcement failed'), 'action_required'],
    [
      'cancelled',
      () => ({ ...announced(), status: { id: 2000, message: 'Cancelled' } }),
      'action_required',
    ],
  ])('a parcel that is %s', async (_, parcel, status) => {
    fresh = parcel
    const said = await carrier().buy(PARCEL)
    expect(said.status).toBe(status)
    expect(said.message === null).toBe(status !== 'action_required')
    if (status === 'processing' && !parcels[0]!.tracking_number) {
      expect(said.trackingCode).toBeNull()
    }
  })

  it('is asked for the label of a parcel that was not announced once more when it is read', async () => {
    const sendcloud = carrier()
    fresh = () => unannounced(1002, 'Announcement failed')
    const { id } = await sendcloud.buy(PARCEL)
    interfere = ({ method }, res) => {
      if (method === 'PUT') res.writeHead(402).end('{"error": {"message": "No credit."}}')
      return method === 'PUT'
    }
    expect((await sendcloud.read(id)).status).toBe('action_required')
    interfere = () => false
    expect(await sendcloud.read(id)).toMatchObject({ id, status: 'ready' })
    expect(asked.at(-1)).toEqual({
      method: 'PUT',
      path: '/parcels',
      body: { parcel: { id: Number(id), request_label: true } },
    })
    asked = []
    await sendcloud.read(id)
    expect(asked).toHaveLength(1)
  })
})

describe('a request to Sendcloud that fails', () => {
  it.each([400, 401, 402, 403, 404, 412, 422, 429])(
    'with %i was refused: nothing was bought',
    async (status) => {
      answering(status)
      expect((await failure(carrier().buy(PARCEL))).outcome).toBe('refused')
    },
  )

  it.each([302, 408, 409, 500, 502, 503, 504])(
    'with %i may have bought something',
    async (status) => {
      answering(status)
      expect((await failure(carrier().buy(PARCEL))).outcome).toBe('unknown')
    },
  )

  it.each([
    ['no JSON', '<html>'],
    ['nothing', ''],
    ['null', 'null'],
    ['no parcel', '{"parcel": null}'],
    ['a parcel without an id', '{"parcel": {}}'],
    ['more than we read', ' '.repeat(1024 * 1024 + 1)],
  ])('with an answer that is %s may have bought something', async (_, text) => {
    answering(200, text)
    expect((await failure(carrier().buy(PARCEL))).outcome).toBe('unknown')
    expect((await failure(carrier().find('cs-reference'))).outcome).toBe('unknown')
  })

  it('because nobody listens was refused', async () => {
    const nowhere = carrier({ url: 'http://127.0.0.1:1/api/v2' })
    expect((await failure(nowhere.buy(PARCEL))).outcome).toBe('refused')
  })

  it('because the connection broke, or the answer does not come, may have bought something', async () => {
    interfere = (_, res) => Boolean(res.destroy())
    expect((await failure(carrier().buy(PARCEL))).outcome).toBe('unknown')
    interfere = () => true
    expect((await failure(carrier({}, 300).buy(PARCEL))).outcome).toBe('unknown')
  })

  it('because the answer never ends is given up', async () => {
    interfere = (_, res) => Boolean(res.write('{"parcel":'))
    expect((await failure(carrier({}, 300).buy(PARCEL))).outcome).toBe('unknown')
  })

  it('says nothing of our credentials', async () => {
    answering(400)
    const { message, cause } = await failure(carrier().buy(PARCEL))
    expect(`${message} ${cause}`).not.toMatch(/secret|cHVibGlj/)
  })
})

describe('a service with CARRIER=sendcloud', () => {
  let app: TestApp
  let seller: Awaited<ReturnType<TestApp['seller']>>
  beforeAll(async () => {
    app = await startTestApp({
      settings: {
        CARRIER: 'sendcloud',
        SENDCLOUD_URL: url,
        SENDCLOUD_PUBLIC_KEY: 'public',
        SENDCLOUD_SECRET_KEY: 'secret',
        SENDCLOUD_METHODS: '*=8',
      },
    })
    seller = await app.seller()
  })
  const labelled = async () => {
    const { orderIds } = await insertSlice(app.ctx.db, seller.accountId)
    return () => seller.post(`/v1/orders/${orderIds[0]}/label`)
  }

  it('sells its labels', async () => {
    const { body } = await (await labelled())()
    expect(body.data).toMatchObject({
      status: 'ready',
      provider: 'sendcloud',
      tracking_code: '3SYZXG132912330',
    })
    const { pathname, search } = new URL(body.data.label_url)
    const { rawPayload } = await app.app.inject(pathname + search)
    expect(rawPayload).toEqual(PDF)
  })

  it('buys once though the connection breaks when Sendcloud has the parcel', async () => {
    const call = await labelled()
    interfere = ({ method, body }, res) => {
      if (method !== 'POST') return false
      parcels.push({
        id: 77,
        external_reference: body.parcel!.external_reference,
        ...announced(),
      })
      res.destroy()
      return true
    }
    expect((await call()).status).toBe(502)
    expect((await call()).body.data.status).toBe('ready')
    expect((await call()).body.data.status).toBe('ready')
    expect(parcels).toHaveLength(1)
    expect(asked.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })

  it('tells the seller nothing of what Sendcloud said, and can be called again', async () => {
    const call = await labelled()
    answering(402, { error: { code: 402, message: 'Your direct debit was refused.' } })
    const { status, text } = await call()
    expect(status).toBe(502)
    expect(text).not.toMatch(/debit|sendcloud/i)
    const said = JSON.stringify(app.logged.map(({ err }) => (err as Error)?.message))
    expect(said).toContain('with 402 (code 402)')
    expect(said).not.toMatch(/debit/)
    interfere = () => false
    expect((await call()).status).toBe(200)
    expect(parcels).toHaveLength(1)
  })
})
