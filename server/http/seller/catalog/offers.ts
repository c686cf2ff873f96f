import { createHash, type Hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { serviceUnavailable } from '../../../errors.ts'
import type { Listable } from '../../../listings/listing.ts'
import { type Offers, offersOf } from '../../../listings/offers.ts'
import { limitConcurrency } from '../../../queue/limit-concurrency.ts'
import type { Service } from '../../../service.ts'
import { quoted, sendRevalidated } from '../../entity-tag.ts'
import { sendJson } from '../../json.ts'
import { offerJson, sellerJson } from '../../shapes/public-listing.ts'

/** A popular card takes a connection for a while. */
const MAX_READ_AT_ONCE = 4
const MAX_BYTES_UNSENT = 256 * 1024 * 1024
/** Who takes in nothing for so long is gone. */
const STALLED_MS = 60_000
const NOTHING = { body: Buffer.alloc(0), tag: '' }

/**
 * Sends a card or product with everything that is on offer of it. There may be tens of thousands of offers (§4.5
 * sets no limit), so they are read and made into bytes in batches between which other requests are served, a few
 * such answers at a time. Only then is the answer sent: a slow receiver holds no connection, and what waits for
 * slow receivers is bounded. Its `ETag` follows from the bytes, as that of any catalog answer: it changes with stock,
 * prices, photos and sellers.
 */
export function offersSender(ctx: Service) {
  const inTurn = limitConcurrency(MAX_READ_AT_ONCE)
  let unsent = 0

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    of: Listable,
    answer: (listings: Buffer[]) => Buffer,
  ): Promise<never> => {
    const { body, tag } = await inTurn(async () => {
      // Whoever has left while waiting for their turn needs nothing any more.
      if (reply.raw.destroyed) return NOTHING
      if (unsent > MAX_BYTES_UNSENT)
        throw serviceUnavailable('Too many large answers are on their way.')
      const hash = createHash('sha256').update(answer([]))
      const parts = await bytesOf(await offersOf(ctx, of), ctx.config, hash)
      return { body: answer(parts), tag: quoted(hash.digest('base64url')) }
    })
    // Whoever has left meanwhile doesn't leave again.
    if (reply.raw.destroyed) return sendJson(reply, NOTHING.body)
    unsent += body.length
    reply.raw.setTimeout(STALLED_MS, () => reply.raw.destroy())
    reply.raw.once('close', () => {
      unsent -= body.length
    })
    return sendRevalidated(request, reply, body, tag)
  }
}

/** The JSON of an array of public listings (§2.6), in parts; each is added to the hash in its own slice of time. */
async function bytesOf(
  { sellers, batches }: Offers,
  addresses: Service['config'],
  hash: Hash,
): Promise<Buffer[]> {
  // One shop can have many of the offers: it's written once.
  const sellerTexts = new Map(
    [...sellers].map(([id, seller]) => [id, JSON.stringify(sellerJson(seller, addresses))]),
  )
  const parts = [Buffer.from('[')]
  for await (const offers of batches) {
    const texts = offers.map((offer) => {
      const text = JSON.stringify(offerJson(offer, addresses))
      return `${text.slice(0, -1)},"seller":${sellerTexts.get(offer.accountId)}}`
    })
    if (texts.length === 0) continue
    const part = Buffer.from((parts.length > 1 ? ',' : '') + texts.join(','))
    hash.update(part)
    parts.push(part)
  }
  parts.push(Buffer.from(']'))
  return parts
}
