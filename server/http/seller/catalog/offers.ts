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

/** Maximum number of reads at the same time: reading a popular card's offers occupies a database connection. */
const MAX_CONCURRENT_READS = 4
/** Above this total, further requests get 503. */
const MAX_UNSENT_BYTES = 256 * 1024 * 1024
/** Real time after which a connection whose client reads nothing is closed. */
const STALL_TIMEOUT_MS = 60_000
const NOTHING = { body: Buffer.alloc(0), tag: '' }

/**
 * Sends a card or product with all of its offers. There can be tens of thousands (§4.5 sets no limit), so they are read
 * and serialised in batches, and other requests run between two batches. The response is sent after the last batch, so
 * that a slow client occupies no database connection; the bytes that wait for slow clients are bounded. The `ETag` is a
 * hash of the bytes: it changes with stock, prices, photos and sellers.
 */
export function offersSender(ctx: Service) {
  const limited = limitConcurrency(MAX_CONCURRENT_READS)
  let unsent = 0

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    of: Listable,
    toJson: (listings: Buffer[]) => Buffer,
  ): Promise<never> => {
    const { body, tag } = await limited(async () => {
      // The client disconnected while the request was queued.
      if (reply.raw.destroyed) return NOTHING
      if (unsent > MAX_UNSENT_BYTES)
        throw serviceUnavailable('Too many large responses are being sent.')
      const hash = createHash('sha256').update(toJson([]))
      const parts = await bytesOf(await offersOf(ctx, of), ctx.config, hash)
      return { body: toJson(parts), tag: quoted(hash.digest('base64url')) }
    })
    // The client disconnected meanwhile: 'close' has fired and would never reduce `unsent`.
    if (reply.raw.destroyed) return sendJson(reply, NOTHING.body)
    unsent += body.length
    reply.raw.setTimeout(STALL_TIMEOUT_MS, () => reply.raw.destroy())
    reply.raw.once('close', () => {
      unsent -= body.length
    })
    return sendRevalidated(request, reply, body, tag)
  }
}

/** Serialises public listings (§2.6) as a JSON array in parts, and adds each part to the hash. */
async function bytesOf(
  { sellers, batches }: Offers,
  addresses: Service['config'],
  hash: Hash,
): Promise<Buffer[]> {
  // One shop can have many offers, so each shop is serialised once.
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
