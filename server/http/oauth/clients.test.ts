import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import {
  Client,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Config } from '../../config.ts'
import { DatabaseUnavailable } from '../../database/unavailable.ts'
import { SCOPES, type Scope } from '../../keys/scopes.ts'
import { PUBLIC_URL, startTestApp, type TestApp } from '../../test/app.ts'
import { selfSigned } from '../../test/certificate.ts'
import { fakeNetwork } from '../../test/fakes/network.ts'
import { fetchFrom } from '../../test/fixtures/mcp.ts'
import {
  allow,
  allowing,
  authorizeUrl,
  decide,
  errorOf,
  exchange,
  openStep,
  REDIRECT_URI,
  register,
} from '../../test/fixtures/oauth.ts'
import { whenFileEnds } from '../../test/when-file-ends.ts'
import { whileReplaced } from '../../test/while-replaced.ts'

const HOST = 'program.example'
const ADDRESS = '93.184.215.1'
const certificate = await selfSigned(HOST, ADDRESS)
const trusted = getCACertificates('default')

type SiteResponse = { status?: number; headers?: Record<string, string>; body?: string }

const network = fakeNetwork()
/** Responses of the site, by path. */
const responses = new Map<string, SiteResponse>()
let fetched: string[] = []
let app: TestApp
let time = Date.UTC(2026, 10, 22, 9)
beforeAll(async () => {
  app = await startTestApp({
    network,
    rateLimitTime: () => time,
    settings: { MCP_PUBLIC_RATE: '0' },
  })
  if (!certificate) return
  setDefaultCACertificates([...trusted, String(certificate.cert)])
  const server = createServer(certificate, ({ url = '' }, response) => {
    fetched.push(url)
    const { status = 200, headers = {}, body = '' } = responses.get(url) ?? { status: 404 }
    response.writeHead(status, headers).end(body)
  })
  whenFileEnds(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  network.names.set(HOST, [ADDRESS])
  network.ports.set(ADDRESS, (server.address() as AddressInfo).port)
})
afterAll(() => setDefaultCACertificates(trusted))
beforeEach(() => {
  time += 3_600_000
  fetched = []
})

let documents = 0
/** Publishes a document, and returns its address. */
function publish(changes: object = {}, response: SiteResponse = {}): string {
  const path = `/clients/${++documents}.json`
  const id = `https://${HOST}${path}`
  const document = { client_id: id, client_name: 'Pokedex', redirect_uris: [REDIRECT_URI] }
  responses.set(path, { body: JSON.stringify({ ...document, ...changes }), ...response })
  return id
}

const statusOf = async (clientId: string, changes: Record<string, string> = {}) =>
  (await app.anyone.get(authorizeUrl(clientId, changes))).status

it.skipIf(!certificate)(
  'a program with a metadata document signs in, and the consent page names the host that publishes it',
  async () => {
    const member = await app.member()
    const clientId = publish({ scope: 'catalog:read', application_type: 'web' })
    const step = await openStep(member, clientId, { scope: 'orders:read' })
    const { text } = await member.get(step)
    expect(text).toContain('Pokedex')
    expect(text).toContain(`published by <strong>${HOST}</strong>`)
    const location = await decide(member, step)
    const { status, body } = await exchange(app, clientId, location.searchParams.get('code')!)
    expect([status, body.scope]).toEqual([200, 'orders:read'])
  },
)

/** Documents of well-known programs, as they publish them, and an address that each one goes back to. */
const PUBLISHED: [object, string][] = [
  [
    {
      client_name: 'ChatGPT',
      client_uri: 'https://chatgpt.com/',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    'https://chatgpt.com/connector_platform_oauth_redirect',
  ],
  [
    {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    'https://claude.ai/api/mcp/auth_callback',
  ],
  [
    {
      client_name: 'Claude Code',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    'http://localhost:3118/callback',
  ],
  [
    {
      client_name: 'Visual Studio Code',
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      grant_types: [
        'authorization_code',
        'refresh_token',
        'urn:ietf:params:oauth:grant-type:device_code',
      ],
      response_types: ['code'],
    },
    'http://127.0.0.1:33418/',
  ],
]

it.skipIf(!certificate).each(PUBLISHED)(
  'a program signs in with the document $client_name, also if it prefers to sign its requests',
  async (document, redirectUri) => {
    const member = await app.member()
    const clientId = publish(document)
    const code = await allow(member, clientId, SCOPES, { redirect_uri: redirectUri })
    const signed = {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: 'a.b.c',
    }
    expect((await exchange(app, clientId, code, signed)).status).toBe(200)
  },
)

it.skipIf(!certificate)(
  'a client’s document is cached while its headers allow it, and a failure is cached as well',
  async () => {
    const cached = publish({}, { headers: { 'cache-control': 'public, max-age=3600' } })
    const missing = `https://${HOST}/missing`
    await Promise.all([statusOf(cached), statusOf(cached), statusOf(missing)])
    expect(await statusOf(cached)).toBe(303)
    expect(await statusOf(missing)).toBe(400)
    expect(fetched.toSorted()).toEqual([new URL(cached).pathname, '/missing'])
  },
)

const HOSTILE: [string, () => string][] = [
  ['names another client', () => publish({ client_id: `https://${HOST}/other` })],
  ['names no client', () => publish({ client_id: undefined })],
  ['has a secret', () => publish({ client_secret: 'x' })],
  ['uses a secret', () => publish({ token_endpoint_auth_method: 'client_secret_basic' })],
  ['uses a key', () => publish({ token_endpoint_auth_method: 'private_key_jwt' })],
  [
    'uses keys only',
    () =>
      publish({
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_methods_supported: ['private_key_jwt', 'tls_client_auth'],
      }),
  ],
  ['uses another grant', () => publish({ grant_types: ['password'] })],
  ['wants another response', () => publish({ response_types: ['token'] })],
  ['has no addresses', () => publish({ redirect_uris: [] })],
  ['has one address that is not a list', () => publish({ redirect_uris: REDIRECT_URI })],
  ['has other things for addresses', () => publish({ redirect_uris: [null, {}] })],
  ['has only a script', () => publish({ redirect_uris: ['javascript:alert(1)'] })],
  [
    'has too many addresses',
    () => publish({ redirect_uris: Array.from({ length: 11 }, (_, i) => REDIRECT_URI + i) }),
  ],
  ['has a long name', () => publish({ client_name: 'x'.repeat(101) })],
  ['has a name that is not a text', () => publish({ client_name: ['x'] })],
  ['is no JSON', () => publish({}, { body: '<html>' })],
  ['is a list', () => publish({}, { body: '[]' })],
  ['is null', () => publish({}, { body: 'null' })],
  ['is empty', () => publish({}, { body: '' })],
  ['is deeply nested', () => publish({}, { body: '['.repeat(60_000) })],
  ['is too large', () => publish({ padding: 'x'.repeat(64 * 1024) })],
  ['is missing', () => publish({}, { status: 404 })],
  ['fails', () => publish({}, { status: 500 })],
  ['redirects', () => publish({}, { status: 302, headers: { location: publish() } })],
  ['is an error with a body', () => publish({}, { status: 403 })],
  ['has no path', () => `https://${HOST}`],
  ['is at the root', () => `https://${HOST}/`],
  ['is not secure', () => publish().replace('https:', 'http:')],
  ['has a user', () => publish().replace('https://', 'https://user@')],
  ['has a fragment', () => `${publish()}#x`],
  ['climbs', () => `https://${HOST}/x/../clients/1.json`],
  ['has another notation', () => publish().replace(HOST, HOST.toUpperCase())],
  ['is on this computer', () => 'https://localhost/client.json'],
  ['is at a private address', () => 'https://10.0.0.1/client.json'],
  ['is at a metadata service', () => 'https://169.254.169.254/client.json'],
  ['is at a private address in disguise', () => 'https://private.example/client.json'],
  ['is unknown to DNS', () => 'https://nowhere.example/client.json'],
  ['is long', () => `https://${HOST}/${'x'.repeat(500)}`],
]

it.skipIf(!certificate)(
  'a hostile client document gets an error page, and nothing is logged as an error',
  async () => {
    network.names.set('private.example', ['93.184.215.1', '10.0.0.1'])
    for (const [title, make] of HOSTILE) {
      time += 60_000
      const { status, headers } = await app.anyone.get(authorizeUrl(make()))
      expect([status, headers.location], title).toEqual([400, undefined])
    }
    expect(network.dialled.every((address) => address === ADDRESS)).toBe(true)
    expect(app.logged.filter(({ level }) => level === 'error')).toEqual([])
  },
)

const USABLE = [
  'https://program.example/callback?a=b',
  'https://program.example:8443/callback',
  'http://localhost/callback',
  'http://127.0.0.1:3456/callback',
  'http://[::1]:3456/callback',
  'com.example.program:/callback',
  'com.example.program://callback',
]
const UNUSABLE = [
  '',
  'callback',
  '//program.example/callback',
  'http://program.example/callback',
  'http://localhost.evil.example/callback',
  'http://localhost@evil.example/callback',
  'http://127.0.0.1:80@evil.example/',
  'http://127.0.0.2/callback',
  'http://127.1/callback',
  'http://0.0.0.0/callback',
  'http://2130706433/callback',
  'https://user:password@program.example/callback',
  'https://program.example/callback#fragment',
  'https://program.example/call back',
  'https://program.example\\@evil.example/',
  'https://program.example/"><script>',
  'https://prögram.example/callback',
  'https:program.example/callback',
  'https://program.example/\0',
  'https://program.example/a\r\nset-cookie: a=b',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'vbscript:x',
  'blob:https://program.example/x',
  'about:blank',
  'ws://localhost/',
  'program:/callback',
  '.program:/callback',
  'urn:ietf:wg:oauth:2.0:oob',
  `https://program.example/${'x'.repeat(1_000)}`,
]

it('only addresses that lead back to a program can be registered', async () => {
  const attempt = (uris: unknown) =>
    app.anyone.post('/oauth/register', { payload: { redirect_uris: uris } })
  expect((await attempt(USABLE)).body.redirect_uris).toEqual(USABLE)
  for (const uri of UNUSABLE) {
    time += 3_600_000
    expect(errorOf(await attempt([uri])), uri).toEqual([400, 'invalid_redirect_uri'])
  }
  time += 3_600_000
  const tooMany = Array.from({ length: 11 }, (_, i) => REDIRECT_URI + i)
  for (const uris of [undefined, null, [], {}, REDIRECT_URI, [1], tooMany]) {
    expect(errorOf(await attempt(uris))).toEqual([400, 'invalid_redirect_uri'])
  }
})

it('a registration ignores unusable addresses if one is usable, and returns the registered ones', async () => {
  const usable = ['http://localhost:8787/callback', REDIRECT_URI]
  const ofCursor = 'cursor://anysphere.cursor-mcp/oauth/callback'
  const { status, body } = await app.anyone.post('/oauth/register', {
    payload: { redirect_uris: [ofCursor, ...usable, ...UNUSABLE] },
  })
  expect([status, body.redirect_uris]).toEqual([201, usable])
  expect(await statusOf(body.client_id, { redirect_uri: usable[1]! })).toBe(303)
  expect(await statusOf(body.client_id, { redirect_uri: ofCursor })).toBe(400)
})

it('a registered address is compared exactly, except for the port of a loopback address', async () => {
  const redirect_uris = [REDIRECT_URI, 'http://localhost/cb', 'http://127.0.0.1:1234/cb']
  const clientId = await register(app, { redirect_uris })
  const goesTo = async (uri: string) => {
    time += 60_000
    return statusOf(clientId, { redirect_uri: uri })
  }
  for (const uri of [
    ...redirect_uris,
    'http://localhost:4321/cb',
    'http://127.0.0.1/cb',
    'http://127.0.0.1:65535/cb',
  ]) {
    expect(await goesTo(uri), uri).toBe(303)
  }
  for (const uri of [
    `${REDIRECT_URI}/`,
    `${REDIRECT_URI}?a=b`,
    REDIRECT_URI.replace('https://', 'https://user@'),
    REDIRECT_URI.replace('example', 'example:8443'),
    REDIRECT_URI.replace('program', 'PROGRAM'),
    `${REDIRECT_URI}/../other`,
    'http://localhost:4321/cb/other',
    'http://localhost:4321/cb?a=b',
    'http://[::1]:4321/cb',
    'http://localhost:80@evil.example/cb',
    'http://localhost:999999/cb',
    'https://localhost/cb',
  ]) {
    expect(await goesTo(uri), uri).toBe(400)
  }
})

/** The consent page of a registered program. */
const consentPage = async (clientId: string, redirect_uri: string) => {
  const member = await app.member()
  return (await member.get(await openStep(member, clientId, { redirect_uri }))).text
}

it('consent warns if the code goes to a program on the computer of the member, whatever else it registered', async () => {
  const local = await register(app, { redirect_uris: ['http://localhost/cb'] })
  const warning = 'It runs on your computer'
  expect(await consentPage(local, 'http://localhost:4321/cb')).toContain(warning)
  const several = await register(app, {
    redirect_uris: ['http://localhost/cb', 'com.example.program:/cb', REDIRECT_URI],
  })
  expect(await consentPage(several, 'http://localhost:4321/cb')).toContain(warning)
  expect(await consentPage(several, 'com.example.program:/cb')).toContain(warning)
  expect(await consentPage(several, REDIRECT_URI)).not.toContain('on your computer')
})

it('consent shows the name of a program as text without hidden characters', async () => {
  const named = await register(app, { client_name: '<b>Claude\u202e\u0007\u200b' })
  expect(await consentPage(named, REDIRECT_URI)).toContain('Allow &lt;b&gt;Claude?')
})

it('consent shows at most three marks in a row above or below a letter, all marks of a Burmese name, and says so if a name has nothing to see', async () => {
  const stacked = await register(app, { client_name: `Z${'\u20dd'.repeat(90)}oom` })
  expect(await consentPage(stacked, REDIRECT_URI)).toContain(`Allow Z${'\u20dd'.repeat(3)}oom?`)
  const blank = await register(app, { client_name: '\u3164 \u2800\u115f\u0301' })
  expect(await consentPage(blank, REDIRECT_URI)).toContain('Allow A program without a name?')
  // Three of these five marks are drawn beside the letter.
  const burmese = await register(app, { client_name: '\u101c\u103b\u103e\u1031\u102c\u1037' })
  expect(await consentPage(burmese, REDIRECT_URI)).toContain(
    'Allow \u101c\u103b\u103e\u1031\u102c\u1037?',
  )
})

const registration = (more: object) =>
  app.anyone.post('/oauth/register', { payload: { redirect_uris: [REDIRECT_URI], ...more } })

it('a registered client is public, whatever method it asks for', async () => {
  const { status, body } = await registration({ token_endpoint_auth_method: 'client_secret_post' })
  expect([status, body.token_endpoint_auth_method]).toEqual([201, 'none'])
  expect(body).not.toHaveProperty('client_secret')
})

it('a registration that brings a secret is refused', async () => {
  const refused = await registration({ client_secret: 'x' })
  expect(errorOf(refused)).toEqual([400, 'invalid_client_metadata'])
})

it('the scope of a registration does not limit what its client gets', async () => {
  const member = await app.member()
  const clientId = await register(app, { scope: 'catalog:read unknown:scope' })
  const code = await allow(member, clientId)
  expect((await exchange(app, clientId, code)).body.scope.split(' ')).toHaveLength(6)
})

it.skipIf(!certificate)(
  'OAUTH_CLIENTS excludes registration, and documents of other hosts',
  async () => {
    const registered = await register(app)
    const document = publish()
    const expected = {
      documents: [400, 303],
      'program.example': [400, 303],
      'a.example': [400, 400],
    }
    for (const [setting, statuses] of Object.entries(expected)) {
      const oauthClients: Config['oauthClients'] = setting === 'documents' ? setting : [setting]
      const config = { ...app.ctx.config, oauthClients }
      await whileReplaced(app.ctx, { config }, async () => {
        expect([await statusOf(registered), await statusOf(document)], setting).toEqual(statuses)
      })
    }
  },
)

/** The browser and the store of a program that uses the official client. */
class Program {
  readonly redirectUrl = REDIRECT_URI
  readonly clientMetadata = { client_name: 'Agent', redirect_uris: [REDIRECT_URI], scope: 'x' }
  readonly clientMetadataUrl: string | undefined
  information: StoredOAuthClientInformation | undefined
  stored: StoredOAuthTokens | undefined
  verifier = ''
  asked: URL | undefined

  constructor(document: string | undefined) {
    this.clientMetadataUrl = document
  }

  clientInformation = () => this.information
  saveClientInformation = (information: StoredOAuthClientInformation) => {
    this.information = information
  }
  tokens = () => this.stored
  saveTokens = (tokens: StoredOAuthTokens) => {
    this.stored = tokens
  }
  redirectToAuthorization = (url: URL) => {
    this.asked = url
  }
  saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier
  }
  codeVerifier = () => this.verifier
  invalidateCredentials = () => {
    this.stored = undefined
  }
  discovered: OAuthDiscoveryState | undefined
  discoveryState = () => this.discovered
  saveDiscoveryState = (state: OAuthDiscoveryState) => {
    this.discovered = state
  }
}

it.skipIf(!certificate).each([
  ['2026-07-28', 'document'],
  ['2026-07-28', 'registration'],
  ['2025-11-25', 'document'],
  ['2025-11-25', 'registration'],
])(
  'the official client with revision %s signs in with a %s, refreshes after an outage, and asks again',
  async (revision, kind) => {
    const member = await app.member()
    const program = new Program(kind === 'document' ? publish() : undefined)
    const open = async () => {
      const mode = revision === '2026-07-28' ? { pin: revision } : ('legacy' as const)
      const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode } })
      const transport = new StreamableHTTPClientTransport(new URL(`${PUBLIC_URL}/mcp`), {
        authProvider: program,
        fetch: fetchFrom(app),
      })
      return { client, transport, connected: client.connect(transport) }
    }
    const first = await open()
    await expect(first.connected).rejects.toThrow()
    const { pathname, search, searchParams } = program.asked!
    expect(searchParams.get('resource')).toBe(`${PUBLIC_URL}/mcp`)
    expect(searchParams.get('client_id') === program.clientMetadataUrl).toBe(kind === 'document')
    const { headers } = await member.get(pathname + search)
    const step = new URL(headers.location!, `${PUBLIC_URL}/oauth/authorize`).pathname
    const callback = await decide(member, step)
    await first.transport.finishAuth(callback.searchParams)

    const { client, connected } = await open()
    await connected
    const call = () => client.callTool({ name: 'list_series', arguments: {} })
    expect((await call()).isError).toBeFalsy()
    const { access_token: former } = program.stored!
    await app.ctx.db`
      update oauth_tokens set expires_at = clock_timestamp() where kind = 'access'
    `
    program.asked = undefined
    const { limiter: counters } = app.ctx
    const limiter: typeof counters = {
      count: (subject, ...limit) =>
        subject.startsWith('oauth-token:')
          ? Promise.reject(new DatabaseUnavailable('down'))
          : counters.count(subject, ...limit),
    }
    await whileReplaced(app.ctx, { limiter }, () => expect(call()).rejects.toThrow())
    expect(program.asked).toBeUndefined()
    expect((await call()).isError).toBeFalsy()
    expect(program.stored!.access_token).not.toBe(former)
    program.asked = undefined
    await member.delete('/dashboard/api/programs')
    await expect(call()).rejects.toThrow()
    expect(program.asked).toBeInstanceOf(URL)
    await client.close()
  },
)

it('the official client asks for one more permission when a tool needs it, and then calls the tool', async () => {
  const member = await app.member()
  const program = new Program(undefined)
  const address = `${PUBLIC_URL}/mcp/seller`
  const open = () =>
    new StreamableHTTPClientTransport(new URL(address), {
      authProvider: program,
      fetch: fetchFrom(app),
    })
  const client = () => new Client({ name: 'agent', version: '1' })
  /** Unchecks everything but these scopes. Returns the scopes that the program asked for. */
  const consent = async (transport: StreamableHTTPClientTransport, scopes: Scope[]) => {
    const { pathname, search, searchParams } = program.asked!
    const { headers } = await member.get(pathname + search)
    const step = new URL(headers.location!, `${PUBLIC_URL}/oauth/authorize`).pathname
    await transport.finishAuth((await decide(member, step, allowing(scopes))).searchParams)
    return searchParams.get('scope')?.split(' ')
  }
  const first = open()
  await expect(client().connect(first)).rejects.toThrow()
  expect(await consent(first, ['listings:read'])).toEqual(expect.arrayContaining([...SCOPES]))

  const agent = client()
  const transport = open()
  await agent.connect(transport)
  const call = (name: string, args = {}) => agent.callTool({ name, arguments: args })
  expect((await call('list_listings')).isError).toBeFalsy()
  program.asked = undefined
  await expect(call('delete_listing', { listing: 1 })).rejects.toThrow()
  const asked = await consent(transport, ['listings:read', 'listings:write'])
  expect(asked).toContain('listings:write')
  const { isError, content } = await call('delete_listing', { listing: 1 })
  expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringMatching(/not_found/)])
  expect((await call('list_listings')).isError).toBeFalsy()
  // Each consent is a grant of its own.
  expect((await member.get('/dashboard/api/programs')).body.data).toHaveLength(2)
  await agent.close()
})
