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
import type { App } from '../schema.ts'
import { Data, Id, OneOf, Paginated, Timestamp } from '../schema.ts'
import { SampleSent } from '../shapes/event.ts'
import { exampleMail, MailSchema, mailJson } from '../shapes/mail.ts'

const Now = Data(Type.Object({ now: Timestamp() }), 'The service’s time')

const exampleMode = { label: 'ready', tracking: 'immediate' }

export function sandboxRoutes(app: App, ctx: Service): void {
  app.get(
    '/sandbox/clock',
    {
      schema: {
        operationId: 'readClock',
        summary: 'Read the test clock',
        description: 'Sandbox only.',
        tags: ['Sandbox'],
        response: { 200: Now },
        'x-example': { data: { now: '2026-03-01T09:30:00Z' } },
      },
    },
    () => ({ data: { now: timestamp(ctx.now()) } }),
  )

  app.post(
    '/sandbox/clock',
    {
      // The clock has a transaction of its own.
      config: { audit: 'begun and ended' },
      schema: {
        operationId: 'advanceClock',
        summary: 'Move the test clock ahead',
        description:
          'Sandbox only. Moves the time of the service ahead for everything that depends on it: grace periods of keys, label links, retries, reservations and recurring jobs. It is one step: the service makes up for no retry, reminder or announcement of the time in between, and deletes what has exceeded its retention. The jobs begin after the response: read again until their effect is there. Rate limits, sessions, invitations, links to a new password or e-mail address, the access of programs and the changes of the feed use real time. The clock never goes back, and is at most 100 years (3,153,600,000 seconds) ahead in total.',
        tags: ['Sandbox'],
        body: Type.Object(
          { advance_seconds: Type.Integer({ minimum: 0, maximum: MAX_ADVANCED_SECONDS }) },
          { examples: [{ advance_seconds: 3600 }] },
        ),
        response: { 200: Now },
        'x-errors': ['validation_error'],
        'x-example': { data: { now: '2026-03-01T10:30:00Z' } },
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
        summary: 'Control the simulated carrier',
        description:
          'Sandbox only. Sets how the carrier responds from now on. Shipments that are `processing` or `action_required` change when they are read again; a `ready` shipment stays ready. With `late`, the carrier returns no tracking code until you set `immediate` again. Without a value, `label` becomes `ready` and `tracking` becomes `immediate`.',
        tags: ['Sandbox'],
        body: Type.Object(
          {
            label: Type.Optional(
              OneOf(LABEL_MODES, { description: '`error`: every call to the carrier fails' }),
            ),
            tracking: Type.Optional(OneOf(TRACKING_MODES)),
          },
          { examples: [exampleMode] },
        ),
        response: {
          200: Data(
            Type.Object({ label: OneOf(LABEL_MODES), tracking: OneOf(TRACKING_MODES) }),
            'The new behaviour of the carrier',
          ),
        },
        'x-errors': ['validation_error'],
        'x-example': { data: exampleMode },
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
        summary: 'List captured e-mail',
        description:
          'Sandbox only. Returns the e-mails that the service has written, newest first. An e-mail is listed as soon as its cause is committed. Without `SMTP_URL` the sandbox sends no e-mail; with it, the e-mails are captured and sent. They are kept for 30 days. Unlike in `/mails`, their texts have all links.',
        tags: ['Sandbox'],
        querystring: Type.Object({ ...pageParameters }),
        response: { 200: Paginated(MailSchema, 'A page of e-mails') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/sandbox/mail', [exampleMail]),
      },
    },
    (request) =>
      paginated(ctx, request, (page) => listMails(ctx, {}, page, { secrets: true }), mailJson),
  )

  app.post(
    '/sandbox/events',
    {
      schema: {
        operationId: 'sendSampleEvent',
        summary: 'Send a sample event',
        description:
          'Sandbox only. Sends the event to the account’s endpoints that are subscribed to it. It is logged, retried and counted like a real event. Its data is invented: the order and the listing do not exist.',
        tags: ['Sandbox'],
        body: Type.Object(
          { account_id: Id(), event: OneOf(WEBHOOK_EVENTS) },
          { examples: [{ account_id: 1, event: 'order.created' }] },
        ),
        response: { 202: Data(SampleSent, 'The event is queued') },
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
}
