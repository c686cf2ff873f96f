import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A minimal webhook receiver: it reads the request, responds with 204 and records the time. Runs in its own process. A
 * message with a number of arrivals gets a reply when they have arrived.
 */
export type ArrivalsRequest = { arrivals: number }

/** Times in fractional Unix milliseconds, which processes on one machine can compare; `at` is by order id. */
export type Arrivals = { first: number; last: number; at: Map<number, number> }

let arrivals = 0
let expected = Number.POSITIVE_INFINITY
let first = 0
let at = new Map<number, number>()

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    response.writeHead(204).end()
    const now = performance.timeOrigin + performance.now()
    if (arrivals++ === 0) first = now
    // Finds the order id without parsing the body.
    const order = /"order_id":(\d+)/.exec(chunks[0]!.toString('latin1'))
    if (order && !at.has(Number(order[1]))) at.set(Number(order[1]), now)
    if (arrivals === expected) reportArrivals(now)
  })
})
server.keepAliveTimeout = 72_000
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))

process.on('message', (request: ArrivalsRequest) => {
  expected = request.arrivals
  if (arrivals >= expected) reportArrivals(performance.timeOrigin + performance.now())
})

function reportArrivals(last: number): void {
  process.send!({ first, last, at } satisfies Arrivals)
  arrivals = 0
  expected = Number.POSITIVE_INFINITY
  at = new Map()
}
