import { setImmediate } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import type { Context } from '../../context.ts'
import { unavailable } from '../../errors.ts'
import { gate } from '../../gate.ts'
import type { Listable } from '../../listings/listing.ts'
import { type Offer, offersOf, type Seller } from '../../listings/offers.ts'
import { sendJson } from '../answer.ts'
import { offerJson, sellerJson } from './listing-json.ts'

/** Rows that are made into JSON before the event loop gets its turn: about a millisecond. */
const SLICE = 500
/** The rows of a popular card take some memory and a connection for a while. */
const MOST_READ_AT_ONCE = 4
const MOST_BYTES_UNSENT = 256 * 1024 * 1024
/** Who takes in nothing for so long is gone. */
const STALLED_MS = 60_000

/**
 * Sends a card or product with everything that is on offer of it. There may be tens of thousands of offers (§4.5
 * sets no limit), so they are made into bytes in slices between which other requests are served, a few such
 * answers at a time, and what waits for slow receivers is bounded.
 */
export function offersSender(ctx: Context) {
  const inTurn = gate(MOST_READ_AT_ONCE)
  let unsent = 0

  return async (
    reply: FastifyReply,
    of: Listable,
    answer: (listings: Buffer[]) => Buffer,
  ): Promise<never> => {
    const body = await inTurn(async () => {
      if (unsent > MOST_BYTES_UNSENT) throw unavailable('Too many large answers are on their way.')
      const { offers, sellers } = await offersOf(ctx, of)
      return answer(await offersBytes(offers, sellers, ctx.config))
    })
    unsent += body.length
    reply.raw.setTimeout(STALLED_MS, () => reply.raw.destroy())
    reply.raw.once('close', () => {
      unsent -= body.length
    })
    return sendJson(reply, body)
  }
}

/** The JSON of an array of public listings (§2.6), in parts. */
async function offersBytes(
  offers: Offer[],
  sellers: Map<number, Seller>,
  addresses: Context['config'],
): Promise<Buffer[]> {
  // One shop can have many of the offers: it's written once.
  const sellerTexts = new Map(
    [...sellers].map(([id, seller]) => [id, JSON.stringify(sellerJson(seller, addresses))]),
  )
  const parts = [Buffer.from('[')]
  for (let start = 0; start < offers.length; start += SLICE) {
    if (start > 0) await setImmediate()
    const texts = offers.slice(start, start + SLICE).map((offer) => {
      const text = JSON.stringify(offerJson(offer, addresses))
      return `${text.slice(0, -1)},"seller":${sellerTexts.get(offer.accountId)}}`
    })
    parts.push(Buffer.from((start > 0 ? ',' : '') + texts.join(',')))
  }
  parts.push(Buffer.from(']'))
  return parts
}
