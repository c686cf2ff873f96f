import Type, { type Static } from 'typebox'
import { listSessions, revokeSession, revokeSessions } from '../../members/sessions.ts'
import type { Service } from '../../service.ts'
import { timestamp } from '../../time/timestamp.ts'
import type { App } from '../schema.ts'
import { Data, Nullable, PathId, Timestamp } from '../schema.ts'

const SessionSchema = Type.Object({
  id: Type.Integer(),
  current: Type.Boolean(),
  user_agent: Nullable(Type.String()),
  address: Nullable(Type.String()),
  created_at: Timestamp(),
  last_used_at: Timestamp(),
})

export type SessionRecord = Static<typeof SessionSchema>

const ended = { 204: Type.Null({ description: 'Ended' }) }

/** The browsers that are signed in as this member. */
export function sessionsApi(app: App, ctx: Service): void {
  app.get(
    '/sessions',
    { schema: { response: { 200: Data(Type.Array(SessionSchema), 'The member’s sessions') } } },
    async ({ member }) => {
      const sessions = await listSessions(ctx, member.id)
      return {
        data: sessions.map((session) => ({
          id: session.id,
          current: session.id === member.sessionId,
          user_agent: session.userAgent,
          address: session.address,
          created_at: timestamp(session.createdAt),
          last_used_at: timestamp(session.lastUsedAt),
        })),
      }
    },
  )

  // Ends all sessions but the one of the request.
  app.delete('/sessions', { schema: { response: ended } }, async ({ member }, reply) => {
    await revokeSessions(ctx, member.id, member.sessionId)
    return reply.code(204).send(null)
  })

  app.delete(
    '/sessions/:id',
    { schema: { params: Type.Object({ id: PathId('The session') }), response: ended } },
    async ({ member, params }, reply) => {
      await revokeSession(ctx, member.id, params.id)
      return reply.code(204).send(null)
    },
  )
}
