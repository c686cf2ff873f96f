import type { Agent } from 'undici'
import type { SendcloudSettings } from '../config.ts'
import type { Log } from '../log.ts'
import { readBody } from '../outbound/read-body.ts'
import {
  ACTION_REQUIRED,
  CANCELLATION_REQUESTED,
  type Carrier,
  CarrierError,
  type CarrierShipment,
  MAX_TRACKING,
  MissingShipmentError,
  type Parcel,
} from './carrier.ts'

/** Limits one request, from connecting to the end of the response. */
const TIMEOUT_MS = 15_000
const MAX_RESPONSE_BYTES = 1024 * 1024
const MAX_LABEL_BYTES = 10 * 1024 * 1024
/** The part of a PDF that has its end marker, as readers of PDFs expect it. */
const PDF_END_BYTES = 1024

/** The ids of Sendcloud's parcel statuses that concern the label. */
const BEING_ANNOUNCED = 1001
const NOT_ANNOUNCED = [999, 1002]
/** "Cancellation requested" and "Submitting cancellation request". The carrier may refuse, and the parcel may travel. */
const BEING_CANCELLED = [1999, 2001]
/** "Cancelled upstream" and "Cancelled" */
const CANCELLED = [1998, 2000]

/** Error codes of requests that never reached the server. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']

/** The fields of Sendcloud's parcel that we use. Only the id is checked: other fields may have any type. */
type SendcloudParcel = {
  id: number
  external_reference?: unknown
  tracking_number?: unknown
  tracking_url?: unknown
  status?: { id?: unknown; message?: unknown } | null
  label?: { label_printer?: unknown } | null
}

/**
 * Sendcloud's parcel API, version 2. Our reference is the parcel's unique `external_reference`: a second request
 * with the same reference does not create a second parcel.
 */
export function sendcloudCarrier(
  settings: SendcloudSettings,
  log: Pick<Log, 'warn'>,
  { timeoutMs = TIMEOUT_MS } = {},
): Carrier & { close(): Promise<void> } {
  const { request, fetchPdf, close } = openClient(settings, timeoutMs)

  const shipmentFrom = (parcel: SendcloudParcel): CarrierShipment => shipmentIn(parcel, log)

  const getParcel = async (id: string) =>
    parcelIn(await request('GET', `/parcels/${encodeURIComponent(id)}`))

  return {
    provider: 'sendcloud',
    close,

    async buy(parcel) {
      const body = { parcel: newParcel(parcel, settings) }
      return shipmentFrom(parcelIn(await request('POST', '/parcels', body)))
    },

    async find(reference) {
      const query = new URLSearchParams({ external_reference: reference })
      const response = await request('GET', `/parcels?${query}`)
      const parcels = (response as { parcels?: (SendcloudParcel | null)[] } | null)?.parcels
      if (!Array.isArray(parcels)) {
        throw new CarrierError('unknown', 'The response of Sendcloud has no list of parcels.')
      }
      const found = parcels.find((parcel) => parcel?.external_reference === reference)
      return found ? shipmentFrom(parcelIn({ parcel: found })) : undefined
    },

    async read(id, { mayRequestLabel }) {
      const parcel = await getParcel(id)
      const isWithheld = isAmong(NOT_ANNOUNCED, parcel.status?.id)
      if (!isWithheld || !mayRequestLabel) return shipmentFrom(parcel)
      // Sendcloud refused the label at the purchase. Request it again; it may be refused again.
      const body = { parcel: { id: parcel.id, request_label: true } }
      try {
        return shipmentFrom(parcelIn(await request('PUT', '/parcels', body)))
      } catch (error) {
        if (error instanceof CarrierError && error.outcome === 'refused')
          return shipmentFrom(parcel)
        throw error
      }
    },

    async label(id) {
      const url = labelUrlIn(await getParcel(id))
      if (url === undefined)
        throw new CarrierError('refused', `Sendcloud has no label for parcel ${id}.`)
      return fetchPdf(url)
    },
  }
}

function parcelIn(response: unknown): SendcloudParcel {
  const parcel = (response as { parcel?: SendcloudParcel } | null)?.parcel
  if (!Number.isSafeInteger(parcel?.id)) {
    throw new CarrierError('unknown', 'The response of Sendcloud has no parcel.')
  }
  return parcel!
}

function labelUrlIn({ label }: SendcloudParcel): string | undefined {
  const url = label?.label_printer
  return typeof url === 'string' && url !== '' ? url : undefined
}

function newParcel(
  { reference, sliceKey, shippingCode, recipient }: Parcel,
  { methods }: SendcloudSettings,
) {
  const method = methods.get(shippingCode) ?? methods.get('*')
  if (method === undefined) {
    throw new CarrierError('refused', `SENDCLOUD_METHODS has no method for "${shippingCode}".`)
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

/** Reads a parcel. It exists at Sendcloud, so an unusable field is left out instead of failing the call each time. */
function shipmentIn(parcel: SendcloudParcel, log: Pick<Log, 'warn'>): CarrierShipment {
  const { status } = parcel
  const id = String(parcel.id)
  const usable = (field: string, text: string | null | undefined): string | null => {
    if (text !== undefined) return text
    log.warn({ shipment: id, field }, 'the carrier sent a field that cannot be used')
    return null
  }
  return {
    id,
    ...labelStateFrom(status?.id, labelUrlIn(parcel) !== undefined),
    trackingCode: usable('tracking_number', textFrom(parcel.tracking_number, MAX_TRACKING.code)),
    trackingUrl: usable('tracking_url', webUrlFrom(parcel.tracking_url)),
    trackingStatus: usable('status', textFrom(cut(status?.message), MAX_TRACKING.status)),
  }
}

/** Null for an empty text; undefined for one that is too long or that PostgreSQL or a page can't show. */
function textFrom(value: unknown, maxCharacters: number): string | null | undefined {
  const text = Number.isSafeInteger(value) ? String(value) : (value ?? '')
  if (typeof text !== 'string') return undefined
  const trimmed = text.trim()
  const isUsable =
    trimmed.length <= maxCharacters && trimmed.isWellFormed() && !/\p{Cc}/u.test(trimmed)
  return isUsable ? trimmed || null : undefined
}

function webUrlFrom(value: unknown): string | null | undefined {
  const text = textFrom(value, MAX_TRACKING.url)
  return text && !(/^https?:\/\//i.test(text) && URL.canParse(text)) ? undefined : text
}

const cut = (value: unknown) =>
  typeof value === 'string' ? value.slice(0, MAX_TRACKING.status).toWellFormed() : value

function labelStateFrom(
  statusId: unknown,
  hasLabel: boolean,
): Pick<CarrierShipment, 'status' | 'message' | 'cancellation'> {
  if (isAmong(CANCELLED, statusId)) {
    return { status: 'action_required', message: null, cancellation: 'confirmed' }
  }
  // Polls read a label that is `processing` until the carrier has decided, for a week at most.
  if (isAmong(BEING_CANCELLED, statusId)) {
    return { status: 'processing', message: CANCELLATION_REQUESTED, cancellation: 'requested' }
  }
  if (isAmong(NOT_ANNOUNCED, statusId)) {
    return { status: 'action_required', message: ACTION_REQUIRED, cancellation: null }
  }
  const isReady = hasLabel && statusId !== BEING_ANNOUNCED
  return { status: isReady ? 'ready' : 'processing', message: null, cancellation: null }
}

const isAmong = (ids: readonly unknown[], id: unknown) => ids.includes(id)

type Method = 'GET' | 'POST' | 'PUT'

/** HTTP with our credentials. Every failure becomes a CarrierError. */
function openClient({ url, publicKey, secretKey }: SendcloudSettings, timeoutMs: number) {
  let agent: Agent | undefined
  const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString('base64')}`

  const exchange = async (
    method: Method,
    target: string,
    { body, accept, maxBytes }: { body?: object | undefined; accept: string; maxBytes: number },
  ): Promise<Buffer> => {
    const { pathname } = new URL(target)
    try {
      // Loaded with the first request: it would add a tenth of a second to every start.
      const undici = await import('undici')
      agent ??= new undici.Agent({ connect: { timeout: timeoutMs } })
      const response = await undici.request(target, {
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
      const bytes = await readBody(
        response.body,
        maxBytes,
        () => new Error(`The response is larger than ${maxBytes} bytes.`),
      )
      const { statusCode } = response
      if (statusCode >= 200 && statusCode < 300) return bytes
      const reason = `Sendcloud responded to ${method} ${pathname} with ${statusCode}${codeIn(bytes)}.`
      if (method === 'GET' && statusCode === 404) throw new MissingShipmentError(reason)
      throw new CarrierError(isRefusal(statusCode) ? 'refused' : 'unknown', reason)
    } catch (error) {
      if (error instanceof CarrierError) throw error
      const { code, message } = error as NodeJS.ErrnoException
      throw new CarrierError(
        NOT_SENT.includes(code ?? '') ? 'refused' : 'unknown',
        `The request to Sendcloud failed (${method} ${pathname}): ${message}`,
        error,
      )
    }
  }

  return {
    async request(method: Method, path: string, body?: object): Promise<unknown> {
      const options = { body, accept: 'application/json', maxBytes: MAX_RESPONSE_BYTES }
      const bytes = await exchange(method, url + path, options)
      try {
        return JSON.parse(bytes.toString())
      } catch (error) {
        throw new CarrierError('unknown', 'The response of Sendcloud is not JSON.', error)
      }
    },

    async fetchPdf(pdfUrl: string): Promise<Uint8Array> {
      // The URL comes from a response. Our credentials must not leave Sendcloud's origin.
      if (!URL.canParse(pdfUrl) || new URL(pdfUrl).origin !== new URL(url).origin) {
        throw new CarrierError('refused', "Sendcloud's URL of the label is not on its own origin.")
      }
      const options = { accept: 'application/pdf', maxBytes: MAX_LABEL_BYTES }
      const bytes = await exchange('GET', pdfUrl, options)
      if (!bytes.subarray(0, 5).equals(Buffer.from('%PDF-'))) {
        throw new CarrierError('refused', "Sendcloud's label is not a PDF.")
      }
      // A body without a length that ends early looks complete to HTTP.
      if (!bytes.subarray(-PDF_END_BYTES).includes('%%EOF')) {
        throw new CarrierError('refused', "Sendcloud's label is not a whole PDF.")
      }
      return bytes
    },

    close: async () => agent?.close(),
  }
}

/** Whether the request certainly had no effect. A timeout (408) or a conflict (409) leaves that open. */
const isRefusal = (status: number) =>
  status >= 400 && status < 500 && status !== 408 && status !== 409

/** The error's code, if the response has one. Its text may repeat the buyer's name and address, so it is dropped. */
function codeIn(bytes: Buffer): string {
  try {
    const { error } = JSON.parse(bytes.toString()) as { error?: { code?: unknown } }
    return typeof error?.code === 'number' ? ` (code ${error.code})` : ''
  } catch {
    return ''
  }
}
