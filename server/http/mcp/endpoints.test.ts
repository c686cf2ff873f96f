import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { beforeAll, describe, expect, it } from 'vitest'
import { PUBLIC_URL, startTestApp, type TestApp } from '../../test/app.ts'
import { call, fetchFrom, message, post, send } from '../../test/fixtures/mcp.ts'
import { grantAccess } from '../../test/fixtures/oauth.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: { MCP_PUBLIC_RATE: '100000' } })
})

describe('the protocol', () => {
  it.each(['2026-07-28', '2025-11-25'])(
    'the official client uses /mcp with revision %s',
    async (revision) => {
      const client = new Client(
        { name: 'test', version: '1' },
        {
          versionNegotiation: { mode: revision === '2026-07-28' ? { pin: revision } : 'legacy' },
        },
      )
      const url = new URL(`${PUBLIC_URL}/mcp`)
      await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchFrom(app) }))
      expect(client.getInstructions()).toMatch(/euros/)
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual([
        ...['search_cards', 'get_card', 'search_products', 'list_offers'],
        ...['list_series', 'search_sets', 'get_product'],
      ])
      const found = await client.callTool({ name: 'search_cards', arguments: { q: 'charizard' } })
      expect(found.structuredContent).toEqual(
        JSON.parse((found.content as { text: string }[])[0]!.text),
      )
      expect(found.structuredContent).toMatchObject({ meta: { page: 1 } })
      await client.close()
    },
  )

  it.each([{ pin: '2026-07-28' }, 'legacy' as const])(
    'the official client runs a shop at /mcp/seller with %j',
    async (mode) => {
      const { accountId } = await app.seller()
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      const headers = { authorization: `Bearer ${await grantAccess(app, accountId)}` }
      const url = new URL(`${PUBLIC_URL}/mcp/seller`)
      const options = { fetch: fetchFrom(app), requestInit: { headers } }
      await client.connect(new StreamableHTTPClientTransport(url, options))
      // The client checks results against the schemas of the list.
      expect((await client.listTools()).tools).toHaveLength(19)
      for (const name of ['get_account', 'list_listings', 'list_orders', 'get_sales']) {
        const { isError, structuredContent } = await client.callTool({ name, arguments: {} })
        expect([isError ?? false, typeof structuredContent], name).toEqual([false, 'object'])
      }
      const { resources } = await client.listResources()
      const { contents } = await client.readResource({ uri: resources[0]!.uri })
      expect(contents[0]).toMatchObject({ mimeType: 'text/markdown' })
      const { prompts } = await client.listPrompts()
      expect(prompts.map(({ name }) => name)).toEqual(['list_stock', 'ship_today'])
      const { messages } = await client.getPrompt({ name: 'ship_today' })
      expect(messages).toHaveLength(1)
      await expect(client.callTool({ name: 'steal', arguments: {} })).rejects.toThrow(/no tool/)
      await client.close()
    },
  )

  it('an earlier revision needs no handshake, so any process can answer', async () => {
    const { status, body } = await post(app, '/mcp', {
      jsonrpc: '2.0',
      id: 'a',
      method: 'tools/call',
      params: { name: 'list_series' },
    })
    expect([status, body.id]).toEqual([200, 'a'])
    expect(body.result.structuredContent.data.length).toBeGreaterThan(0)
  })

  it.each(['notifications/initialized', 'notifications/cancelled', 'notifications/unheard'])(
    'the notification %s, in both eras, is accepted without a response',
    async (method) => {
      const params = method.endsWith('cancelled') ? { requestId: 1 } : {}
      const { id, ...current } = message(method, params)
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
      const responses = [
        await post(app, '/mcp', { jsonrpc: '2.0', method, params }),
        await post(app, '/mcp', current, { headers }),
      ]
      for (const { status, text } of responses) expect([status, text]).toEqual([202, ''])
    },
  )

  it.each(['initialize', 'tools/call', 'prompts/get', 'resources/read'])(
    'a notification with the method %s and wrong parameters gets no error, because it has no id',
    async (method) => {
      const { accountId } = await app.seller()
      const token = await grantAccess(app, accountId)
      const sent = { jsonrpc: '2.0', method, params: {} }
      const { status, text } = await post(app, '/mcp/seller', sent, { token })
      expect([status, text]).toEqual([202, ''])
    },
  )
})

describe('bad input', () => {
  const toolCall = { jsonrpc: '2.0', id: 1, method: 'tools/call' }

  it.each<[string, unknown, Record<string, string>, number, number]>([
    ['text that is not JSON', '{"jsonrpc": ', {}, 400, -32700],
    ['bytes that are not UTF-8', '"\\ud800', {}, 400, -32700],
    ['an empty body', '', {}, 400, -32700],
    ['a number', 7, {}, 400, -32600],
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }], {}, 400, -32600],
    ['an object that is not a message', { hello: 1 }, {}, 400, -32600],
    ['an id of 256 characters', { ...toolCall, id: 'x'.repeat(256) }, {}, 400, -32600],
    ['a body that is nested too deeply', '['.repeat(40) + ']'.repeat(40), {}, 400, -32600],
    ['a body with too many values', [...Array(20_001).keys()], {}, 400, -32600],
    ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'tools/steal' }, {}, 404, -32601],
    ['an unknown method of the current revision', message('tools/steal'), {}, 404, -32601],
    [
      'a request with the method of a notification',
      { jsonrpc: '2.0', id: 4, method: 'notifications/initialized' },
      {},
      404,
      -32601,
    ],
    [
      'a request of the current revision with the method of a notification',
      message('notifications/cancelled', { requestId: 1 }),
      {},
      404,
      -32601,
    ],
    ['a subscription', message('subscriptions/listen'), {}, 404, -32601],
    ['an unknown tool', { ...toolCall, params: { name: 'steal' } }, {}, 200, -32602],
    ['a call without a name', { ...toolCall, params: {} }, {}, 200, -32602],
    ['a client without a name', { ...toolCall, method: 'initialize', params: {} }, {}, 200, -32602],
    [
      'a header that contradicts the body',
      message('tools/list'),
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' },
      400,
      -32020,
    ],
    [
      'an unknown revision',
      {
        ...message('tools/list'),
        params: {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2031-01-01',
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
      { 'mcp-protocol-version': '2031-01-01', 'mcp-method': 'tools/list' },
      400,
      -32022,
    ],
    [
      'an unknown later revision that only the header names',
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { 'mcp-protocol-version': '2031-01-01', 'mcp-method': 'tools/list' },
      400,
      -32022,
    ],
    [
      'an unknown earlier revision',
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { 'mcp-protocol-version': '1999-01-01' },
      400,
      -32022,
    ],
  ])('%s is refused', async (_, body, headers, status, code) => {
    const response = await post(app, '/mcp', body, { headers })
    expect([response.status, response.body.error?.code], response.text).toEqual([status, code])
    if (code === -32022) expect(response.body.error.data.supported).toContain('2026-07-28')
  })

  it('arguments that do not match the schema, and errors of the API, are results with the error envelope', async () => {
    const refused = await failing('search_cards', {
      q: 7,
      per_page: 51,
      colour: 'red',
      constructor: 1,
    })
    expect(refused.isError).toBe(true)
    expect(refused.object.error).toMatchObject({
      type: 'validation_error',
      fields: {
        q: ['The q field must be a string.'],
        per_page: ['The per_page field must not be greater than 50.'],
        colour: ['There is no field colour.'],
        constructor: ['There is no field constructor.'],
      },
    })
    const ambiguous = await failing('get_card', { card: 'brs_1' })
    const { body } = await (await app.seller()).get('/v1/cards/brs_1')
    expect(ambiguous.object).toEqual(body)
    expect(ambiguous.object.error.fields.candidates.length).toBeGreaterThan(1)
    expect((await failing('get_product', { product: 'none' })).object.error.type).toBe('not_found')
    expect((await failing('list_offers', {})).object.error.type).toBe('validation_error')
  })

  it.each([
    ['a text', '{"q": "charizard"}'],
    ['a list', ['charizard']],
    ['null', null],
  ])('arguments that are %s, in both eras, get a result that names the field', async (_, args) => {
    const params = { name: 'search_cards', arguments: args }
    const responses = [
      await post(app, '/mcp', { ...toolCall, params }),
      await send(app, '/mcp', 'tools/call', params),
    ]
    for (const { status, body } of responses) {
      expect([status, body.result?.isError], JSON.stringify(body)).toEqual([200, true])
      expect(JSON.parse(body.result.content[0].text).error).toMatchObject({
        type: 'validation_error',
        fields: { arguments: [expect.stringMatching(/must be an object.*not a text/)] },
      })
    }
  })

  it('a call without a name is an error that names the field', async () => {
    const { body } = await post(app, '/mcp', { ...toolCall, params: { arguments: {} } })
    expect(body.error.message).toBe('params.name: The name field is required.')
  })

  const client = { name: 'test', version: '1' }
  const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: client }

  it.each<[string, unknown, RegExp]>([
    ['tools/list', { cursor: 5 }, /^params\.cursor: .*expected string/],
    ['resources/list', { cursor: {} }, /^params\.cursor: .*expected string/],
    ['resources/templates/list', { cursor: [] }, /^params\.cursor: .*expected string/],
    ['prompts/list', { cursor: null }, /^params\.cursor: .*expected string/],
    [
      'initialize',
      { ...initialize, capabilities: { roots: 5 } },
      /^params\.capabilities\.roots: .*expected object/,
    ],
    [
      'initialize',
      { ...initialize, clientInfo: { ...client, icons: 5 } },
      /^params\.clientInfo\.icons: .*expected array/,
    ],
    ['initialize', 'x', /^params must be an object\.$/],
    ['tools/list', ['x'], /^params must be an object\.$/],
    ['tools/call', null, /^params must be an object\.$/],
    ['initialize', undefined, /^params\.protocolVersion: The protocolVersion field is required/],
  ])(
    '%s with the wrong parameters %j is an error that names the field',
    async (method, params, expected) => {
      const { accountId } = await app.seller()
      const token = await grantAccess(app, accountId)
      const sent = { jsonrpc: '2.0', id: 1, method, params }
      const { status, body } = await post(app, '/mcp/seller', sent, { token })
      expect([status, body.error?.code], JSON.stringify(body)).toEqual([200, -32602])
      expect(body.error.message).toMatch(expected)
      expect(body.error.message).not.toMatch(/[{\n]/)
    },
  )

  it.each(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])(
    'a wrong cursor of %s of the current revision is an error that names the field',
    async (method) => {
      const { accountId } = await app.seller()
      const token = await grantAccess(app, accountId)
      const { body } = await send(app, '/mcp/seller', method, { cursor: 5 }, { token })
      expect(body.error).toEqual({
        code: -32602,
        message: 'params.cursor: Invalid input: expected string, received number.',
      })
    },
  )

  const failing = (name: string, args: object) => call(app, '/mcp', name, args)

  it('other methods get 405, other types 415 and large bodies 413', async () => {
    const headers = { host: 'cards.example' }
    for (const method of ['get', 'delete', 'put', 'patch'] as const) {
      const response = await app.anyone[method]('/mcp', { headers })
      expect([response.status, response.headers.allow]).toEqual([405, 'POST'])
    }
    const xml = await post(app, '/mcp', '<a/>', { headers: { 'content-type': 'text/xml' } })
    expect(xml.status).toBe(415)
    const large = await post(app, '/mcp', ' '.repeat(4 * 1024 * 1024 + 1))
    expect([large.status, large.body.error.type]).toEqual([413, 'payload_too_large'])
  })
})

describe('Host and Origin', () => {
  const status = async (headers: Record<string, string>, of = app) =>
    (await send(of, '/mcp', 'server/discover', {}, { headers })).status

  it('a public service accepts its own host, and https pages', async () => {
    expect(await status({ host: 'cards.example:443' })).toBe(200)
    expect(await status({ host: 'cards.example.evil.example' })).toBe(403)
    expect(await status({ host: 'localhost' })).toBe(403)
    expect(await status({ origin: 'https://client.example' })).toBe(200)
    for (const origin of ['http://client.example', 'null', 'file://', 'https://']) {
      expect(await status({ origin }), origin).toBe(403)
    }
  })

  it('a page may read the response, and send its request after a preflight', async () => {
    const headers = { host: 'cards.example', origin: 'https://client.example' }
    const asked = await app.app.inject({ method: 'OPTIONS', url: '/mcp', headers })
    expect(asked.statusCode).toBe(204)
    expect(asked.headers['access-control-allow-methods']).toBe('POST')
    expect(asked.headers['access-control-allow-headers']).toMatch(/Authorization.*Mcp-Method/)
    const refused = await post(app, '/mcp', message('tools/list'), {
      headers,
      token: 'x'.repeat(43),
    })
    expect(refused.status).toBe(401)
    expect(refused.headers['access-control-allow-origin']).toBe('https://client.example')
    expect(refused.headers['access-control-allow-credentials']).toBeUndefined()
    expect(refused.headers['access-control-expose-headers']).toMatch(/WWW-Authenticate/)
  })

  it('a service on this computer accepts only hosts and pages of this computer', async () => {
    const local = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { PUBLIC_URL: 'http://localhost:3000' },
    })
    expect(await status({ host: 'localhost:3000' }, local)).toBe(200)
    expect(await status({ host: '127.0.0.1:8080' }, local)).toBe(200)
    expect(await status({ host: 'rebound.example:3000' }, local)).toBe(403)
    const host = 'localhost:3000'
    expect(await status({ host, origin: 'http://localhost:6274' }, local)).toBe(200)
    expect(await status({ host, origin: 'https://evil.example' }, local)).toBe(403)
  })
})

describe('limits of /mcp', () => {
  it('an address has a limit: then a tool says when to come back, and other methods get 429', async () => {
    const limited = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { MCP_PUBLIC_RATE: '2', TRUST_PROXY: '127.0.0.1' },
      rateLimitTime: () => 1_700_000_000_000,
    })
    const ask = (from: string) => ({ headers: { 'x-forwarded-for': from } })
    const series = (from: string) => call(limited, '/mcp', 'list_series', {}, ask(from))
    expect((await series('203.0.113.1')).isError).toBeUndefined()
    const listed = await send(limited, '/mcp', 'tools/list', {}, ask('203.0.113.1'))
    expect([listed.status, listed.headers['x-ratelimit-remaining']]).toEqual([200, '0'])
    const refused = await series('203.0.113.1')
    expect(refused.isError).toBe(true)
    expect(refused.object.error.message).toMatch(/2 a minute are possible. Try again in 40 s/)
    const other = await send(limited, '/mcp', 'tools/list', {}, ask('203.0.113.1'))
    expect([other.status, other.headers['retry-after']]).toEqual([429, '40'])
    expect((await series('203.0.113.2')).isError).toBeUndefined()
  })

  it('MCP_PUBLIC_RATE=0 asks everyone to sign in', async () => {
    const closed = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { MCP_PUBLIC_RATE: '0' },
    })
    const { status, headers } = await send(closed, '/mcp', 'tools/list')
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toBe(
      `Bearer scope="catalog:read", resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource/mcp"`,
    )
  })
})
