import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { listMails } from '../../mail/outbox.ts'
import type { Service } from '../../service.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { Query } from '../query.ts'
import { Paginated, SearchText } from '../schema.ts'
import { exampleOperatorMail, OperatorMailSchema, operatorMailJson } from '../shapes/mail.ts'

/** `/mails`: the outbox. */
export const mailRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
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
            to: Type.Optional(
              SearchText({ description: 'The recipient’s address, in any casing' }),
            ),
            slice_key: Type.Optional(SearchText()),
            ...pageParameters,
          }),
          response: { 200: Paginated(OperatorMailSchema, 'A page of e-mails') },
          'x-errors': ['validation_error'],
          'x-example': pageExample('/operator/v1/mails', [exampleOperatorMail]),
        },
      },
      async (request) => {
        const query = request.query as Query
        return paginated(
          `${ctx.config.publicUrl}/operator/v1/mails`,
          query,
          (page) => listMails(ctx, { to: query.to, sliceKey: query.slice_key }, page),
          operatorMailJson,
        )
      },
    )
    done()
  }
