import Type from 'typebox'
import { getAccount } from '../../accounts/accounts.ts'
import { inTransaction } from '../../database/in-transaction.ts'
import { inviteMember, listMembers, removeMember } from '../../members/members.ts'
import { endGrantsOfMember } from '../../oauth/grants.ts'
import type { Service } from '../../service.ts'
import type { App } from '../schema.ts'
import { Data, PathId } from '../schema.ts'
import { exampleMember, InvitationInput, MemberSchema, memberJson } from '../shapes/member.ts'
import { accountExists } from './must-exist.ts'

const account = { id: PathId('The account') }

export function invitationRoutes(app: App, ctx: Service): void {
  app.post(
    '/accounts/:id/invitations',
    {
      preValidation: accountExists(ctx),
      schema: {
        operationId: 'inviteMember',
        summary: 'Invite a member',
        description:
          'Sends an e-mail with a link to choose a password. The link works once, within 7 days. Another invitation of the same address replaces the link. The address of another member is refused.',
        tags: ['Members'],
        params: Type.Object(account),
        body: InvitationInput,
        response: { 202: Data(MemberSchema, 'The invited member. The e-mail is in the outbox') },
        'x-errors': ['validation_error'],
        'x-example': { data: exampleMember },
      },
    },
    async ({ params, body }, reply) => {
      const member = await inviteMember(ctx, params.id, body.email)
      return reply.code(202).send({ data: memberJson(member) })
    },
  )
}

export function memberRoutes(app: App, ctx: Service): void {
  app.get(
    '/accounts/:id/members',
    {
      schema: {
        operationId: 'listMembers',
        summary: 'List an account’s members',
        description: 'Returns all members of the account, oldest first. Not paginated.',
        tags: ['Members'],
        params: Type.Object(account),
        response: { 200: Data(Type.Array(MemberSchema), 'The account’s members') },
        'x-example': { data: [exampleMember] },
      },
    },
    async ({ params }) => {
      await getAccount(ctx, params.id)
      return { data: (await listMembers(ctx, params.id)).map(memberJson) }
    },
  )

  app.delete(
    '/accounts/:id/members/:member',
    {
      schema: {
        operationId: 'removeMember',
        summary: 'Remove a member',
        description:
          'The member’s sessions end at once. Withdraws an invitation as well. The account’s `email` stays the same: if it is the member’s, change it first.',
        tags: ['Members'],
        params: Type.Object({ ...account, member: PathId('The member') }),
        response: { 204: Type.Null({ description: 'Removed' }) },
      },
    },
    async ({ params }, reply) => {
      await inTransaction(ctx, (tx) =>
        removeMember(tx, params.id, params.member, () => endGrantsOfMember(tx, params.member)),
      )
      return reply.code(204).send(null)
    },
  )
}
