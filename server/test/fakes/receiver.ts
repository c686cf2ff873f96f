import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { sampleData } from '../../sandbox/sample-events.ts'
import type { Client, TestApp } from '../app.ts'
import { startWebServer } from './network.ts'

/** A delivery as the receiver got it. */
export type Arrived = {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into payloads freely
  json: any
}

export type Receiver = {
  /** A loopback URL: the service must be allowed to send to private addresses. */
  url: string
  port: number
  arrived: Arrived[]
  /** Responds to the next deliveries; with 204 until a test replaces it. */
  respond: (response: ServerResponse, delivery: Arrived) => void
  /** Responds to the next deliveries with this status. */
  respondWith(status: number, text?: string): void
}

/** A seller's webhook receiver on a free loopback port. */
export async function startReceiver(): Promise<Receiver> {
  const arrived: Arrived[] = []
  const { port } = await startWebServer(async (request, response) => {
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
    receiver.respond(response, delivery)
  })
  const receiver: Receiver = {
    url: `http://localhost:${port}/hooks`,
    port,
    arrived,
    respond: (response) => response.writeHead(204).end(),
    respondWith(status, text = '') {
      receiver.respond = (response) => response.writeHead(status).end(text)
    },
  }
  return receiver
}

/** Whether a delivery has the signature of §6.5, computed independently of the service's code. */
export function isSignedWith(secret: string, { headers, body }: Arrived): boolean {
  const signed = createHmac('sha256', secret)
  signed.update(`${headers['x-service-timestamp']}.`).update(body)
  return headers['x-service-signature'] === signed.digest('hex')
}

/** Registers an endpoint. Throws if it is refused. */
export async function subscribe(
  seller: Client,
  url: string,
  events: readonly string[] = WEBHOOK_EVENTS,
): Promise<{ id: number; secret: string }> {
  const { status, body, text } = await seller.post('/v1/webhooks', { payload: { url, events } })
  if (status !== 201) throw new Error(`The endpoint was refused: ${text}`)
  return { id: body.data.id, secret: body.secret }
}

/** An endpoint as its seller sees it; undefined after its deletion. */
export const endpointOf = async (seller: Client, id: number) =>
  (await seller.get('/v1/webhooks')).body.data.find(
    (endpoint: { id: number }) => endpoint.id === id,
  )

/** Deliveries as the operator sees them, newest first. */
export const deliveriesIn = async ({ operator }: Pick<TestApp, 'operator'>, query = '') =>
  (await operator.get(`/operator/v1/deliveries?per_page=100&${query}`)).body.data

/** Sends a sample event to an account's endpoints. */
export const sendSampleEvent = (
  { operator }: Pick<TestApp, 'operator'>,
  accountId: number,
  event = 'order.created',
) => operator.post('/operator/v1/sandbox/events', { payload: { account_id: accountId, event } })

/** Writes the past hour's delivered deliveries of sample events, as many to each endpoint. */
export async function logDeliveries(
  { ctx }: Pick<TestApp, 'ctx'>,
  accountId: number,
  endpointIds: number[],
  count: number,
): Promise<void> {
  const events = count / endpointIds.length
  await ctx.db`
    with happened as (
      insert into events (account_id, event, data, created_at)
      select
        ${accountId},
        'listing.sold',
        ${JSON.stringify(sampleData('listing.sold'))}::text,
        ${ctx.now()}::timestamptz - n * interval '1 hour' / ${events}
      from generate_series(${events}::int, 1, -1) n
      returning id, event, created_at
    )
    insert into deliveries (event_id, event, endpoint_id, status, created_at)
    select id, event, unnest(${endpointIds}::bigint[]), 'delivered', created_at
    from happened
    order by id
  `
}
