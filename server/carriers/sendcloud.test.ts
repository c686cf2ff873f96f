import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { startWebServer } from '../test/fakes/network.ts'
import { ADDRESS, BUYER, cancel, insertSlice } from '../test/fixtures/orders.ts'
import { CarrierError, type Parcel } from './carrier.ts'
import { sendcloudCarrier } from './sendcloud.ts'

const PDF = Buffer.from('%PDF-1.7\na label of Sendcloud\n%%EOF\n')
const AUTHORIZATION = `Basic ${Buffer.from('public:secret').toString('base64')}`

type SendcloudRequest = {
  method: string
  path: string
  body: Record<string, Record<string, unknown>>
}
type SendcloudParcel = Record<string, unknown> & { id: number }

/** A fake server with the part of Sendcloud's documented API that we use. */
let url: string
let parcels: SendcloudParcel[]
let nextId: number
let requests: SendcloudRequest[]
/** The state of a parcel that has just been created. */
let newParcel: () => Record<string, unknown>
/** Called before each response; returns true if it has responded itself. */
let interfere: (request: SendcloudRequest, res: ServerResponse, req: IncomingMessage) => boolean

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
    requests.push(request)
    const respond = (status: number, body: unknown) => {
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const fail = (code: number, message: string) =>
      respond(code, { error: { code, request: `api/v2${path}`, message } })
    if (req.headers.authorization !== AUTHORIZATION) return fail(401, 'Invalid username/password.')
    if (interfere(request, res, req)) return
    if (path.startsWith('/label/label_printer/')) {
      return res.writeHead(200, { 'content-type': 'application/pdf' }).end(PDF)
    }
    if (req.method === 'POST' && path === '/parcels') {
      const { external_reference } = request.body!.parcel!
      // References are unique: a repeated one returns the existing parcel.
      const known = parcels.find((parcel) => parcel.external_reference === external_reference)
      const parcel = known ?? { id: nextId++, external_reference, ...newParcel() }
      if (!known) parcels.push(parcel)
      return respond(200, { parcel })
    }
    if (req.method === 'PUT' && path === '/parcels') {
      const parcel = parcels.find(({ id }) => id === request.body!.parcel!.id)!
      return respond(200, { parcel: Object.assign(parcel, announced()) })
    }
    if (path.startsWith('/parcels?')) {
      const reference = new URLSearchParams(path.split('?')[1]).get('external_reference')
      return respond(200, {
        next: null,
        previous: null,
        parcels: parcels.filter((parcel) => parcel.external_reference === reference),
      })
    }
    const parcel = parcels.find(({ id }) => path === `/parcels/${id}`)
    return parcel ? respond(200, { parcel }) : fail(404, 'No Parcel matches the given query.')
  })
  url = `http://127.0.0.1:${port}/api/v2`
})

beforeEach(() => {
  parcels = []
  requests = []
  newParcel = announced
  warnings = []
  interfere = () => false
})

const PARCEL: Parcel = {
  reference: 'cs-reference',
  sliceKey: 'slc_key',
  shippingCode: 'parcel',
  sender: 'Kanto Cards',
  recipient: { ...ADDRESS, email: BUYER.email },
}

/** The fields of the warnings in the log. */
let warnings: object[]
const opened: { close(): Promise<void> }[] = []
afterAll(() => Promise.all(opened.map((carrier) => carrier.close())))

function carrier(settings: object = {}, timeoutMs = 60_000) {
  const methods = new Map([
    ['parcel', 8],
    ['*', 9],
  ])
  const all = { url, publicKey: 'public', secretKey: 'secret', methods, ...settings }
  const log = { warn: (fields: object) => warnings.push(fields) }
  const created = sendcloudCarrier(all, log, { timeoutMs })
  opened.push(created)
  return created
}

/** The error that the call fails with. */
const failure = async (call: Promise<unknown>): Promise<CarrierError> => {
  const error = await call.then(
    () => undefined,
    (error) => error,
  )
  expect(error).toBeInstanceOf(CarrierError)
  return error as CarrierError
}
const respondWith = (
  status: number,
  body: unknown = { error: { code: status, message: 'raw' } },
) => {
  interfere = (_, res) => {
    res.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
    return true
  }
}

describe('the Sendcloud carrier', () => {
  it('buying creates a parcel and its label with one request, under our reference', async () => {
    expect(await carrier().buy(PARCEL)).toEqual({
      id: String(parcels[0]!.id),
      status: 'ready',
      message: null,
      cancellation: null,
      trackingCode: '3SYZXG132912330',
      trackingUrl: 'https://tracking.example/3SYZXG132912330',
      trackingStatus: 'Ready to send',
    })
    expect(requests).toEqual([
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

  it('a parcel has the method of its shipping option, else the default; without one nothing is requested', async () => {
    await carrier().buy({ ...PARCEL, shippingCode: 'other' })
    expect(requests[0]!.body.parcel!.shipment).toEqual({ id: 9 })
    const without = carrier({ methods: new Map([['letter', 7]]) })
    const { outcome, message } = await failure(without.buy(PARCEL))
    expect([outcome, message]).toEqual(['refused', expect.stringContaining('SENDCLOUD_METHODS')])
    expect(requests).toHaveLength(1)
  })

  it('a parcel is found by our reference, and no other parcel is taken for it', async () => {
    const sendcloud = carrier()
    expect(await sendcloud.find('cs-reference')).toBeUndefined()
    await sendcloud.buy(PARCEL)
    expect(await sendcloud.find('cs-reference')).toMatchObject({
      id: String(parcels[0]!.id),
      status: 'ready',
    })
    expect(requests.at(-1)!.path).toBe('/parcels?external_reference=cs-reference')
    // A server that ignores the filter returns all parcels.
    respondWith(200, { parcels })
    expect(await sendcloud.find('cs-another')).toBeUndefined()
  })

  it('the label for label printers is downloaded with our credentials', async () => {
    const sendcloud = carrier()
    const { id } = await sendcloud.buy(PARCEL)
    expect(Buffer.from(await sendcloud.label(id))).toEqual(PDF)
    expect(requests.at(-1)!.path).toBe('/label/label_printer/1?hash=abc')
  })

  it.each([
    ['on another host', () => 'https://elsewhere.example/label.pdf'],
    ['on another port', () => 'http://127.0.0.1:1/label.pdf'],
    ['that is no URL', () => 'label.pdf'],
  ])('a label %s is not requested, so that it gets no credentials', async (_, labelUrl) => {
    const sendcloud = carrier()
    newParcel = () => ({ ...announced(), label: { label_printer: labelUrl() } })
    const { id } = await sendcloud.buy(PARCEL)
    expect((await failure(sendcloud.label(id))).message).toMatch(/not on its own origin/)
  })

  it('a label that is not a PDF, cut off or too large is refused', async () => {
    const sendcloud = carrier()
    const { id } = await sendcloud.buy(PARCEL)
    const sendLabel = (body: Buffer | string) => {
      interfere = ({ path }, res) => {
        if (!path.startsWith('/label/')) return false
        res.end(body)
        return true
      }
    }
    sendLabel('<html>')
    expect((await failure(sendcloud.label(id))).message).toMatch(/not a PDF/)
    sendLabel(PDF.subarray(0, -6))
    expect((await failure(sendcloud.label(id))).message).toMatch(/not a whole PDF/)
    sendLabel(Buffer.concat([PDF, Buffer.alloc(1000)]))
    expect(await sendcloud.label(id)).toHaveLength(PDF.length + 1000)
    sendLabel(Buffer.alloc(10 * 1024 * 1024 + 1, '%PDF-'))
    expect((await failure(sendcloud.label(id))).message).toMatch(/larger than/)
  })

  it.each([
    ['being announced', 'processing', () => unannounced(1001, 'Being announced')],
    ['ready without a label yet', 'processing', () => ({ ...announced(), label: null })],
    ['without a status or a label', 'processing', () => ({})],
    ['not announced', 'action_required', () => unannounced(999, 'No label')],
    ['refused by the carrier', 'action_required', () => unannounced(1002, 'Announcement failed')],
  ])('a parcel that is %s is read as `%s`', async (_, status, parcel) => {
    newParcel = parcel
    const reading = await carrier().buy(PARCEL)
    expect(reading.status).toBe(status)
    expect(reading.message === null).toBe(status !== 'action_required')
    if (status === 'processing' && !parcels[0]!.tracking_number) {
      expect(reading.trackingCode).toBeNull()
    }
  })

  it.each([
    [1998, 'Cancelled upstream', 'action_required', 'confirmed'],
    [1999, 'Cancellation requested', 'processing', 'requested'],
    [2000, 'Cancelled', 'action_required', 'confirmed'],
    [2001, 'Submitting cancellation request', 'processing', 'requested'],
  ])(
    'a parcel with the status %i (%s) is read as `%s`, and its cancellation is %s',
    async (id, message, status, cancellation) => {
      newParcel = () => ({ ...announced(), status: { id, message } })
      expect(await carrier().buy(PARCEL)).toMatchObject({ status, cancellation })
    },
  )

  it.each([
    ['a number', { tracking_number: 12345 }, { trackingCode: '12345' }],
    ['padded', { tracking_number: ' 3SY ' }, { trackingCode: '3SY' }],
    ['empty', { tracking_number: '', tracking_url: '' }, { trackingCode: null, trackingUrl: null }],
  ])('a tracking code that is %s is read as text', async (_, fields, expected) => {
    newParcel = () => ({ ...announced(), ...fields })
    expect(await carrier().buy(PARCEL)).toMatchObject({ status: 'ready', ...expected })
    expect(warnings).toEqual([])
  })

  it.each([
    ['tracking_number', 'an object', { code: 'SECRET' }, 'trackingCode'],
    ['tracking_number', 'a number that JSON cannot hold', 2 ** 60, 'trackingCode'],
    ['tracking_number', 'a text with NUL', 'SECRET\0', 'trackingCode'],
    ['tracking_number', 'a text with a control character', 'SEC\x1bRET', 'trackingCode'],
    ['tracking_number', 'half a character', 'SECRET\ud83d', 'trackingCode'],
    ['tracking_number', 'too long', 'SECRET'.repeat(20), 'trackingCode'],
    ['tracking_url', 'not http', 'javascript:SECRET', 'trackingUrl'],
    ['tracking_url', 'no URL', 'https://', 'trackingUrl'],
    ['tracking_url', 'too long', `https://t.example/${'SECRET'.repeat(400)}`, 'trackingUrl'],
    ['tracking_url', 'an object', { url: 'SECRET' }, 'trackingUrl'],
  ])(
    'a %s that is %s is left out, and the log names only the field',
    async (field, _, value, key) => {
      newParcel = () => ({ ...announced(), [field]: value })
      const bought = await carrier().buy(PARCEL)
      expect(bought).toMatchObject({ status: 'ready', [key]: null })
      expect(warnings).toEqual([{ shipment: bought.id, field }])
    },
  )

  it('the status of a parcel is cut to 200 characters, and left out unless it is text', async () => {
    newParcel = () => ({ ...announced(), status: { id: 1000, message: 'x'.repeat(5_000) } })
    const { id, trackingStatus } = await carrier().buy(PARCEL)
    expect(trackingStatus).toBe('x'.repeat(200))
    parcels[0]!.status = { id: 1000, message: ['Ready\0'] }
    expect(await carrier().read(id, { mayRequestLabel: true })).toMatchObject({
      status: 'ready',
      trackingStatus: null,
    })
  })

  it('a parcel without a usable id is not taken for one, and a list may contain others', async () => {
    for (const id of ['7', 1.5, null]) {
      respondWith(200, { parcel: { ...announced(), id } })
      expect((await failure(carrier().buy(PARCEL))).outcome).toBe('unknown')
      respondWith(200, {
        parcels: [null, { ...announced(), id, external_reference: 'cs-reference' }],
      })
      expect((await failure(carrier().find('cs-reference'))).outcome).toBe('unknown')
    }
  })

  it('reading a parcel that was not announced requests its label again', async () => {
    const sendcloud = carrier()
    newParcel = () => unannounced(1002, 'Announcement failed')
    const { id } = await sendcloud.buy(PARCEL)
    interfere = ({ method }, res) => {
      if (method === 'PUT') res.writeHead(402).end('{"error": {"message": "No credit."}}')
      return method === 'PUT'
    }
    expect((await sendcloud.read(id, { mayRequestLabel: true })).status).toBe('action_required')
    interfere = () => false
    expect(await sendcloud.read(id, { mayRequestLabel: true })).toMatchObject({
      id,
      status: 'ready',
    })
    expect(requests.at(-1)).toEqual({
      method: 'PUT',
      path: '/parcels',
      body: { parcel: { id: Number(id), request_label: true } },
    })
    requests = []
    await sendcloud.read(id, { mayRequestLabel: true })
    expect(requests).toHaveLength(1)
  })
})

describe('a request to Sendcloud that fails', () => {
  it.each([400, 401, 402, 403, 404, 412, 422, 429])(
    'a response with %i is a refusal: nothing was bought',
    async (status) => {
      respondWith(status)
      expect((await failure(carrier().buy(PARCEL))).outcome).toBe('refused')
    },
  )

  it.each([302, 408, 409, 500, 502, 503, 504])(
    'after a response with %i the outcome is unknown',
    async (status) => {
      respondWith(status)
      expect((await failure(carrier().buy(PARCEL))).outcome).toBe('unknown')
    },
  )

  it.each([
    ['not JSON', '<html>'],
    ['empty', ''],
    ['null', 'null'],
    ['without a parcel', '{"parcel": null}'],
    ['a parcel without an id', '{"parcel": {}}'],
    ['too large', ' '.repeat(1024 * 1024 + 1)],
  ])('after a 200 whose body is %s the outcome is unknown', async (_, text) => {
    respondWith(200, text)
    expect((await failure(carrier().buy(PARCEL))).outcome).toBe('unknown')
    expect((await failure(carrier().find('cs-reference'))).outcome).toBe('unknown')
  })

  it('a refused connection is a refusal: nothing was bought', async () => {
    const nowhere = carrier({ url: 'http://127.0.0.1:1/api/v2' })
    expect((await failure(nowhere.buy(PARCEL))).outcome).toBe('refused')
  })

  it('after a lost connection or a timeout the outcome is unknown', async () => {
    interfere = (_, res) => Boolean(res.destroy())
    expect((await failure(carrier().buy(PARCEL))).outcome).toBe('unknown')
    interfere = () => true
    expect((await failure(carrier({}, 300).buy(PARCEL))).outcome).toBe('unknown')
  })

  it('a response that never ends is abandoned at the timeout', async () => {
    interfere = (_, res) => Boolean(res.write('{"parcel":'))
    expect((await failure(carrier({}, 300).buy(PARCEL))).outcome).toBe('unknown')
  })

  it('an error does not contain our credentials', async () => {
    respondWith(400)
    const { message, cause } = await failure(carrier().buy(PARCEL))
    expect(`${message} ${cause}`).not.toMatch(/secret|cHVibGlj/)
  })
})

describe('a service with CARRIER=sendcloud', () => {
  let app: TestApp
  let seller: Seller
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
  const newOrderLabel = async () => {
    const { orderIds } = await insertSlice(app.ctx.db, seller.accountId)
    return () => seller.post(`/v1/orders/${orderIds[0]}/label`)
  }

  it('a service with CARRIER=sendcloud sells the labels of Sendcloud', async () => {
    const { body } = await (await newOrderLabel())()
    expect(body.data).toMatchObject({
      status: 'ready',
      provider: 'sendcloud',
      tracking_code: '3SYZXG132912330',
    })
    const { pathname, search } = new URL(body.data.label_url)
    const { rawPayload } = await app.app.inject(pathname + search)
    expect(rawPayload).toEqual(PDF)
  })

  it('a tracking code that Sendcloud sends as a number is text in the response and in the event', async () => {
    newParcel = () => ({ ...announced(), tracking_number: 12345 })
    const { body } = await (await newOrderLabel())()
    expect(body.data).toMatchObject({ status: 'ready', tracking_code: '12345' })
    const [event] = await app.ctx.db<{ data: string }[]>`
      select data from events where event = 'order.label_ready' order by id desc limit 1
    `
    expect(JSON.parse(event!.data).tracking_code).toBe('12345')
  })

  it('a parcel with a tracking code that the database cannot store has a label nevertheless', async () => {
    newParcel = () => ({ ...announced(), tracking_number: 'SECRET\0', tracking_url: { a: 1 } })
    const call = await newOrderLabel()
    for (let i = 0; i < 2; i++) {
      const { status, body } = await call()
      expect(status).toBe(200)
      expect(body.data).toMatchObject({ status: 'ready', tracking_code: null, tracking_url: null })
    }
    expect(parcels).toHaveLength(1)
    expect(JSON.stringify(app.logged)).not.toContain('SECRET')
  })

  it('a label is bought once although the connection breaks after Sendcloud has created the parcel', async () => {
    const call = await newOrderLabel()
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
    expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })

  it('a withheld label is requested again while a row is to be shipped, and no longer once all are cancelled', async () => {
    newParcel = () => unannounced(1002, 'Announcement failed')
    const { orderIds } = await insertSlice(app.ctx.db, seller.accountId)
    const call = () => seller.post(`/v1/orders/${orderIds[0]}/label`)
    const putRequests = () => requests.filter(({ method }) => method === 'PUT').length
    interfere = ({ method }, res) => {
      if (method === 'PUT') res.writeHead(402).end('{}')
      return method === 'PUT'
    }
    await call()
    expect([(await call()).body.data.status, putRequests()]).toEqual(['action_required', 1])
    await cancel(app, orderIds[0]!)
    const { data } = (await call()).body
    expect([data.status, putRequests()]).toEqual(['action_required', 1])
    expect(data.message).toMatch(/every row of this order is cancelled.*nothing to do/)
    expect(data.message).not.toMatch(/request the label again/)
    parcels = []
    expect((await call()).body.data).toMatchObject({ status: data.status, message: data.message })
  })

  it('the message about a withheld label whose parcel was deleted at Sendcloud sends the seller to the marketplace', async () => {
    newParcel = () => unannounced(1002, 'Announcement failed')
    const call = await newOrderLabel()
    expect((await call()).body.data.status).toBe('action_required')
    parcels = []
    const { status, body } = await call()
    expect([status, body.data.status]).toEqual([200, 'action_required'])
    expect(body.data.message).toMatch(/cancelled at the carrier.*Ask the marketplace/)
    expect(body.data.message).not.toMatch(/request the label again/)
  })

  it('a label that arrives cut off is fetched again', async () => {
    interfere = ({ path }, res) => {
      if (!path.startsWith('/label/')) return false
      // Without Content-Length, the end of the connection is the end of the body.
      res.socket!.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${PDF.subarray(0, 20)}`)
      return true
    }
    const call = await newOrderLabel()
    expect((await call()).body.data).toMatchObject({ status: 'processing', label_url: null })
    interfere = () => false
    expect((await call()).body.data.status).toBe('ready')
  })

  it('a label that was ready and is cancelled at Sendcloud before it has a code is `action_required`, without a link', async () => {
    newParcel = () => ({ ...announced(), tracking_number: '' })
    const call = await newOrderLabel()
    expect((await call()).body.data).toMatchObject({ status: 'ready', tracking_code: null })
    parcels[0]!.status = { id: 2000, message: 'Cancelled' }
    for (const { status, body } of [await call(), await call()]) {
      expect([status, body.data]).toMatchObject([
        200,
        {
          status: 'action_required',
          label_url: null,
          message: expect.stringMatching(/cancelled at the carrier/),
        },
      ])
    }
  })

  it('a label whose parcel was being announced stays `processing` if Sendcloud does not find it', async () => {
    newParcel = () => unannounced(1001, 'Being announced')
    const call = await newOrderLabel()
    expect((await call()).body.data.status).toBe('processing')
    const hidden = parcels
    parcels = []
    expect((await call()).status).toBe(502)
    parcels = hidden
    expect((await call()).body.data.status).toBe('processing')
  })

  it('the seller never sees the words of Sendcloud, and can call again after its refusal', async () => {
    const call = await newOrderLabel()
    respondWith(402, { error: { code: 402, message: 'Your direct debit was refused.' } })
    const { status, text } = await call()
    expect(status).toBe(502)
    expect(text).not.toMatch(/debit|sendcloud/i)
    const errors = JSON.stringify(app.logged.map(({ err }) => (err as Error)?.message))
    expect(errors).toContain('with 402 (code 402)')
    expect(errors).not.toMatch(/debit/)
    interfere = () => false
    expect((await call()).status).toBe(200)
    expect(parcels).toHaveLength(1)
  })
})
