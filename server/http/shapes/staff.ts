import Type, { type Static } from 'typebox'
import { STAFF_ROLES, type StaffMember } from '../../staff/staff.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { component, Line, Nullable, OneOf, Timestamp } from '../schema.ts'

const exampleInput = { name: 'Anna', role: 'support' as const }

export const StaffInput = Type.Object(
  {
    name: Line({ maxLength: 100, description: 'A name that the audit log shows' }),
    role: OneOf(STAFF_ROLES),
  },
  { examples: [exampleInput] },
)

export const StaffSchema = component(
  'Staff',
  Type.Object(
    {
      id: Type.Integer(),
      name: Type.String(),
      role: OneOf(STAFF_ROLES),
      created_at: Timestamp(),
      last_used_at: Nullable(Timestamp()),
      revoked_at: Nullable(Timestamp()),
    },
    { description: 'A person or program with a staff token. The token is shown only once.' },
  ),
)

export const NewStaff = Type.Object(
  {
    data: StaffSchema,
    token: Type.String({ description: 'The token. It is shown only in this response' }),
  },
  { description: 'The new staff member' },
)

export const CallerSchema = component(
  'OperatorCaller',
  Type.Object(
    {
      id: Nullable(Type.Integer(), { description: 'null for the operator token' }),
      name: Type.String({ description: '`operator` for the operator token' }),
      role: OneOf(STAFF_ROLES, { description: '`admin` for the operator token' }),
      operations: Type.Array(Type.String(), {
        description: 'The `operationId` of each operation that the token may call',
      }),
    },
    { description: 'The owner of a token.' },
  ),
)

export const staffJson = (member: StaffMember): Static<typeof StaffSchema> => ({
  id: member.id,
  name: member.name,
  role: member.role,
  created_at: timestamp(member.createdAt),
  last_used_at: timestampOrNull(member.lastUsedAt),
  revoked_at: timestampOrNull(member.revokedAt),
})

export const exampleStaff: Static<typeof StaffSchema> = {
  id: 3,
  ...exampleInput,
  created_at: '2026-03-01T09:30:00Z',
  last_used_at: null,
  revoked_at: null,
}
