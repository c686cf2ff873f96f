import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A seller's receiver that does the least: reads, answers 204, notes the time. Runs as a process of its own; asked for
 * a number of arrivals it answers once they are there.
 */
export type ReceiverAsked = { arrivals: number }

/** Moments in Unix milliseconds with fractions, as the processes of one machine can compare them. */
export type ReceiverSaid = { first: number; last: number; at: Map<number, number> }

let arrivals = 0
let wanted = Number.POSITIVE_INFINITY
let first = 0
let at = new Map<number, number>()

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    response.writeHead(204).end()
    const now = performance.timeOrigin + performance.now()
    if (arrivals++ === 0) first = now
    // Which order it's about, without reading all of it.
    const order = /"order_id":(\d+)/.exec(chunks[0]!.toString('latin1'))
    if (order && !at.has(Number(order[1]))) at.set(Number(order[1]), now)
    if (arrivals === wanted) say(now)
  })
})
server.keepAliveTimeout = 72_000
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))

process.on('message', (asked: ReceiverAsked) => {
  wanted = asked.arrivals
  if (arrivals >= wanted) say(performance.timeOrigin + performance.now())
})

function say(last: number): void {
  const said: ReceiverSaid = { first, last, at }
  process.send!(said)
  arrivals = 0
  wanted = Number.POSITIVE_INFINITY
  at = new Map()
}
