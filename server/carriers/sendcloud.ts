import type { Agent, Dispatcher } from 'undici'
import type { SendcloudSettings } from '../config.ts'
import {
  ACTION_REQUIRED,
  type Carrier,
  CarrierError,
  type CarrierShipment,
  type Parcel,
} from './carrier.ts'

/** Each request, from the connection to the end of its answer. */
const TIMEOUT_MS = 15_000
const LARGEST_ANSWER_BYTES = 1024 * 1024
const LARGEST_LABEL_BYTES = 10 * 1024 * 1024

/** Of Sendcloud's parcel statuses those that say something about the label. */
const BEING_ANNOUNCED = 1001
const NOT_ANNOUNCED = [999, 1002]
const CANCELLED = [1998, 1999, 2000, 2001]

/** Nothing was sent when one of these ended a request. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']

/** As much of Sendcloud's parcel as we look at. */
type SendcloudParcel = {
  id: number
  external_reference?: string | null
  tracking_number?: string | null
  tracking_url?: string | null
  status?: { id: number; message: string } | null
  label?: { label_printer?: string | null } | null
}

/**
 * Sendcloud's parcel API, version 2. Our reference is the parcel's `external_reference`, which Sendcloud keeps unique:
 * the same one again is no second parcel there either.
 */
export function sendcloudCarrier(
  settings: SendcloudSettings,
  { timeoutMs = TIMEOUT_MS } = {},
): Carrier & { close(): Promise<void> } {
  const { send, close } = connection(settings, timeoutMs)

  const one = (answer: unknown): SendcloudParcel => {
    const parcel = (answer as { parcel?: SendcloudParcel } | null)?.parcel
    if (typeof parcel?.id !== 'number') {
      throw new CarrierError('unknown', 'Sendcloud answered without a parcel.')
    }
    return parcel
  }
  const get = async (id: string) => one(await send('GET', `/parcels/${encodeURIComponent(id)}`))

  return {
    provider: 'sendcloud',
    close,

    async buy(parcel) {
      return told(one(await send('POST', '/parcels', { parcel: asked(parcel, settings) })))
    },

    async find(reference) {
      const query = new URLSearchParams({ external_reference: reference })
      const answer = await send('GET', `/parcels?${query}`)
      const parcels = (answer as { parcels?: SendcloudParcel[] } | null)?.parcels
      if (!Array.isArray(parcels)) {
        throw new CarrierError('unknown', 'Sendcloud answered without a list of parcels.')
      }
      const found = parcels.find((parcel) => parcel.external_reference === reference)
      return found && told(found)
    },

    async read(id) {
      const parcel = await get(id)
      if (!NOT_ANNOUNCED.includes(parcel.status?.id ?? 0)) return told(parcel)
      // Its label could not be had so far: another try, which Sendcloud may refuse as it did before.
      try {
        return told(
          one(await send('PUT', '/parcels', { parcel: { id: parcel.id, request_label: true } })),
        )
      } catch (error) {
        if (error instanceof CarrierError && error.outcome === 'refused') return told(parcel)
        throw error
      }
    },

    async label(id) {
      const { label } = await get(id)
      const address = label?.label_printer
      if (!address) throw new CarrierError('refused', `Sendcloud has no label of parcel ${id}.`)
      return send.pdf(address)
    },
  }
}

/** The code of an error, if the answer has one. Its text may repeat the buyer's name and address: it's never kept. */
function codeIn(bytes: Buffer): string {
  try {
    const { error } = JSON.parse(bytes.toString()) as { error?: { code?: unknown } }
    return typeof error?.code === 'number' ? ` (code ${error.code})` : ''
  } catch {
    return ''
  }
}

function asked(
  { reference, sliceKey, shippingCode, recipient }: Parcel,
  { methods }: SendcloudSettings,
) {
  const method = methods.get(shippingCode) ?? methods.get('*')
  if (method === undefined) {
    throw new CarrierError('refused', `SENDCLOUD_METHODS names no method for "${shippingCode}".`)
  }
  const { house_number: number, house_number_suffix: suffix } = recipient
  return {
    name: recipient.full_name,
    address: recipient.street,
    house_number: suffix ? `${number} ${suffix}` : number,
    postal_code: recipient.zip,
    city: recipient.city,
    country: recipient.country.toUpperCase(),
    telephone: recipient.phone ?? '',
    email: recipient.email,
    order_number: sliceKey,
    external_reference: reference,
    request_label: true,
    shipment: { id: method },
  }
}

function told({
  id,
  status,
  label,
  tracking_number,
  tracking_url,
}: SendcloudParcel): CarrierShipment {
  const outcome = outcomeOf(status?.id, Boolean(label?.label_printer))
  return {
    id: String(id),
    status: outcome,
    message: outcome === 'action_required' ? ACTION_REQUIRED : null,
    trackingCode: tracking_number || null,
    trackingUrl: tracking_url || null,
    trackingStatus: status?.message || null,
  }
}

function outcomeOf(status: number | undefined, hasLabel: boolean): CarrierShipment['status'] {
  if (status === BEING_ANNOUNCED) return 'processing'
  if (status !== undefined && [...NOT_ANNOUNCED, ...CANCELLED].includes(status)) {
    return 'action_required'
  }
  return hasLabel ? 'ready' : 'processing'
}

type Send = {
  (method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<unknown>
  /** Fetches a PDF from an address that Sendcloud gave. */
  pdf(address: string): Promise<Uint8Array>
}

/** Requests with our credentials, and what their failures mean. */
function connection({ url, publicKey, secretKey }: SendcloudSettings, timeoutMs: number) {
  let agent: Agent | undefined
  const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString('base64')}`

  const exchange = async (
    method: 'GET' | 'POST' | 'PUT',
    address: string,
    { body, accept, limit }: { body?: object | undefined; accept: string; limit: number },
  ): Promise<Buffer> => {
    try {
      // Loaded with the first request: it would cost every start a tenth of a second.
      const undici = await import('undici')
      agent ??= new undici.Agent({ connect: { timeout: timeoutMs } })
      const answer = await undici.request(address, {
        method,
        dispatcher: agent,
        signal: AbortSignal.timeout(timeoutMs),
        headers: {
          authorization,
          accept,
          'user-agent': 'Cardstall',
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        body: body ? JSON.stringify(body) : null,
      })
      const bytes = await readAtMost(answer.body, limit)
      const { statusCode: status } = answer
      if (status >= 200 && status < 300) return bytes
      throw new CarrierError(
        isRefusal(status) ? 'refused' : 'unknown',
        `Sendcloud answered ${method} ${new URL(address).pathname} with ${status}${codeIn(bytes)}.`,
      )
    } catch (error) {
      if (error instanceof CarrierError) throw error
      const { code, message } = error as NodeJS.ErrnoException
      throw new CarrierError(
        NEVER_SENT.includes(code ?? '') ? 'refused' : 'unknown',
        `Sendcloud could not be asked (${method} ${new URL(address).pathname}): ${message}`,
        error,
      )
    }
  }

  const send = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) => {
    const limit = LARGEST_ANSWER_BYTES
    const bytes = await exchange(method, url + path, { body, accept: 'application/json', limit })
    try {
      return JSON.parse(bytes.toString()) as unknown
    } catch (error) {
      throw new CarrierError('unknown', 'Sendcloud answered with something that is no JSON.', error)
    }
  }

  const pdf = async (address: string) => {
    // Our credentials go to nobody else, whatever an answer says.
    if (!URL.canParse(address) || new URL(address).origin !== new URL(url).origin) {
      throw new CarrierError(
        'refused',
        'Sendcloud keeps the label at an address that is not its own.',
      )
    }
    const limit = LARGEST_LABEL_BYTES
    const bytes = await exchange('GET', address, { accept: 'application/pdf', limit })
    if (!bytes.subarray(0, 5).equals(Buffer.from('%PDF-'))) {
      throw new CarrierError('refused', 'Sendcloud gave a label that is no PDF.')
    }
    return bytes
  }

  return {
    send: Object.assign(send, { pdf }) satisfies Send as Send,
    close: async () => agent?.close(),
  }
}

/** The request was understood and turned down. A time-out or a collision says nothing about what has happened. */
const isRefusal = (status: number) =>
  status >= 400 && status < 500 && status !== 408 && status !== 409

async function readAtMost(body: Dispatcher.ResponseData['body'], limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > limit) throw new Error(`The answer is larger than ${limit} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
