import Type, { type Static } from 'typebox'
import type { ApiKey } from '../../keys/keys.ts'
import { SCOPES } from '../../keys/scopes.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { component, FilledText, Nullable, OneOf, Timestamp } from '../schema.ts'

/** There are six; repeats are accepted within reason. */
const MAX_SCOPES = 1_000

export const KeyInput = Type.Object(
  {
    scopes: Type.Array(OneOf(SCOPES), {
      minItems: 1,
      maxItems: MAX_SCOPES,
      description: 'What the key may do; each counts once',
    }),
    name: Type.Optional(
      Nullable(FilledText({ maxLength: 100 }), { description: 'To tell keys apart' }),
    ),
  },
  { examples: [{ scopes: ['catalog:read', 'listings:read'], name: 'Price tool' }] },
)

export const KeySchema = component(
  'ApiKey',
  Type.Object(
    {
      id: Type.Integer(),
      name: Nullable(Type.String()),
      prefix: Type.String({ description: 'The first characters of the key' }),
      scopes: Type.Array(OneOf(SCOPES)),
      created_at: Timestamp(),
      last_used_at: Nullable(Timestamp()),
      revoked_at: Nullable(Timestamp()),
    },
    { description: 'An API key. The key itself is shown once, when it is made or rotated.' },
  ),
)

export const NewKey = (description: string) =>
  Type.Object(
    {
      data: KeySchema,
      key: Type.String({ description: 'The key itself: shown now and never again' }),
    },
    { description },
  )

export const keyJson = (key: ApiKey): Static<typeof KeySchema> => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  scopes: key.scopes,
  created_at: timestamp(key.createdAt),
  last_used_at: timestampOrNull(key.lastUsedAt),
  revoked_at: timestampOrNull(key.revokedAt),
})
