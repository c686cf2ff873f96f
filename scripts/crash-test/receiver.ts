import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Random } from '../random.ts'

/** A delivery, and how many times it arrived. */
export type Delivery = {
  id: number
  path: string
  body: Buffer
  event: string
  createdAt: string
  // biome-ignore lint/suspicious/noExplicitAny: each event has its own shape
  data: any
  attempts: number
  /** The number of attempts that the receiver accepted with 204. */
  accepted: number
}

/** The sellers' webhook receiver. It records every attempt and sometimes misbehaves. */
export type Receiver = {
  url: string
  deliveries: Map<number, Delivery>
  /** Deliveries with a bad signature or headers, or that changed between attempts. */
  violations: string[]
  /** The endpoints' secrets by path. */
  secrets: Map<string, string>
  /** Accepts every delivery from now on. */
  acceptAll(): void
  close(): void
}

type Behaviour = 'accept' | 'reject' | 'disconnect' | 'stay silent'

/** Less than the five attempts of a delivery, so that no delivery fails permanently. */
const MAX_FAILURES = 3

export async function startReceiver(random: Random): Promise<Receiver> {
  const deliveries: Receiver['deliveries'] = new Map()
  const secrets: Receiver['secrets'] = new Map()
  const failures = new Map<number, number>()
  const violations: string[] = []
  let misbehaves = true

  const behaviourFor = (id: number): Behaviour => {
    const failed = failures.get(id) ?? 0
    if (!misbehaves || failed === MAX_FAILURES || random.chance(0.93)) return 'accept'
    failures.set(id, failed + 1)
    return random.pick(['reject', 'reject', 'reject', 'disconnect', 'disconnect', 'stay silent'])
  }

  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    // A request that is cut off by a kill doesn't count.
    const body = await buffer(request).catch(() => undefined)
    if (!body || !request.complete) return
    const { event, delivery_id: id, created_at: createdAt, data } = JSON.parse(body.toString())
    const path = request.url!
    violations.push(...faultsOf(request, body, { id, event, secret: secrets.get(path) }))

    const known = deliveries.get(id)
    const delivery = known ?? { id, path, body, event, createdAt, data, attempts: 0, accepted: 0 }
    deliveries.set(id, delivery)
    delivery.attempts++
    if (delivery.path !== path) {
      violations.push(`Delivery ${id} was sent to ${path}, and before to ${known!.path}.`)
    }
    if (!delivery.body.equals(body)) {
      violations.push(
        `Delivery ${id} was sent with the body ${body}, and before with ${known!.body}.`,
      )
    }

    switch (behaviourFor(id)) {
      case 'accept':
        delivery.accepted++
        return response.writeHead(204).end()
      case 'reject':
        return response.writeHead(500).end()
      case 'disconnect':
        return response.destroy()
      case 'stay silent':
        return
    }
  }

  const server = createServer((request, response) => {
    receive(request, response).catch((error) => {
      violations.push(`The receiver can’t read a request to ${request.url}: ${error}`)
      response.destroy()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    // A name, because registration refuses private addresses.
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    deliveries,
    violations,
    secrets,
    acceptAll() {
      misbehaves = false
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Checks the headers (§6.4) and the signature (§6.5); returns violations. */
function faultsOf(
  { headers, url }: IncomingMessage,
  body: Buffer,
  { id, event, secret }: { id: number; event: string; secret: string | undefined },
): string[] {
  const faults: string[] = []
  if (secret === undefined) return [`Delivery ${id} was sent to ${url}, which is not an endpoint.`]
  const signed = createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.`)
  if (headers['x-service-signature'] !== signed.update(body).digest('hex')) {
    faults.push(`Delivery ${id} has an invalid signature.`)
  }
  if (headers['x-service-delivery'] !== String(id) || headers['x-service-event'] !== event) {
    faults.push(`Delivery ${id} has headers that don’t match its body.`)
  }
  return faults
}
