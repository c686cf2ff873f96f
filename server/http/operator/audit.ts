import Type from 'typebox'
import { type AuditEntry, listAudit } from '../../audit/entries.ts'
import type { Service } from '../../service.ts'
import type { StaffRole } from '../../staff/staff.ts'
import { optionalDateTimes } from '../date-time.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { DateTimeText, Paginated, SearchText } from '../schema.ts'
import { AuditEntrySchema, auditEntryJson, exampleAuditEntry } from '../shapes/audit.ts'
import { mayCall } from './permissions.ts'

export function auditRoutes(app: App, ctx: Service): void {
  app.get(
    '/audit',
    {
      schema: {
        operationId: 'listAudit',
        summary: 'Read the audit log',
        description:
          'Returns every write through the operator API and the dashboard, and every sign-in event, newest first. Entries never change, and are deleted after `AUDIT_RETENTION_DAYS`. `before` and `after` are null for a role that may not read such a record.',
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
      const { actor, role, action, record, from, to } = request.query
      const filters = {
        ...{ actor, role, action, record },
        ...optionalDateTimes({ from, to }),
      }
      return paginated(
        ctx,
        request,
        (page) => listAudit(ctx, filters, page),
        (entry) => auditEntryJson(visibleTo(request.operator.role, entry)),
      )
    },
  )
}

/** The operation that reads the records of a kind, for the kinds that not every reader of the log may read. */
const READ_BY: Record<string, string> = {
  member: 'listMembers',
  key: 'listKeys',
  endpoint: 'listEndpoints',
  listing: 'getAnyListing',
  staff: 'listStaff',
}

/** The entry without the state of a record that the role may not read. */
function visibleTo(role: StaffRole, entry: AuditEntry): AuditEntry {
  // A failed sign-in has the IP address of a person also if it names no member.
  const kind = entry.role === 'anonymous' ? 'member' : entry.record?.split(':')[0]
  const operation = READ_BY[kind ?? '']
  const isVisible = operation === undefined || mayCall(role, operation)
  return isVisible ? entry : { ...entry, before: null, after: null }
}
