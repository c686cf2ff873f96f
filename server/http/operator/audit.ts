import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { listAudit } from '../../audit/entries.ts'
import type { Service } from '../../service.ts'
import { optionalDateTimes } from '../date-time.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { Query } from '../query.ts'
import { DateTimeText, Paginated, SearchText } from '../schema.ts'
import { AuditEntrySchema, auditEntryJson, exampleAuditEntry } from '../shapes/audit.ts'

export const auditRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    app.get(
      '/audit',
      {
        schema: {
          operationId: 'listAudit',
          summary: 'Read the audit log',
          description:
            'Returns every write through the operator API and the dashboard, and every sign-in event, newest first. Entries never change, and are deleted after `AUDIT_RETENTION_DAYS`.',
          tags: ['Staff'],
          querystring: Type.Object({
            actor: Type.Optional(SearchText({ description: 'Actor, such as `staff:3`' })),
            role: Type.Optional(SearchText()),
            action: Type.Optional(SearchText()),
            record: Type.Optional(SearchText({ description: 'Record, such as `order:501`' })),
            from: Type.Optional(DateTimeText()),
            to: Type.Optional(DateTimeText()),
            ...pageParameters,
          }),
          response: { 200: Paginated(AuditEntrySchema, 'A page of entries') },
          'x-errors': ['validation_error'],
          'x-example': pageExample('/operator/v1/audit', [exampleAuditEntry]),
        },
      },
      async (request) => {
        const query = request.query as Query
        const { actor, role, action, record, from, to } = query
        const filters = {
          ...{ actor, role, action, record },
          ...optionalDateTimes({ from, to }),
        }
        return paginated(
          `${ctx.config.publicUrl}/operator/v1/audit`,
          query,
          (page) => listAudit(ctx, filters, page),
          auditEntryJson,
        )
      },
    )
    done()
  }
