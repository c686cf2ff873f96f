import Type, { type Static } from 'typebox'
import { type ApiKey, createKey, listKeys, revokeKey, rotateKey } from '../../keys/keys.ts'
import type { Service } from '../../service.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, secretForMember } from '../idempotency-key.ts'
import type { App } from '../schema.ts'
import { Data, Nullable, PathId, Timestamp } from '../schema.ts'
import { KeyInput, KeySchema, keyJson } from '../shapes/api-key.ts'

const KeyRecordSchema = Type.Intersect([
  KeySchema,
  Type.Object({ grace_ends_at: Nullable(Timestamp()) }),
])
const NewKeySchema = Type.Object({ data: KeyRecordSchema, key: Type.String() })

export type KeyRecord = Static<typeof KeyRecordSchema>
/** A key and its secret, which is in no other response. */
export type NewKeyRecord = Static<typeof NewKeySchema>

/** A key as in the operator API, with the end of its grace period unless that is over. */
const recordOf = (key: ApiKey, now: Date): KeyRecord => ({
  ...keyJson(key),
  grace_ends_at: timestampOrNull(
    key.graceEndsAt && key.graceEndsAt > now && !key.revokedAt ? key.graceEndsAt : null,
  ),
})

const params = Type.Object({ key: PathId('The key') })

/** The API keys of the member's shop. */
export function keysApi(app: App, ctx: Service): void {
  app.get(
    '/keys',
    { schema: { response: { 200: Data(Type.Array(KeyRecordSchema), 'The shop’s keys') } } },
    async ({ member }) => {
      const keys = await listKeys(ctx, member.accountId)
      return { data: keys.map((key) => recordOf(key, ctx.now())) }
    },
  )

  app.post(
    '/keys',
    {
      schema: { headers: idempotencyKeyHeader, body: KeyInput, response: { 201: NewKeySchema } },
    },
    async (request, reply) => {
      const { member, body } = request
      const identity = secretForMember(request, 'dashboard createKey')
      return sendOnce(ctx, reply, identity, async (tx) => {
        const { key, secret } = await createKey(tx, member.accountId, body)
        return { status: 201, body: { data: recordOf(key, tx.now()), key: secret } }
      })
    },
  )

  app.post(
    '/keys/:key/rotate',
    { schema: { params, headers: idempotencyKeyHeader, response: { 200: NewKeySchema } } },
    async (request, reply) => {
      const { member, params } = request
      const identity = secretForMember(request, `dashboard rotateKey ${params.key}`)
      return sendOnce(ctx, reply, identity, async (tx) => {
        const { key, secret } = await rotateKey(tx, member.accountId, params.key)
        return { status: 200, body: { data: recordOf(key, tx.now()), key: secret } }
      })
    },
  )

  app.delete(
    '/keys/:key',
    { schema: { params, response: { 204: Type.Null() } } },
    async ({ member, params }, reply) => {
      await revokeKey(ctx, member.accountId, params.key)
      return reply.code(204).send(null)
    },
  )
}
