import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Random } from '../random.ts'

/** A delivery and every time it came. */
export type Delivery = {
  id: number
  path: string
  body: Buffer
  event: string
  createdAt: string
  // biome-ignore lint/suspicious/noExplicitAny: each event has a shape of its own
  data: any
  times: number
  /** How often it was answered with 204. */
  taken: number
}

/** The sellers' own servers: they note everything that comes, and don't always answer well. */
export type Receiver = {
  url: string
  deliveries: Map<number, Delivery>
  /** What no delivery may be: badly signed, or another one than it was before. */
  wrong: string[]
  /** Whom the secret of an endpoint belongs to, by path. */
  secrets: Map<string, string>
  /** From now on every delivery is taken. */
  calmDown(): void
  close(): void
}

type Mood = 'takes it' | 'refuses' | 'cuts off' | 'is silent'

/** So that none fails for good: of five tries three may fail. */
const MAX_FAILURES = 3

export async function startReceiver(random: Random): Promise<Receiver> {
  const deliveries: Receiver['deliveries'] = new Map()
  const secrets: Receiver['secrets'] = new Map()
  const failures = new Map<number, number>()
  const wrong: string[] = []
  let isMoody = true

  const moodFor = (id: number): Mood => {
    const failed = failures.get(id) ?? 0
    if (!isMoody || failed === MAX_FAILURES || random.chance(0.93)) return 'takes it'
    failures.set(id, failed + 1)
    return random.pick(['refuses', 'refuses', 'refuses', 'cuts off', 'cuts off', 'is silent'])
  }

  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    // Whoever is killed while sending hasn't sent anything.
    const body = await buffer(request).catch(() => undefined)
    if (!body || !request.complete) return
    const { event, delivery_id: id, created_at: createdAt, data } = JSON.parse(body.toString())
    const path = request.url!
    wrong.push(...faultsOf(request, body, { id, event, secret: secrets.get(path) }))

    const known = deliveries.get(id)
    const delivery = known ?? { id, path, body, event, createdAt, data, times: 0, taken: 0 }
    deliveries.set(id, delivery)
    delivery.times++
    if (delivery.path !== path) wrong.push(`Delivery ${id} came to ${path}, and to ${known!.path}.`)
    if (!delivery.body.equals(body)) {
      wrong.push(`Delivery ${id} came as ${body}, and before as ${known!.body}.`)
    }

    switch (moodFor(id)) {
      case 'takes it':
        delivery.taken++
        return response.writeHead(204).end()
      case 'refuses':
        return response.writeHead(500).end()
      case 'cuts off':
        return response.destroy()
      case 'is silent':
        return
    }
  }

  const server = createServer((request, response) => {
    receive(request, response).catch((error) => {
      wrong.push(`What came to ${request.url} can’t be understood: ${error}`)
      response.destroy()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    // By its name: addresses of machines are refused at registration.
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    deliveries,
    wrong,
    secrets,
    calmDown() {
      isMoody = false
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** What is wrong with the headers (§6.4) and the signature (§6.5). */
function faultsOf(
  { headers, url }: IncomingMessage,
  body: Buffer,
  { id, event, secret }: { id: number; event: string; secret: string | undefined },
): string[] {
  const faults: string[] = []
  if (secret === undefined) return [`Delivery ${id} came to ${url}, where nobody is.`]
  const signed = createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.`)
  if (headers['x-service-signature'] !== signed.update(body).digest('hex')) {
    faults.push(`Delivery ${id} is badly signed.`)
  }
  if (headers['x-service-delivery'] !== String(id) || headers['x-service-event'] !== event) {
    faults.push(`Delivery ${id} has headers of another one.`)
  }
  return faults
}
