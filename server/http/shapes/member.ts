import Type, { type Static } from 'typebox'
import type { Member } from '../../members/members.ts'
import { timestamp } from '../../time/timestamp.ts'
import { component, OneOf, Timestamp } from '../schema.ts'
import { Email } from './account.ts'

const email = 'misty@shops.example'

export const InvitationInput = Type.Object(
  { email: Email({ description: 'Unique among the members of all accounts, ignoring case' }) },
  { examples: [{ email }] },
)

export const MemberSchema = component(
  'Member',
  Type.Object(
    {
      id: Type.Integer(),
      email: Type.String(),
      status: OneOf(['invited', 'active'] as const, {
        description: '`invited`: without a password',
      }),
      created_at: Timestamp(),
    },
    { description: 'A person who signs in to an account’s dashboard.' },
  ),
)

export const memberJson = (member: Member): Static<typeof MemberSchema> => ({
  id: member.id,
  email: member.email,
  status: member.isInvited ? 'invited' : 'active',
  created_at: timestamp(member.createdAt),
})

export const exampleMember: Static<typeof MemberSchema> = {
  id: 7,
  email,
  status: 'invited',
  created_at: '2026-03-01T09:30:00Z',
}
