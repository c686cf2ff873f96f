import Type, { type Static } from 'typebox'
import type { ApiKey } from '../../keys/keys.ts'
import { SCOPES } from '../../keys/scopes.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { component, Line, Nullable, OneOf, Timestamp } from '../schema.ts'

/** There are six scopes. Repetitions are accepted up to this length. */
const MAX_SCOPES = 1_000

const exampleInput = {
  scopes: ['catalog:read' as const, 'listings:read' as const],
  name: 'Price tool',
}

export const KeyInput = Type.Object(
  {
    scopes: Type.Array(OneOf(SCOPES), {
      minItems: 1,
      maxItems: MAX_SCOPES,
      description: 'Scopes of the key. Duplicates are ignored',
    }),
    name: Type.Optional(
      Nullable(Line({ maxLength: 100 }), { description: 'Label that tells keys apart' }),
    ),
  },
  { examples: [exampleInput] },
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
    { description: 'An API key. Its secret is shown only when the key is created or rotated.' },
  ),
)

export const NewKey = (description: string) =>
  Type.Object(
    {
      data: KeySchema,
      key: Type.String({ description: 'Secret of the key. It is shown only in this response' }),
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

export const exampleKey: Static<typeof KeySchema> = {
  id: 12,
  ...exampleInput,
  prefix: 'svc_live_a1B2',
  created_at: '2026-03-01T09:30:00Z',
  last_used_at: null,
  revoked_at: null,
}

/** A new key with its secret. */
export const exampleNewKey = {
  data: exampleKey,
  key: 'svc_live_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0',
}
