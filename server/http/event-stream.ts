import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { serviceUnavailable, validationError } from '../errors.ts'
import { followEvents, MAX_STREAMS } from '../events/follow.ts'
import {
  currentPosition,
  hasReached,
  type Position,
  positionIn,
  positionText,
  type StreamedEvent,
} from '../events/stream.ts'
import type { Service } from '../service.ts'
import { groupDigits } from '../text/formats.ts'
import { bodyOf } from '../webhooks/request.ts'
import { goneSignal } from './closing.ts'
import type { Query } from './query.ts'

/** The stream of an account's events, for the marketplace and for sellers. */

const HEARTBEAT_MS = 15_000

const EXAMPLE = `id: 7318-0

id: 7321-512
event: order.cancelled
data: {"event":"order.cancelled","delivery_id":512,"created_at":"2026-03-01T09:30:00Z","data":{"order_id":501,"cancelled_by":"buyer"}}

`

const Stream = Type.Unsafe<Readable>({ type: 'string', examples: [EXAMPLE] })

export const STREAM_DESCRIPTION = `Each message has the event’s name, and the envelope in one line as its data. Its \`delivery_id\` is the id of the event, not of a delivery to an endpoint, and is the same each time. Resending a delivery repeats its event in the stream; several resends in quick succession can be combined into one.

The \`id\` of a message is its position in the stream. Send it in \`Last-Event-ID\` (or in \`after\`, without that header) to continue after this position without missing any event that is still stored. Without a position the stream starts now; while other transactions are running, events of the last seconds can come first. Its first message holds the start position. An event is sent as soon as all transactions that began before its own have ended. After 15 seconds without events, a comment keeps the connection alive. The stream ends when the service stops. A process of the service keeps at most ${groupDigits(MAX_STREAMS)} streams open; a further one gets 503.`

/** Query, headers and response of an operation that sends the stream. */
export const streamSchema = {
  querystring: Type.Object({
    after: Type.Optional(
      Type.String({ maxLength: 100, description: 'Position after which the stream continues' }),
    ),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({ description: 'Position after which the stream continues' }),
    ),
  }),
  response: {
    200: {
      description: 'The stream',
      content: { 'text/event-stream': { schema: Stream } },
    },
  },
  'x-errors': ['validation_error' as const],
}

/**
 * The response with the events of an account, until the client disconnects.
 *
 * @param closing ends the stream when the service stops
 * @param mayContinue asked before each message; false ends the stream
 * @throws validation_error for a position that this database has not reached
 * @throws service_unavailable if this process has too many streams
 */
export async function openEventStream(
  ctx: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    accountId,
    closing,
    mayContinue,
  }: { accountId: number; closing: AbortSignal; mayContinue: () => Promise<boolean> },
): Promise<Readable> {
  if (ctx.eventWatch.isFull) throw serviceUnavailable('Too many event streams are open.')
  const after = await positionOf(ctx, request)
  const ended = AbortSignal.any([closing, goneSignal(reply)])
  reply.headers({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    // Otherwise nginx buffers the stream.
    'x-accel-buffering': 'no',
  })
  return Readable.from(streamOf(ctx, accountId, after, ended, mayContinue))
}

/**
 * The position at which the stream starts.
 *
 * @throws validation_error for a position that this database has not reached
 */
async function positionOf(ctx: Service, request: FastifyRequest): Promise<Position> {
  const inHeader = request.headers['last-event-id']
  const wanted = inHeader || (request.query as Query).after
  if (wanted === undefined) return currentPosition(ctx)
  const position = positionIn(String(wanted))
  if (position && (await hasReached(ctx, position))) return position
  const field = inHeader ? 'Last-Event-ID' : 'after'
  throw validationError({ [field]: [`The ${field} is not the id of a message of this stream.`] })
}

async function* streamOf(
  ctx: Service,
  accountId: number,
  after: Position,
  ended: AbortSignal,
  mayContinue: () => Promise<boolean>,
) {
  // A message without data is not an event. Its id is where the client continues if the connection is lost before the
  // first.
  yield `id: ${positionText(after)}\n\n`
  const batches = followEvents(ctx, accountId, after, { ended, silenceMs: HEARTBEAT_MS })
  for await (const events of batches) {
    if (!(await mayContinue())) return
    yield events.map(messageOf).join('') || ':\n\n'
  }
}

const messageOf = ({ position, id, ...event }: StreamedEvent) =>
  `id: ${positionText(position)}\nevent: ${event.event}\ndata: ${bodyOf({ deliveryId: id, ...event })}\n\n`
