import { createHash } from 'node:crypto'
import { SCOPES } from '../../server/keys/scopes.ts'
import type { Member } from './dashboard.ts'
import type { Operation, Parameter, Schema } from './operations.ts'

/** A registered program, its access token for the tool server of sellers, and the shop that it acts for. */
export type Program = { accountId: number; clientId: string; token: string }

export const FORM_TYPE = 'application/x-www-form-urlencoded'
const REDIRECT_URI = 'https://program.example/callback'
const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

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
    code_challenge: CHALLENGE,
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
  return { accountId, clientId: client_id, token }
}

const text: Schema = { type: 'string', maxLength: 100 }
const oneOf = (...values: string[]): Schema => ({ enum: values })

/** The endpoints of RFC 6749, 7009, 7591 and 8628, whose parameters no published description has. */
export const oauthOperations = (): Operation[] => [
  endpoint(
    '/oauth/token',
    FORM_TYPE,
    {
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
    },
    ['grant_type', 'client_id', 'code', 'code_verifier', 'refresh_token', 'device_code'],
  ),
  endpoint('/oauth/revoke', FORM_TYPE, { token: text, token_type_hint: text }),
  endpoint(
    '/oauth/device',
    FORM_TYPE,
    {
      client_id: oneOf('cardstall-cli', 'unknown'),
      scope: oneOf('orders:read', 'none'),
      resource: text,
    },
    ['client_id'],
  ),
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

/** The pages on which a member who is signed in allows or refuses a program or a device. */
export const consentOperations = (): Operation[] => {
  const authorization: Record<string, Schema> = {
    client_id: oneOf('cardstall-cli', 'https://program.example/client.json', 'unknown'),
    redirect_uri: oneOf(
      ...Array(9).fill(REDIRECT_URI),
      'https://elsewhere.example/',
      'javascript:x',
    ),
    response_type: oneOf(...Array(9).fill('code'), 'token'),
    code_challenge: oneOf(...Array(9).fill(CHALLENGE), 'short'),
    code_challenge_method: oneOf(...Array(9).fill('S256'), 'plain'),
  }
  const optional: Record<string, Schema> = {
    state: oneOf(...Array(9).fill('a state'), 'ü\r\n'),
    scope: oneOf(...Array(9).fill('orders:read'), SCOPES.join(' '), '', 'none'),
    prompt: oneOf(...Array(9).fill('login'), 'none'),
    response_mode: oneOf(...Array(9).fill('query'), 'fragment'),
  }
  const unsupported: Record<string, Schema> = { resource: text, request: text }
  const query = (properties: Record<string, Schema>, isRequired: boolean): Parameter[] =>
    Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema, isRequired }))
  const page = (path: string, parameters: Parameter[] = []): Operation => ({
    ...{ id: `GET ${path}`, credential: 'member', method: 'GET', path, parameters },
  })
  const decision: Record<string, Schema> = {
    decision: oneOf('allow', 'allow', 'refuse'),
    ...Object.fromEntries(SCOPES.map((scope) => [scope, oneOf('on')])),
  }
  const form = (path: string, properties: Record<string, Schema>): Operation => ({
    ...endpoint(path, FORM_TYPE, properties, ['decision', 'user_code']),
    credential: 'member',
  })
  const userCode = oneOf('BCDF-GHJK', 'x')
  return [
    page('/oauth/authorize', [...query(authorization, true), ...query(optional, false)]),
    form('/oauth/authorize', { ...authorization, ...optional, ...unsupported }),
    page('/oauth/step/{uid}'),
    form('/oauth/step/{uid}', decision),
    page('/device', query({ user_code: userCode }, false)),
    form('/device', { ...decision, user_code: userCode }),
  ]
}

/** Where a page may send a browser: elsewhere on this service, or to an address that a program registered. */
export const mayRedirectTo = (location: string) =>
  /^(\/(?![/\\])|\.{1,2}\/)/.test(location) || location.startsWith(`${REDIRECT_URI}?`)

const endpoint = (
  path: string,
  type: string,
  properties: Record<string, Schema>,
  required: string[] = [],
): Operation => ({
  id: `POST ${path}`,
  credential: 'none',
  method: 'POST',
  path,
  parameters: [],
  body: {
    type,
    isRequired: true,
    example: undefined,
    schema: { type: 'object', properties, required },
  },
})
