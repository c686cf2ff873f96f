import Type from 'typebox'
import type { Service } from '../../service.ts'
import { getStaff } from '../../staff/staff.ts'
import { closingSignal } from '../closing.ts'
import { openEventStream, STREAM_DESCRIPTION, streamSchema } from '../event-stream.ts'
import type { App } from '../schema.ts'
import { PathId } from '../schema.ts'
import { accountExists } from './must-exist.ts'

export function eventStreamRoutes(app: App, ctx: Service): void {
  const closing = closingSignal(app)

  app.get(
    '/accounts/:id/events/stream',
    {
      config: { isLong: true },
      // HEAD would wait for events without sending them.
      exposeHeadRoute: false,
      preValidation: accountExists(ctx),
      schema: {
        operationId: 'followEvents',
        summary: 'Follow an account’s events',
        description: `Streams all events of the account as server-sent events, whether or not an endpoint is subscribed to them. \`npm run listen\` uses this operation. The stream ends when the staff token is revoked. ${STREAM_DESCRIPTION}`,
        tags: ['Webhooks'],
        params: Type.Object({ id: PathId('The account') }),
        ...streamSchema,
      },
    },
    async (request, reply) => {
      const { staffId } = request.operator
      return reply.send(
        await openEventStream(ctx, request, reply, {
          accountId: request.params.id,
          closing,
          mayContinue: async () =>
            staffId === null || (await getStaff(ctx, staffId)).revokedAt === null,
        }),
      )
    },
  )
}
