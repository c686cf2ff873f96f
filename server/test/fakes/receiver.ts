import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Client, TestApp } from '../app.ts'
import { serve } from './network.ts'

/** A delivery as it arrived. */
export type Arrived = {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into payloads freely
  json: any
}

export type Receiver = {
  /** For a service that may send to private addresses. */
  url: string
  port: number
  arrived: Arrived[]
  /** How it answers from now on; with 204 unless told. */
  answer: (response: ServerResponse, delivery: Arrived) => void
  /** Answers every delivery with this status. */
  says(status: number, text?: string): void
}

/** A seller's own server, on a free loopback port. */
export async function startReceiver(): Promise<Receiver> {
  const arrived: Arrived[] = []
  const { port } = await serve(async (request, response) => {
    const body = await buffer(request)
    const { method, url, headers } = request
    const delivery = {
      method: method!,
      path: url!,
      headers,
      body,
      json: JSON.parse(body.toString()),
    }
    arrived.push(delivery)
    receiver.answer(response, delivery)
  })
  const receiver: Receiver = {
    url: `http://localhost:${port}/hooks`,
    port,
    arrived,
    answer: (response) => response.writeHead(204).end(),
    says(status, text = '') {
      receiver.answer = (response) => response.writeHead(status).end(text)
    },
  }
  return receiver
}

/** Whether it's signed as §6.5 says, reckoned by hand. */
export function isSignedWith(secret: string, { headers, body }: Arrived): boolean {
  const signed = createHmac('sha256', secret)
  signed.update(`${headers['x-service-timestamp']}.`).update(body)
  return headers['x-service-signature'] === signed.digest('hex')
}

/** All that there is to be told of. */
export const EVERYTHING = ['order.created', 'order.cancelled', 'order.label_ready', 'listing.sold']

/** Registers an endpoint. Throws when that can't be. */
export async function subscribe(
  seller: Client,
  url: string,
  events: string[] = EVERYTHING,
): Promise<{ id: number; secret: string }> {
  const { status, body, text } = await seller.post('/v1/webhooks', { payload: { url, events } })
  if (status !== 201) throw new Error(`The endpoint was refused: ${text}`)
  return { id: body.data.id, secret: body.secret }
}

/** An endpoint as its seller sees it, undefined when it's gone. */
export const endpointOf = async (seller: Client, id: number) =>
  (await seller.get('/v1/webhooks')).body.data.find((one: { id: number }) => one.id === id)

/** Deliveries as the operator sees them, newest first. */
export const deliveriesIn = async ({ operator }: Pick<TestApp, 'operator'>, query = '') =>
  (await operator.get(`/operator/v1/deliveries?per_page=100&${query}`)).body.data

/** Sends a sample event to an account's endpoints. */
export const sample = (
  { operator }: Pick<TestApp, 'operator'>,
  accountId: number,
  event = 'order.created',
) => operator.post('/operator/v1/sandbox/events', { payload: { account_id: accountId, event } })
