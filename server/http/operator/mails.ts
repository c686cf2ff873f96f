import Type from 'typebox'
import { MAIL_STATUSES } from '../../mail/mail.ts'
import { listMails, resendMail } from '../../mail/outbox.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, OneOf, Paginated, PathId, SearchText } from '../schema.ts'
import { exampleOperatorMail, OperatorMailSchema, operatorMailJson } from '../shapes/mail.ts'

const UNSENT = {
  status: 'waiting',
  error: 'The mail server refused the recipient: 550 5.2.1 The mailbox is disabled.',
  sent_at: null,
} as const

/** `/mails`: the outbox. */
export function mailRoutes(app: App, ctx: Service): void {
  app.get(
    '/mails',
    {
      schema: {
        operationId: 'listMails',
        summary: 'Find e-mails',
        description:
          'Returns the e-mails that the service has written, newest first. They are kept for 30 days. A link that works as a credential, such as one to a new password, is `…`.',
        tags: ['Orders'],
        querystring: Type.Object({
          to: Type.Optional(SearchText({ description: 'The recipient’s address, in any casing' })),
          slice_key: Type.Optional(SearchText()),
          status: Type.Optional(OneOf(MAIL_STATUSES)),
          ...pageParameters,
        }),
        response: { 200: Paginated(OperatorMailSchema, 'A page of e-mails') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/mails', [exampleOperatorMail]),
      },
    },
    async (request) => {
      const { query } = request
      const filters = { to: query.to, sliceKey: query.slice_key, status: query.status }
      return paginated(ctx, request, (page) => listMails(ctx, filters, page), operatorMailJson)
    },
  )

  app.post(
    '/mails/:id/resend',
    {
      schema: {
        operationId: 'resendMail',
        summary: 'Send a failed e-mail again',
        description:
          'Attempts an e-mail with the status `failed` again. A link that works as a credential was deleted with the last attempt, and is missing: let its recipient request another one instead. Responds with 409 for any other status, and after the erasure of the buyer.',
        tags: ['Orders'],
        params: Type.Object({ id: PathId('The e-mail') }),
        response: { 202: Data(OperatorMailSchema, 'An attempt is scheduled') },
        'x-errors': ['conflict'],
        'x-example': { data: { ...exampleOperatorMail, ...UNSENT } },
      },
    },
    async ({ params }, reply) =>
      reply.code(202).send({ data: operatorMailJson(await resendMail(ctx, params.id)) }),
  )
}
