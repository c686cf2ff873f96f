import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { getAccount } from '../../accounts/accounts.ts'
import {
  type CarrierMode,
  DEFAULT_MODE,
  LABEL_MODES,
  setCarrierMode,
  TRACKING_MODES,
} from '../../carriers/simulated.ts'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { recordEvent } from '../../events/record.ts'
import { listMails } from '../../mail/outbox.ts'
import { MAX_ADVANCED_SECONDS } from '../../sandbox/clock.ts'
import { sampleData } from '../../sandbox/sample-events.ts'
import type { Service } from '../../service.ts'
import { timestamp } from '../../time/timestamp.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { Query } from '../query.ts'
import { Data, Id, OneOf, Paginated, Timestamp } from '../schema.ts'
import { exampleMail, MailSchema, mailJson } from '../shapes/mail.ts'

const Now = Data(Type.Object({ now: Timestamp() }), 'The service’s time')

export const sandboxRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
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
            'Sandbox only. Moves the service’s whole notion of now: key grace, label links, retries, reservations and everything else that is due at a time. Rate limits use real time and don’t move. It never goes back.',
          tags: ['Sandbox'],
          body: Type.Object(
            { advance_seconds: Type.Integer({ minimum: 0, maximum: MAX_ADVANCED_SECONDS }) },
            { examples: [{ advance_seconds: 3600 }] },
          ),
          response: { 200: Now },
          'x-errors': ['validation_error'],
        },
      },
      async ({ body }) => ({
        data: { now: timestamp(await ctx.clock.advance(body.advance_seconds)) },
      }),
    )

    app.put(
      '/sandbox/carrier',
      {
        schema: {
          operationId: 'steerCarrier',
          summary: 'Steer the simulated carrier',
          description:
            'Sandbox only. How it answers from now on. Shipments that are `processing` or `action_required` follow when they are read again; one that is `ready` stays so. With `late` it tells no tracking code until the mood is `immediate` again. What is left out goes back to `ready` and `immediate`.',
          tags: ['Sandbox'],
          body: Type.Object(
            {
              label: Type.Optional(
                OneOf(LABEL_MODES, { description: '`error`: every call of the carrier fails' }),
              ),
              tracking: Type.Optional(OneOf(TRACKING_MODES)),
            },
            { examples: [{ label: 'ready', tracking: 'immediate' }] },
          ),
          response: {
            200: Data(
              Type.Object({ label: OneOf(LABEL_MODES), tracking: OneOf(TRACKING_MODES) }),
              'How it answers now',
            ),
          },
          'x-errors': ['validation_error'],
          'x-example': { data: { label: 'processing', tracking: 'late' } },
        },
      },
      async ({ body }) => {
        const mode: CarrierMode = { ...DEFAULT_MODE, ...body }
        await setCarrierMode(ctx.db, mode)
        return { data: { label: mode.label, tracking: mode.tracking } }
      },
    )

    app.get(
      '/sandbox/mail',
      {
        schema: {
          operationId: 'listMail',
          summary: 'Read the e-mail that was written',
          description:
            'Sandbox only. Newest first, and there as soon as what caused it is. Without `SMTP_URL` nothing is sent in the sandbox; with it the mails are sent, too. Kept for 30 days.',
          tags: ['Sandbox'],
          querystring: Type.Object({ ...pageParameters }),
          response: { 200: Paginated(MailSchema, 'A page of e-mails') },
          'x-errors': ['validation_error'],
          'x-example': pageExample('/operator/v1/sandbox/mail', [exampleMail]),
        },
      },
      ({ query }) =>
        paginated(
          `${ctx.config.publicUrl}/operator/v1/sandbox/mail`,
          query as Query,
          (page) => listMails(ctx, page),
          mailJson,
        ),
    )

    app.post(
      '/sandbox/events',
      {
        schema: {
          operationId: 'sendSampleEvent',
          summary: 'Send a sample event',
          description:
            'Sandbox only. To the account’s endpoints that are subscribed to it, counted, tried again and logged as a real one would be. Its data is made up: the order and listing it names don’t exist.',
          tags: ['Sandbox'],
          body: Type.Object(
            { account_id: Id(), event: OneOf(WEBHOOK_EVENTS) },
            { examples: [{ account_id: 1, event: 'order.created' }] },
          ),
          response: { 202: Data(SampleSent, 'It is on its way') },
          'x-errors': ['validation_error'],
          'x-example': { data: { event: 'order.created', deliveries: 1 } },
        },
      },
      async ({ body: { account_id: accountId, event } }, reply) => {
        await getAccount(ctx, accountId)
        const deliveries = await recordEvent(ctx, { accountId, event, data: sampleData(event) })
        return reply.code(202).send({ data: { event, deliveries } })
      },
    )
    done()
  }

const SampleSent = Type.Object({
  event: OneOf(WEBHOOK_EVENTS),
  deliveries: Type.Integer({ description: 'Endpoints that it goes to' }),
})
