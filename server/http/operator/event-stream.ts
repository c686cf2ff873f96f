import { Readable } from 'node:stream'
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { validationError } from '../../errors.ts'
import {
  currentPosition,
  followEvents,
  hasReached,
  type Position,
  positionIn,
  positionText,
  type StreamedEvent,
} from '../../events/stream.ts'
import type { Service } from '../../service.ts'
import { envelopeOf } from '../../webhooks/request.ts'
import type { Query } from '../query.ts'
import { PathId } from '../schema.ts'
import { accountExists } from './account-exists.ts'

const HEARTBEAT_MS = 15_000
/** Who takes in nothing for so long, heartbeats included, is gone. */
const STALLED_MS = 60_000

const EXAMPLE = `id: 7318-0

id: 7321-512
event: order.cancelled
data: {"event":"order.cancelled","delivery_id":512,"created_at":"2026-03-01T09:30:00Z","data":{"order_id":501,"cancelled_by":"buyer"}}

`

const Stream = Type.Unsafe<Readable>({ type: 'string', examples: [EXAMPLE] })

export const eventStreamRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    // A stream never ends by itself: a shutdown would wait for it in vain.
    const closing = new AbortController()
    app.addHook('preClose', async () => closing.abort())

    app.get(
      '/accounts/:id/events/stream',
      {
        config: { isLong: true },
        // It would wait for events that it doesn't send.
        exposeHeadRoute: false,
        preValidation: accountExists(ctx),
        schema: {
          operationId: 'followEvents',
          summary: 'Follow an account’s events',
          description: `Server-sent events, as \`npm run listen\` reads them: all that the account is told of, whether or not an endpoint is subscribed to it. Each message has the event’s name, and as its data the envelope in one line. There \`delivery_id\` is the number of the event itself: no endpoint’s delivery, and the same each time. A resend makes its event come again; those that follow each other faster than they are read may be taken together.

A message’s \`id\` is its position. With it in \`Last-Event-ID\` (or in \`after\`, if there is no such header) the stream goes on behind it and misses nothing that is still kept. Without, it begins now; the first thing that is sent is where that is. An event comes as soon as all transactions that began before its own have ended. Every 15 seconds of silence a comment keeps the connection alive. The stream ends when the service does.`,
          tags: ['Webhooks'],
          params: Type.Object({ id: PathId('The account') }),
          querystring: Type.Object({
            after: Type.Optional(Type.String({ description: 'The position to go on after' })),
          }),
          headers: Type.Object({
            'last-event-id': Type.Optional(
              Type.String({ description: 'The position to go on after' }),
            ),
          }),
          response: {
            200: {
              description: 'The stream',
              content: { 'text/event-stream': { schema: Stream } },
            },
          },
          'x-errors': ['validation_error'],
        },
      },
      async (request, reply) => {
        const after = await positionOf(ctx, request)
        const gone = new AbortController()
        reply.raw.once('close', () => gone.abort())
        reply.raw.setTimeout(STALLED_MS, () => reply.raw.destroy())
        const ended = AbortSignal.any([closing.signal, gone.signal])
        reply.headers({
          'content-type': 'text/event-stream',
          'cache-control': 'no-store',
          // Else nginx collects it.
          'x-accel-buffering': 'no',
        })
        return reply.send(Readable.from(streamOf(ctx, request.params.id, after, ended)))
      },
    )
    done()
  }

/**
 * Where a listener wants to begin.
 *
 * @throws validation_error when that's no position of this database
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

async function* streamOf(ctx: Service, accountId: number, after: Position, ended: AbortSignal) {
  // An id alone is no message: it's where to go on from if the connection is lost before the first one.
  yield `id: ${positionText(after)}\n\n`
  const batches = followEvents(ctx, accountId, after, { ended, silenceMs: HEARTBEAT_MS })
  for await (const events of batches) yield events.map(messageOf).join('') || ':\n\n'
}

const messageOf = ({ position, id, ...letter }: StreamedEvent) =>
  `id: ${positionText(position)}\nevent: ${letter.event}\ndata: ${envelopeOf({ deliveryId: id, ...letter })}\n\n`
