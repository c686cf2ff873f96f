import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { MOST_ADVANCED_SECONDS } from '../../clock.ts'
import type { Context } from '../../context.ts'
import { timestamp } from '../../time.ts'
import { Data, Timestamp } from '../schema.ts'

const Now = Data(Type.Object({ now: Timestamp() }), 'The service’s time')

export const sandboxRoutes =
  (ctx: Context): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/sandbox/clock',
      {
        schema: {
          operationId: 'readClock',
          summary: 'Read the test clock',
          description: 'Sandbox only.',
          tags: ['Sandbox'],
          response: { 200: Now },
        },
      },
      () => ({ data: { now: timestamp(ctx.now()) } }),
    )

    app.post(
      '/sandbox/clock',
      {
        schema: {
          operationId: 'advanceClock',
          summary: 'Move the test clock ahead',
          description:
            'Sandbox only. Moves the service’s whole notion of now: key grace, rate windows and everything else that is due at a time. It never goes back.',
          tags: ['Sandbox'],
          body: Type.Object({
            advance_seconds: Type.Integer({ minimum: 0, maximum: MOST_ADVANCED_SECONDS }),
          }),
          response: { 200: Now },
          'x-errors': ['validation_error'],
        },
      },
      async ({ body }) => ({
        data: { now: timestamp(await ctx.clock.advance(body.advance_seconds)) },
      }),
    )
    done()
  }
