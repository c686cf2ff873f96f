import { createHash } from 'node:crypto'
import { SCOPES } from '../../server/keys/scopes.ts'
import type { Member } from './dashboard.ts'
import type { Operation, Schema } from './operations.ts'

/** An access token for the tool server of sellers, and the shop that it acts for. */
export type Program = { accountId: number; token: string }

export const FORM_TYPE = 'application/x-www-form-urlencoded'
const REDIRECT_URI = 'https://program.example/callback'
const VERIFIER = 'v'.repeat(43)

/** Registers a program, lets a member allow it on the consent page, and exchanges its code. */
export async function allowProgram(url: string, { accountId, cookie }: Member): Promise<Program> {
  const registered = await fetch(`${url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Fuzzer', redirect_uris: [REDIRECT_URI] }),
  })
  const { client_id } = (await registered.json()) as { client_id: string }
  const query = new URLSearchParams({
    client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const visit = (address: URL, more: RequestInit = {}) =>
    fetch(address, { redirect: 'manual', headers: { cookie, origin: url }, ...more })
  const asked = await visit(new URL(`/oauth/authorize?${query}`, url))
  const consentPage = new URL(asked.headers.get('location')!, url)
  const allowed = await visit(consentPage, {
    method: 'POST',
    body: new URLSearchParams({
      decision: 'allow',
      ...Object.fromEntries(SCOPES.map((scope) => [scope, 'on'])),
    }),
  })
  const code = new URL(allowed.headers.get('location')!).searchParams.get('code')!
  const exchanged = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id,
      code,
      code_verifier: VERIFIER,
    }),
  })
  const { access_token: token } = (await exchanged.json()) as { access_token?: string }
  if (!token) throw new Error(`A program got no token: ${exchanged.status}.`)
  return { accountId, token }
}

const text: Schema = { type: 'string', maxLength: 100 }
const oneOf = (...values: string[]): Schema => ({ enum: values })

/** The endpoints of RFC 6749, 7009, 7591 and 8628, whose parameters no published description has. */
export const oauthOperations = (): Operation[] => [
  endpoint('/oauth/token', FORM_TYPE, {
    grant_type: oneOf(
      'authorization_code',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
    ),
    client_id: oneOf('cardstall-cli', 'https://program.example/client.json', 'unknown'),
    code: text,
    code_verifier: oneOf(VERIFIER, 'short'),
    refresh_token: text,
    device_code: text,
    redirect_uri: oneOf(REDIRECT_URI),
    resource: text,
    scope: text,
  }),
  endpoint('/oauth/revoke', FORM_TYPE, { token: text, token_type_hint: text }),
  endpoint('/oauth/device', FORM_TYPE, {
    client_id: oneOf('cardstall-cli', 'unknown'),
    scope: oneOf('orders:read', 'none'),
    resource: text,
  }),
  endpoint('/oauth/register', 'application/json', {
    client_name: text,
    redirect_uris: {
      type: 'array',
      minItems: 1,
      maxItems: 10,
      items: oneOf(REDIRECT_URI, 'http://127.0.0.1/x', 'javascript:alert(1)'),
    },
    client_uri: text,
    grant_types: { type: 'array', maxItems: 3, items: text },
  }),
]

const endpoint = (path: string, type: string, properties: Record<string, Schema>): Operation => ({
  id: `POST ${path}`,
  credential: 'none',
  method: 'POST',
  path,
  parameters: [],
  body: {
    type,
    isRequired: true,
    example: undefined,
    schema: { type: 'object', properties },
  },
})
