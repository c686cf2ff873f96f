import Type, { type Static } from 'typebox'
import { SCOPES } from '../../keys/scopes.ts'
import { endGrant, endGrantsOfAccount, listGrants } from '../../oauth/grants.ts'
import type { Service } from '../../service.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import type { App } from '../schema.ts'
import { Data, Nullable, OneOf, PathId, Timestamp } from '../schema.ts'

const ProgramSchema = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  /** The host that the browser went back to, or a private scheme; null for a device. */
  host: Nullable(Type.String()),
  scopes: Type.Array(OneOf(SCOPES)),
  created_at: Timestamp(),
  last_used_at: Nullable(Timestamp()),
})

export type ProgramRecord = Static<typeof ProgramSchema>

const ended = { 204: Type.Null({ description: 'Ended' }) }

/** The programs that members of the shop have allowed. */
export function programsApi(app: App, ctx: Service): void {
  app.get(
    '/programs',
    { schema: { response: { 200: Data(Type.Array(ProgramSchema), 'The shop’s programs') } } },
    async ({ member }) => {
      const grants = await listGrants(ctx, member.accountId)
      return {
        data: grants.map((grant) => ({
          id: grant.id,
          name: grant.clientName,
          host: grant.host,
          scopes: grant.scopes,
          created_at: timestamp(grant.createdAt),
          last_used_at: timestampOrNull(grant.lastUsedAt),
        })),
      }
    },
  )

  app.delete('/programs', { schema: { response: ended } }, async ({ member }, reply) => {
    await endGrantsOfAccount(ctx, member.accountId)
    return reply.code(204).send(null)
  })

  app.delete(
    '/programs/:id',
    { schema: { params: Type.Object({ id: PathId('The program') }), response: ended } },
    async ({ member, params }, reply) => {
      await endGrant(ctx, member.accountId, params.id)
      return reply.code(204).send(null)
    },
  )
}
