import { request } from 'undici'
import { expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { call, post as postMessage, send } from '../../test/fixtures/mcp.ts'
import { allow, errorOf, exchange, post, refresh, register } from '../../test/fixtures/oauth.ts'
import { startService } from '../../test/process.ts'

/** The same service in another process: only the database is shared. */
async function otherProcess({ databaseUrl }: TestApp): Promise<Pick<TestApp, 'anyone'>> {
  const settings = {
    DATABASE_URL: databaseUrl,
    SANDBOX: 'true',
    PUBLIC_URL: 'https://cards.example',
    PROCESSES: '1',
  }
  const { port } = await (await startService(settings)).ready()
  const post: TestApp['anyone']['post'] = async (path, { payload = '', headers = {} } = {}) => {
    const isText = typeof payload === 'string'
    const response = await request(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: {
        host: 'cards.example',
        ...(isText ? {} : { 'content-type': 'application/json' }),
        ...(headers as Record<string, string>),
      },
      body: isText ? payload : JSON.stringify(payload),
    })
    const text = await response.body.text()
    const [status, sent] = [response.statusCode, response.headers as Record<string, string>]
    return { status, headers: sent, text, body: text ? JSON.parse(text) : undefined }
  }
  return { anyone: { post } as TestApp['anyone'] }
}

it('a program may send each request to another process, and a revoked token works in none', async () => {
  const app = await startTestApp({ template: 'product' })
  const other = (await otherProcess(app)) as TestApp
  const member = await app.member()
  const clientId = await register(other)
  const signIn = async () => {
    const code = await allow(member, clientId)
    const both = await Promise.all([exchange(other, clientId, code), exchange(app, clientId, code)])
    return { won: both.find(({ status }) => status === 200)!, both }
  }

  // If both processes exchange a code, one succeeds, and its tokens are revoked.
  const { won, both } = await signIn()
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 400])
  const useless = { token: won.body.access_token }
  for (const at of [app, other]) {
    expect((await send(at, '/mcp/seller', 'tools/list', {}, useless)).status).toBe(401)
  }

  const { body } = await exchange(other, clientId, await allow(member, clientId))
  const token = body.access_token
  const initialized = await postMessage(
    app,
    '/mcp/seller',
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'agent', version: '1' },
      },
    },
    { token },
  )
  expect(initialized.status).toBe(200)
  const { object } = await call(other, '/mcp/seller', 'get_account', {}, { token })
  expect(object.id).toBe(member.accountId)

  const pairs = await Promise.all(
    [app, other].map((at) => refresh(at, clientId, body.refresh_token)),
  )
  expect(pairs.map(({ status }) => status)).toEqual([200, 200])
  const tokens = [token, ...pairs.map((pair) => pair.body.access_token)]
  const statuses = (at: TestApp) =>
    Promise.all(
      tokens.map(async (token) => {
        return (await send(at, '/mcp/seller', 'tools/list', {}, { token })).status
      }),
    )
  expect([await statuses(app), await statuses(other)]).toEqual([
    [200, 200, 200],
    [200, 200, 200],
  ])
  await post(app, '/oauth/revoke', { token: tokens[1] })
  expect(await statuses(other)).toEqual([401, 401, 401])
  const refused = await refresh(other, clientId, pairs[0]!.body.refresh_token)
  expect(errorOf(refused)).toEqual([400, 'invalid_grant'])
})
