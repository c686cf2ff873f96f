import { createHash, type Hash, hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Bytes, bufferOf } from '../../../catalog/bytes.ts'
import { serviceUnavailable } from '../../../errors.ts'
import type { Listable } from '../../../listings/listing.ts'
import type { ItemOffers } from '../../../listings/offer-store.ts'
import { type Offers, offersOf } from '../../../listings/offers.ts'
import { limitConcurrency } from '../../../queue/limit-concurrency.ts'
import type { Service } from '../../../service.ts'
import { withTimeout } from '../../../time/with-timeout.ts'
import { quoted, sendRevalidated } from '../../entity-tag.ts'
import { MAX_LANE_WAIT_MS } from '../../fast-lane.ts'
import { sendJson } from '../../json.ts'
import { offerJson, sellerJson } from '../../shapes/public-listing.ts'
import { offerWriter } from './offer-bytes.ts'
import type { CatalogResponse } from './reads.ts'

/** Maximum number of reads at the same time: reading a popular card's offers occupies a database connection. */
const MAX_CONCURRENT_READS = 4
/** Above this total, further requests get 503. */
const MAX_UNSENT_BYTES = 256 * 1024 * 1024
const NOTHING = { body: Buffer.alloc(0), tag: '' }

/** Larger ones are sent by the ordinary path, which bounds the bytes that wait for slow clients. */
const MAX_LANE_BYTES = 8 * 1024

/** A card or product that is shown with its offers. */
export type ShownItem = {
  of: Listable
  /** Names everything that the response depends on, except the offers. */
  identity: string
  /** @param listings the JSON of an array in parts */
  toJson(listings: Buffer[]): Bytes
}

/**
 * Responses with offers that are in memory and current, for the fast lane and the ordinary path. The tag is the one that
 * the database's rows would give.
 */
export function offersInMemory(ctx: Service) {
  const write = offerWriter(ctx)

  const responseOf = (offers: ItemOffers, { identity, toJson }: ShownItem) => {
    ctx.offers.used(offers)
    const now = ctx.now().getTime()
    const { text, shopVersion, validUntil } = write(offers, now)
    const { tag } = offers
    const isKnown = tag?.identity === identity && tag.shopVersion === shopVersion
    if (!isKnown || now >= tag.validUntil) {
      const sha256 = hash('sha256', `${identity}\n${text}`, 'base64url')
      offers.tag = { text: quoted(sha256), identity, shopVersion, validUntil }
    }
    return { body: toJson([Buffer.from(`[${text}]`)]), tag: offers.tag!.text }
  }

  return {
    responseOf,

    /**
     * The response of a small item, after its offers have been read if they are not in memory; undefined if the ordinary
     * path has to respond.
     */
    respond(item: ShownItem): CatalogResponse | undefined | Promise<CatalogResponse | undefined> {
      const small = (offers: ItemOffers | undefined) =>
        offers && offers.bytes <= MAX_LANE_BYTES
          ? { ...responseOf(offers, item), isKept: false }
          : undefined
      const offers = ctx.offers.peek(item.of)
      if (offers) return small(offers)
      return withTimeout(MAX_LANE_WAIT_MS, ctx.offers.read(item.of).then(small), () => undefined)
    },
  }
}

/**
 * Sends a card or product with all of its offers. Those in memory are sent as they are (docs/offers.md). Otherwise they
 * come from the database: there can be tens of thousands (§4.5 sets no limit), so they are read and serialised in batches,
 * and other requests run between two batches. The response is sent after the last batch, so that a slow client occupies
 * no database connection; the bytes that wait for slow clients are bounded. The `ETag` is a hash of the bytes: it changes
 * with stock, prices, photos and sellers.
 */
export function offersSender(
  ctx: Service,
  { responseOf }: Pick<ReturnType<typeof offersInMemory>, 'responseOf'>,
) {
  const limited = limitConcurrency(MAX_CONCURRENT_READS)
  let unsent = 0

  const requireRoom = () => {
    if (unsent > MAX_UNSENT_BYTES)
      throw serviceUnavailable('Too many large responses are being sent.')
  }

  return async (request: FastifyRequest, reply: FastifyReply, item: ShownItem): Promise<never> => {
    const fromDatabase = async () => {
      // The client disconnected while the request was queued.
      if (reply.raw.destroyed) return NOTHING
      requireRoom()
      const hash = createHash('sha256').update(`${item.identity}\n`)
      const parts = await bytesOf(await offersOf(ctx, item.of), ctx.config, hash)
      return { body: item.toJson(parts), tag: quoted(hash.digest('base64url')) }
    }
    requireRoom()
    const offers = await ctx.offers.read(item.of)
    const { body: bytes, tag } = offers ? responseOf(offers, item) : await limited(fromDatabase)
    const body = bufferOf(bytes)
    // The client disconnected meanwhile: 'close' has fired and would never reduce `unsent`.
    if (reply.raw.destroyed) return sendJson(reply, NOTHING.body)
    unsent += body.length
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
