import Type, { type Static } from 'typebox'
import type { AuditEntry } from '../../audit/entries.ts'
import { timestamp } from '../../time/timestamp.ts'
import { component, Nullable, Timestamp } from '../schema.ts'

const State = (description: string) =>
  Nullable(Type.Object({}, { additionalProperties: true }), { description })

export const AuditEntrySchema = component(
  'AuditEntry',
  Type.Object(
    {
      id: Type.Integer(),
      actor: Type.String({
        description:
          '`operator` for the operator token, `staff:{id}`, `member:{id}` of a shop, or `anonymous` for a person whose sign-in failed, or who requested a new password',
      }),
      actor_name: Nullable(Type.String(), {
        description:
          'The staff member’s name, or the member’s e-mail address, at that time; `command line` for a command of the program',
      }),
      role: Type.String({
        description:
          '`root` for the operator token, the role of the staff member, `seller`, or `anonymous`',
      }),
      action: Type.String({
        description:
          'The operation’s `operationId`, method and path in the dashboard, or the sign-in event',
      }),
      record: Nullable(Type.String(), {
        description:
          'Kind and id, such as `order:501`; null if the action is about no single record',
      }),
      before: State('Fields that changed, before the action; null for a new record'),
      after: State(
        'The same fields afterwards, the new record, or the response if only other records changed. Secrets are left out',
      ),
      request_id: Nullable(Type.String(), {
        description: '`X-Request-Id` of the request; null for a command',
      }),
      created_at: Timestamp(),
    },
    { description: 'An entry of the audit log.' },
  ),
)

export const auditEntryJson = (entry: AuditEntry): Static<typeof AuditEntrySchema> => ({
  id: entry.id,
  actor: entry.actor,
  actor_name: entry.actorName,
  role: entry.role,
  action: entry.action,
  record: entry.record,
  before: entry.before,
  after: entry.after,
  request_id: entry.requestId,
  created_at: timestamp(entry.createdAt),
})

export const exampleAuditEntry: Static<typeof AuditEntrySchema> = {
  id: 90210,
  actor: 'staff:3',
  actor_name: 'Anna',
  role: 'support',
  action: 'cancelOrder',
  record: 'order:501',
  before: { status: 'pending', cancelled_at: null },
  after: { status: 'cancelled', cancelled_at: '2026-03-01T09:30:00Z' },
  request_id: 'req_x1Y2z3A40001',
  created_at: '2026-03-01T09:30:00Z',
}
