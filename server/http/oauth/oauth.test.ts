import { beforeAll, describe, expect, it } from 'vitest'
import { SCOPES as KEY_SCOPES } from '../../../dashboard/src/keys/scopes.ts'
import { buildApp } from '../../app.ts'
import { inTransaction } from '../../database/in-transaction.ts'
import { DatabaseUnavailable } from '../../database/unavailable.ts'
import { SCOPES, type Scope } from '../../keys/scopes.ts'
import { removeMember } from '../../members/members.ts'
import { hashToken } from '../../members/token.ts'
import { findAccess } from '../../oauth/access.ts'
import { createGrant, pruneOAuth } from '../../oauth/grants.ts'
import {
  PUBLIC_URL,
  type SignedInClient,
  startTestApp,
  type TestApp,
  type TestResponse,
} from '../../test/app.ts'
import { form, mailedToken, mailsTo } from '../../test/fixtures/members.ts'
import {
  ADDRESS,
  allow,
  allowDevice,
  allowing,
  authorizeUrl,
  connected,
  decide,
  errorOf,
  exchange,
  openStep,
  pollDevice,
  post,
  REDIRECT_URI,
  refresh,
  register,
  SELLER_SERVER,
  startDevice,
} from '../../test/fixtures/oauth.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { whileReplaced } from '../../test/while-replaced.ts'
import { ownPath } from '../sign-in/own-path.ts'

let app: TestApp
let time = Date.UTC(2026, 10, 22, 9)
beforeAll(async () => {
  app = await startTestApp({ rateLimitTime: () => time })
})

const isValid = async (token: string, at = app) =>
  (await findAccess(at.ctx, token, ADDRESS)) !== undefined
/** Moves the clock of the rate limits by an hour. */
const wait = () => {
  time += 3_600_000
}

/** The address of the program that a page about its wrong request links to. */
const wayBack = ({ text }: TestResponse) =>
  new URL(/href="(https:[^"]+)"/.exec(text)![1]!.replaceAll('&amp;', '&'))

describe('signing in through a program', () => {
  it('a member allows some of the scopes, and the program gets a token for them', async () => {
    const member = await app.member()
    const clientId = await register(app)
    const url = authorizeUrl(clientId, { scope: 'listings:read orders:read offline_access' })
    const anonymous = await app.anyone.get(url)
    expect(anonymous.status).toBe(303)
    const signIn = new URL(anonymous.headers.location!, `${PUBLIC_URL}/oauth/authorize`)
    expect([signIn.pathname, signIn.searchParams.get('next')]).toEqual(['/signin', url])

    const { headers } = await member.get(url)
    const step = new URL(headers.location!, `${PUBLIC_URL}/oauth/authorize`).pathname
    const page = await member.get(step)
    expect(page.status).toBe(200)
    for (const shown of ['Deck Doctor', 'program.example', 'names and addresses', 'Seller']) {
      expect(page.text).toContain(shown)
    }
    expect(page.text.match(/type="checkbox" name="[\w:]+" checked/g)).toHaveLength(2)
    expect(page.headers['content-security-policy']).not.toContain('form-action')
    const location = await decide(member, step, allowing(['listings:read', 'listings:write']))
    expect(location.origin + location.pathname).toBe(REDIRECT_URI)
    expect(location.searchParams.get('state')).toBe('state of the program')
    expect(location.searchParams.get('iss')).toBe(PUBLIC_URL)

    const code = location.searchParams.get('code')!
    const tokens = await exchange(app, clientId, code, {
      redirect_uri: REDIRECT_URI,
      resource: SELLER_SERVER,
    })
    expect(tokens.status).toBe(200)
    expect(tokens.headers['cache-control']).toBe('no-store')
    expect(tokens.body).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      scope: 'listings:read',
    })
    expect(await findAccess(app.ctx, tokens.body.access_token, ADDRESS)).toMatchObject({
      account: { id: member.accountId },
      scopes: ['listings:read'],
      audience: SELLER_SERVER,
      clientName: 'Deck Doctor',
    })
    const audit = '/operator/v1/audit?action=programAllowed'
    expect((await app.operator.get(audit)).body.data[0]).toMatchObject({
      actor: `member:${member.memberId}`,
      after: { program: 'Deck Doctor', client_id: clientId, scopes: ['listings:read'] },
    })
    // A decided request is over.
    expect((await member.get(step)).status).toBe(404)
    expect((await member.post(step, form(allowing(['listings:read'])))).status).toBe(404)
    const stored = await app.ctx.db`
      select t::text from oauth_tokens t union all select g::text from oauth_grants g
    `
    const secrets = [code, tokens.body.access_token, tokens.body.refresh_token]
    for (const secret of secrets) {
      expect(JSON.stringify(app.logged)).not.toContain(secret)
      expect(JSON.stringify(stored)).not.toContain(secret)
    }
  })

  it('a program that names no resource gets access to the shop, unless it could mean either tool server', async () => {
    const member = await app.member()
    const clientId = await register(app)
    const code = await allow(member, clientId, ['orders:read'], { resource: '' })
    const { body } = await exchange(app, clientId, code)
    expect(await findAccess(app.ctx, body.access_token, ADDRESS)).toMatchObject({
      audience: SELLER_SERVER,
    })
    const config = { ...app.ctx.config, mcpPublicRate: 0 }
    const refused = await whileReplaced(app.ctx, { config }, () =>
      member.get(authorizeUrl(clientId, { resource: '' })),
    )
    expect(wayBack(refused).searchParams.get('error')).toBe('invalid_target')
  })

  it('refusing, also twice with a double click, and allowing nothing, give no access; another member’s request is unknown', async () => {
    const member = await app.member()
    const clientId = await register(app)
    const step = await openStep(member, clientId)
    expect((await (await app.member()).get(step)).status).toBe(404)
    expect((await member.post(step, form({ decision: 'allow' }))).status).toBe(422)
    const foreign = form({ decision: 'allow' }, {}, 'https://evil.example')
    expect((await member.post(step, foreign)).status).toBe(403)
    const refuse = () => decide(member, step, { decision: 'refuse' })
    for (const { searchParams } of await Promise.all([refuse(), refuse()])) {
      expect(searchParams.get('error')).toBe('access_denied')
      expect(searchParams.get('iss')).toBe(PUBLIC_URL)
    }
    expect((await member.post(step, form(allowing(SCOPES)))).status).toBe(404)
  })

  it('the pages of a consent name the member who is signed in, and let another one sign in to the same request', async () => {
    const member = await app.member()
    const other = await app.member()
    const clientId = await register(app)
    const step = await openStep(member, clientId, { scope: 'orders:read' })
    const { user_code } = (await startDevice(app)).body
    const signInOf = (text: string) => {
      const [, query] = /href="[^"]*signin\?([^"]*)"/.exec(text)!
      return new URLSearchParams(query!.replaceAll('&amp;', '&'))
    }
    const device = `/device?user_code=${user_code}`
    const consent = await member.get(step)
    const pages = [
      [member, consent, signInOf(consent.text).get('next')],
      [member, await member.get(device), device],
      [other, await other.get(step), step],
      [other, await other.post(step, form(allowing(SCOPES))), step],
    ] as const
    for (const [{ email }, { text }, next] of pages) {
      expect(text).toContain(`signed in as <strong>${email}</strong>`)
      expect(text).not.toContain('has already been decided')
      expect(Object.fromEntries(signInOf(text))).toEqual({ switch: '1', next })
    }
    expect(pages.map(([, { status }]) => status)).toEqual([200, 200, 404, 404])
    const again = await other.get(signInOf(consent.text).get('next')!)
    const opened = new URL(again.headers.location!, `${PUBLIC_URL}/oauth/authorize`).pathname
    const location = await decide(other, opened, allowing(['orders:read']))
    expect(location.searchParams.get('state')).toBe('state of the program')
    const code = location.searchParams.get('code')!
    const { body } = await exchange(app, clientId, code, { redirect_uri: REDIRECT_URI })
    expect(await findAccess(app.ctx, body.access_token, ADDRESS)).toMatchObject({
      account: { id: other.accountId },
      scopes: ['orders:read'],
    })
  })

  it('a consent that a double click sends twice leads to the same code twice, within ten seconds and until it is used', async () => {
    const member = await app.member()
    const clientId = await register(app)
    const step = await openStep(member, clientId)
    const [first, second] = await Promise.all([decide(member, step), decide(member, step)])
    expect(second.href).toBe(first.href)
    const again = form(allowing(SCOPES))
    for (const gone of [
      await member.get(step),
      await member.post(step, form(allowing(['orders:read']))),
      await member.post(step, form({ decision: 'refuse' })),
      await (await app.member(member.accountId)).post(step, again),
    ]) {
      expect(gone.status).toBe(404)
    }
    const { body } = await exchange(app, clientId, first.searchParams.get('code')!)
    expect(await isValid(body.access_token)).toBe(true)
    expect((await member.post(step, again)).status).toBe(404)
    expect(await isValid(body.access_token)).toBe(true)

    const late = await openStep(member, clientId)
    await decide(member, late)
    await app.ctx.db`update oauth_tokens set expires_at = expires_at - interval '10 seconds'`
    expect((await member.post(late, again)).status).toBe(404)
  })

  it('allowing nothing shows the consent again with a message and the checkboxes as they were sent', async () => {
    const member = await app.member()
    const step = await openStep(member, await register(app))
    expect((await member.get(step)).text.match(/type="checkbox"[^>]* checked>/g)).toHaveLength(6)
    const { user_code } = (await startDevice(app)).body
    for (const refused of [
      await member.post(step, form({ decision: 'allow' })),
      await member.post('/device', form({ user_code, decision: 'allow' })),
    ]) {
      expect(refused.status).toBe(422)
      expect(refused.text).toContain('Choose at least one permission, or refuse.')
      expect(refused.text.match(/type="checkbox"/g)).toHaveLength(6)
      expect(refused.text).not.toContain(' checked')
    }
    const undecided = form({ user_code, 'orders:read': 'on' })
    const { text } = await member.post('/device', undecided)
    expect(text.match(/name="[\w:]+" checked/g)).toEqual(['name="orders:read" checked'])
  })

  it('a shop without API access can only refuse programs and the command line', async () => {
    const member = await app.member()
    const account = `/operator/v1/accounts/${member.accountId}`
    await app.operator.patch(account, { payload: { api_access: 'disabled' } })
    const step = await openStep(member, await register(app))
    const page = await member.get(step)
    expect(page.text).toContain('API access is not enabled')
    expect(page.text).not.toContain('value="allow"')
    const location = await decide(member, step)
    expect(location.searchParams.get('error')).toBe('access_denied')
    expect(location.searchParams.get('error_description')).toBe('The shop has no API access.')

    const { user_code, device_code } = (await startDevice(app)).body
    expect((await member.get(`/device?user_code=${user_code}`)).text).not.toContain('value="allow"')
    const decided = await member.post('/device', form({ user_code, ...allowing(SCOPES) }))
    expect(decided.text).toMatch(/Refused[\s\S]*API access is not enabled/)
    expect(errorOf(await pollDevice(app, device_code))).toEqual([400, 'access_denied'])
  })

  it('two computers that run the same program have separate access', async () => {
    const { member, clientId, accessToken } = await connected(app)
    const { body } = await exchange(app, clientId, await allow(member, clientId))
    await post(app, '/oauth/revoke', { token: body.refresh_token })
    expect(await isValid(accessToken)).toBe(true)
    expect(await isValid(body.access_token)).toBe(false)
  })

  it('a form of another site continues as a request that carries the session', async () => {
    const { headers, status } = await post(app, '/oauth/authorize', {
      client_id: 'a b',
      scope: 'x',
    })
    expect([status, headers.location]).toEqual([303, '../oauth/authorize?client_id=a+b&scope=x'])
  })

  it('only a member leaves a wrong request for the program, through a link with the error to a registered address', async () => {
    const member = await app.member()
    const clientId = await register(app)
    const wrong: [Record<string, string>, string][] = [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_mode: 'fragment' }, 'invalid_request'],
      [{ request: 'x' }, 'request_not_supported'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ code_challenge_method: '' }, 'invalid_request'],
      [{ code_challenge: 'short' }, 'invalid_request'],
      [{ code_challenge: '' }, 'invalid_request'],
      [{ state: 'a\0b' }, 'invalid_request'],
      [{ prompt: 'none' }, 'interaction_required'],
      [{ resource: `${SELLER_SERVER}/` }, 'invalid_target'],
      [{ resource: `${PUBLIC_URL}/v1` }, 'invalid_target'],
      [{ resource: `${PUBLIC_URL}/tools` }, 'invalid_target'],
      [{ resource: PUBLIC_URL }, 'invalid_target'],
      [{ scope: 'admin' }, 'invalid_scope'],
      [{ resource: `${PUBLIC_URL}/mcp`, scope: 'orders:read' }, 'invalid_scope'],
    ]
    for (const [changes, error] of wrong) {
      const url = authorizeUrl(clientId, changes)
      const anonymous = await app.anyone.get(url)
      expect(anonymous.status).toBe(303)
      expect(anonymous.headers.location).toMatch(/^\.\.\/signin\?next=/)
      const page = await member.get(url)
      expect([page.status, page.headers.location], JSON.stringify(changes)).toEqual([
        400,
        undefined,
      ])
      expect(page.text).toContain('Go back to program.example')
      const target = wayBack(page)
      expect(target.origin + target.pathname).toBe(REDIRECT_URI)
      expect(target.searchParams.get('error'), JSON.stringify(changes)).toBe(error)
      expect(target.searchParams.get('iss')).toBe(PUBLIC_URL)
    }
    wait()
    for (const url of [
      authorizeUrl(clientId, { redirect_uri: '' }),
      authorizeUrl(clientId, { redirect_uri: 'https://evil.example/callback' }),
      authorizeUrl(clientId, { client_id: 'x'.repeat(43) }),
      authorizeUrl('cardstall-cli'),
      authorizeUrl('\0'),
      `${authorizeUrl(clientId)}&redirect_uri=${encodeURIComponent('https://evil.example/')}`,
      authorizeUrl(clientId, { state: 'x'.repeat(4_000) }),
      '/oauth/authorize',
    ]) {
      const { status, headers } = await app.anyone.get(url)
      expect([status, headers.location], url).toEqual([400, undefined])
    }
  })

  it('a request is refused as too long if a sign-in as another member could not lead back to it', async () => {
    const clientId = await register(app)
    const member = await app.member()
    // The raw address may have characters that are longer in the address of the link.
    const sized = (length: number) =>
      authorizeUrl(clientId, { state: 'x' }).replace('state=x', `state=${'/'.repeat(length)}`)
    const fitting = await member.get(sized(900))
    const step = new URL(fitting.headers.location!, `${PUBLIC_URL}/oauth/authorize`)
    const { text } = await member.get(step.pathname)
    const [, link] = /href="([^"]+switch=1)"/.exec(text)!
    const next = new URL(link!.replaceAll('&amp;', '&'), PUBLIC_URL).searchParams.get('next')!
    expect(ownPath(next, PUBLIC_URL)).toBe(next)
    const refused = await member.get(sized(2_000))
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('The request is too long.')
  })
})

describe('tokens', () => {
  it('an outage is a 503, never an error that ends the program’s access', async () => {
    const { clientId, refreshToken } = await connected(app)
    const limiter = { count: () => Promise.reject(new DatabaseUnavailable('down')) }
    const failed = await whileReplaced(app.ctx, { limiter }, () =>
      refresh(app, clientId, refreshToken),
    )
    expect(errorOf(failed)).toEqual([503, 'temporarily_unavailable'])
    expect(failed.headers['retry-after']).toBeDefined()
    expect(app.logged.map(({ message }) => message)).toContain('the database is unavailable')
    expect((await refresh(app, clientId, refreshToken)).status).toBe(200)
  })

  it('one of six concurrent exchanges of a code succeeds, and the replays end its grant', async () => {
    const member = await app.member()
    const clientId = await register(app)
    const code = await allow(member, clientId)
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => exchange(app, clientId, code)),
    )
    const statuses = responses.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([200, 400, 400, 400, 400, 400])
    const { body } = responses.find(({ status }) => status === 200)!
    expect(await isValid(body.access_token)).toBe(false)
    expect(errorOf(await refresh(app, clientId, body.refresh_token))).toEqual([
      400,
      'invalid_grant',
    ])
  })

  it('a code that is used again ends its access also after expired records were deleted', async () => {
    const member = await app.member()
    const clientId = await register(app)
    const code = await allow(member, clientId)
    const unused = await allow(member, clientId)
    const { body } = await exchange(app, clientId, code)
    await app.ctx.db`update oauth_tokens set expires_at = clock_timestamp() where kind = 'code'`
    await pruneOAuth(app.ctx)
    expect(await isValid(body.access_token)).toBe(true)
    expect(errorOf(await exchange(app, clientId, unused))).toEqual([400, 'invalid_grant'])
    expect(await isValid(body.access_token)).toBe(true)
    const replayed = await exchange(app, clientId, code)
    expect(errorOf(replayed)).toEqual([400, 'invalid_grant'])
    expect(replayed.body.error_description).toMatch(/was used before/)
    expect(await isValid(body.access_token)).toBe(false)
    expect(errorOf(await refresh(app, clientId, body.refresh_token))).toEqual([
      400,
      'invalid_grant',
    ])
  })

  it('a code works only with its client, address, resource and verifier, and before it expires', async () => {
    const member = await app.member()
    const clientId = await register(app)
    const code = await allow(member, clientId)
    const wrong: [Record<string, string>, string][] = [
      [{ client_id: await register(app) }, 'invalid_grant'],
      [{ code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
      [{ code_verifier: 'v' }, 'invalid_request'],
      [{ code_verifier: '' }, 'invalid_request'],
      [{ redirect_uri: `${REDIRECT_URI}/` }, 'invalid_grant'],
      [{ resource: `${PUBLIC_URL}/mcp` }, 'invalid_target'],
      [{ grant_type: 'password' }, 'unsupported_grant_type'],
      [{ client_id: '' }, 'invalid_request'],
    ]
    for (const [changes, error] of wrong) {
      expect(errorOf(await exchange(app, clientId, code, changes))).toEqual([400, error])
    }
    const secret = await exchange(app, clientId, code, { client_secret: 'x' })
    expect(errorOf(secret)).toEqual([401, 'invalid_client'])
    expect(secret.headers['www-authenticate']).toMatch(/^Basic /)
    await app.ctx.db`
      update oauth_tokens set expires_at = clock_timestamp() where kind = 'code' and used_at is null
    `
    expect(errorOf(await exchange(app, clientId, code))).toEqual([400, 'invalid_grant'])
  })

  it('codes, access tokens and refresh tokens work only for their own purpose', async () => {
    wait()
    const { member, clientId, accessToken, refreshToken } = await connected(app)
    const code = await allow(member, clientId)
    for (const refused of [
      await refresh(app, clientId, code),
      await refresh(app, clientId, accessToken),
      await exchange(app, clientId, accessToken),
      await exchange(app, clientId, refreshToken),
    ]) {
      expect(errorOf(refused)).toEqual([400, 'invalid_grant'])
    }
    expect(await isValid(code)).toBe(false)
    expect(await isValid(refreshToken)).toBe(false)
    expect(await isValid(accessToken)).toBe(true)
    expect((await exchange(app, clientId, code)).status).toBe(200)
  })

  it('a used refresh token works for ten minutes, and ends the grant after them', async () => {
    const { clientId, accessToken, refreshToken } = await connected(app, ['orders:read'])
    const first = await refresh(app, clientId, refreshToken, { resource: SELLER_SERVER })
    expect(first.body.scope).toBe('orders:read')
    const again = await refresh(app, clientId, refreshToken)
    expect(again.status).toBe(200)
    for (const token of [accessToken, first.body.access_token, again.body.access_token]) {
      expect(await isValid(token)).toBe(true)
    }
    const wider = await refresh(app, clientId, refreshToken, { scope: 'orders:write' })
    expect(errorOf(wider)).toEqual([400, 'invalid_scope'])
    const other = await refresh(app, await register(app), refreshToken)
    expect(errorOf(other)).toEqual([400, 'invalid_grant'])
    await app.ctx.db`
      update oauth_tokens
      set used_at = used_at - interval '10 minutes'
      where used_at is not null and kind = 'refresh'
    `
    expect(errorOf(await refresh(app, clientId, refreshToken))).toEqual([400, 'invalid_grant'])
    for (const token of [accessToken, first.body.access_token, again.body.access_token]) {
      expect(await isValid(token)).toBe(false)
    }
    const { refresh_token: last } = again.body
    expect(errorOf(await refresh(app, clientId, last))).toEqual([400, 'invalid_grant'])
  })

  it('a program that has 30 valid access tokens cannot refresh until one expires, but its replays end the access', async () => {
    const { member, clientId, refreshToken } = await connected(app)
    const responses: TestResponse[] = []
    for (let i = 0; i < 35; i++) responses.push(await refresh(app, clientId, refreshToken))
    const refused = responses.splice(29)
    expect(responses.map(({ status }) => status)).toEqual(Array(29).fill(200))
    for (const response of refused) {
      expect(errorOf(response)).toEqual([429, 'temporarily_unavailable'])
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(3_500)
    }
    const { access_token: access, refresh_token: last } = responses.at(-1)!.body
    expect(await isValid(access)).toBe(true)

    const { db } = app.ctx
    await db`
      update oauth_tokens
      set expires_at = clock_timestamp()
      where token_hash = ${hashToken(responses[0]!.body.access_token)}
    `
    const next = await refresh(app, clientId, last)
    expect(next.status).toBe(200)
    expect((await refresh(app, clientId, next.body.refresh_token)).status).toBe(429)
    const [tokens] = await db`
      select count(*)
      from oauth_tokens t
      join oauth_grants g on g.id = t.grant_id
      where g.member_id = ${member.memberId} and t.kind <> 'code'
    `
    expect(tokens).toEqual({ count: 62 })
    await db`update oauth_tokens set used_at = used_at - interval '10 minutes'`
    expect(errorOf(await refresh(app, clientId, refreshToken))).toEqual([400, 'invalid_grant'])
    expect(await isValid(next.body.access_token)).toBe(false)
  })

  it('a refresh for some of the scopes returns an access token with these only; the next has all again', async () => {
    const { clientId, refreshToken } = await connected(app, ['listings:read', 'orders:read'])
    const scopesOf = async ({ body }: Awaited<ReturnType<typeof refresh>>) => {
      const access = await findAccess(app.ctx, body.access_token, ADDRESS)
      return [body.scope, access?.scopes]
    }
    const scope = 'orders:read offline_access orders:read'
    const narrow = await refresh(app, clientId, refreshToken, { scope })
    expect(await scopesOf(narrow)).toEqual(['orders:read', ['orders:read']])
    const next = await refresh(app, clientId, narrow.body.refresh_token)
    const all = ['listings:read', 'orders:read']
    expect(await scopesOf(next)).toEqual([all.join(' '), all])
    const asked = await refresh(app, clientId, narrow.body.refresh_token, {
      scope: 'listings:read',
    })
    expect(await scopesOf(asked)).toEqual(['listings:read', ['listings:read']])
    expect(await scopesOf(narrow)).toEqual(['orders:read', ['orders:read']])
  })

  it('access lasts 30 days without a refresh, and at most a year', async () => {
    const { clientId, refreshToken } = await connected(app)
    const [lifetimes] = await app.ctx.db<{ days: number; most: number; hours: number }[]>`
      select
        extract(day from g.expires_at - clock_timestamp())::int as days,
        extract(day from g.ends_at - clock_timestamp())::int as most,
        extract(hour from t.expires_at - clock_timestamp() + interval '1 minute')::int as hours
      from oauth_grants g
      join oauth_tokens t on t.grant_id = g.id and t.kind = 'access'
      where g.client_id = ${clientId}
    `
    expect(lifetimes).toEqual({ days: 29, most: 364, hours: 1 })
    await app.ctx.db`
      update oauth_grants
      set ends_at = clock_timestamp() + interval '30 minutes'
      where client_id = ${clientId}
    `
    const { body } = await refresh(app, clientId, refreshToken)
    const rows = await app.ctx.db`
      select 1
      from oauth_grants g
      join oauth_tokens t on t.grant_id = g.id
      where g.client_id = ${clientId} and t.expires_at = g.ends_at
    `
    expect(rows).toHaveLength(2)
    await app.ctx.db`update oauth_tokens set expires_at = clock_timestamp()`
    expect(await isValid(body.access_token)).toBe(false)
    const expired = await refresh(app, clientId, body.refresh_token)
    expect(errorOf(expired)).toEqual([400, 'invalid_grant'])
  })

  it('a token that another process revokes is refused at once', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl })
    const { accessToken, refreshToken, clientId } = await connected(app)
    expect(await isValid(accessToken, other)).toBe(true)
    const foreign = { token: accessToken, client_id: await register(app) }
    expect((await post(other, '/oauth/revoke', foreign)).status).toBe(200)
    expect(await isValid(accessToken)).toBe(true)
    expect(
      (await post(other, '/oauth/revoke', { token: accessToken, client_id: clientId })).status,
    ).toBe(200)
    expect(await isValid(accessToken)).toBe(false)
    expect(errorOf(await refresh(app, clientId, refreshToken))).toEqual([400, 'invalid_grant'])
  })

  it('revocation responds with 200 to every body up to 32 KiB', async () => {
    for (const sent of [
      { payload: '' },
      { payload: 'token=x' },
      { payload: `token=${'x'.repeat(32 * 1024 - 6)}` },
      { payload: '{"token": 1}', headers: { 'content-type': 'application/json' } },
      { payload: '\0%zz', headers: { 'content-type': 'text/plain' } },
    ]) {
      expect((await app.anyone.post('/oauth/revoke', sent)).status).toBe(200)
    }
  })

  it('a body over 32 KiB is 413 at every endpoint, revocation included', async () => {
    const fields = { token: 'x'.repeat(32 * 1024) }
    for (const path of ['authorize', 'device', 'register', 'revoke', 'token']) {
      expect(errorOf(await post(app, `/oauth/${path}`, fields)), path).toEqual([
        413,
        'invalid_request',
      ])
    }
  })

  it('a token is not an API key, and an API key is not a token', async () => {
    const { accessToken } = await connected(app)
    expect((await app.withKey(accessToken).get('/v1/me')).status).toBe(401)
    const { key } = await app.seller()
    expect(await findAccess(app.ctx, key, ADDRESS)).toBeUndefined()
  })

  it('expired OAuth records and unused clients are deleted', async () => {
    const { accessToken, clientId } = await connected(app)
    const unused = await register(app)
    await app.ctx.db`update oauth_clients set keep_until = clock_timestamp()`
    await pruneOAuth(app.ctx)
    const clients = async () =>
      (await app.ctx.db<{ id: string }[]>`select id from oauth_clients`).map(({ id }) => id)
    expect(await clients()).toContain(clientId)
    expect(await clients()).not.toContain(unused)
    // A program that gets this error registers again.
    for (const client of [unused, 'nobody']) {
      expect(errorOf(await refresh(app, client, 'r'.repeat(43)))).toEqual([401, 'invalid_client'])
    }
    expect(await isValid(accessToken)).toBe(true)
    await app.ctx.db`update oauth_grants set expires_at = clock_timestamp()`
    await pruneOAuth(app.ctx)
    expect(await isValid(accessToken)).toBe(false)
    expect(await app.ctx.db`select 1 from oauth_tokens`).toHaveLength(0)
    // A client is kept for 30 days after its last grant.
    expect(await clients()).toContain(clientId)
  })

  it('a client whose consent page is open is not deleted', async () => {
    const member = await app.member()
    const clientId = await register(app)
    await app.ctx.db`update oauth_clients set keep_until = clock_timestamp()`
    const step = await openStep(member, clientId)
    await pruneOAuth(app.ctx)
    await decide(member, step)
    expect((await member.get(authorizeUrl(clientId))).status).toBe(303)
  })

  it.each(['a member is removed', 'an account is closed'])(
    'a client whose last access ended because %s is kept for 30 days',
    async (cause) => {
      const { member, clientId } = await connected(app)
      await app.ctx.db`update oauth_clients set keep_until = clock_timestamp()`
      const account = `/operator/v1/accounts/${member.accountId}`
      const ended =
        cause === 'a member is removed'
          ? await app.operator.delete(`${account}/members/${member.memberId}`)
          : await app.operator.post(`${account}/close`)
      expect(ended.status).toBeLessThan(300)
      await pruneOAuth(app.ctx)
      const [client] = await app.ctx.db`
        select
        from oauth_clients
        where id = ${clientId} and keep_until > clock_timestamp() + interval '29 days'
      `
      expect(client).toBeDefined()
    },
  )
})

describe('requests of programs', () => {
  it('discovery leads from each tool server to every endpoint', async () => {
    for (const [path, scopes] of [
      ['/mcp', 1],
      ['/mcp/seller', 6],
    ] as const) {
      const url = `/.well-known/oauth-protected-resource${path}`
      const { body, headers } = await app.anyone.get(url)
      expect(body).toMatchObject({
        resource: PUBLIC_URL + path,
        authorization_servers: [PUBLIC_URL],
        bearer_methods_supported: ['header'],
      })
      expect(body.scopes_supported).toHaveLength(scopes)
      expect(headers['access-control-allow-origin']).toBe('*')
    }
    const { body } = await app.anyone.get('/.well-known/oauth-authorization-server')
    expect(body).toMatchObject({
      issuer: PUBLIC_URL,
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
      token_endpoint_auth_methods_supported: ['none'],
      registration_endpoint: `${PUBLIC_URL}/oauth/register`,
      revocation_endpoint: `${PUBLIC_URL}/oauth/revoke`,
      device_authorization_endpoint: `${PUBLIC_URL}/oauth/device`,
    })
    expect((await app.anyone.get('/.well-known/openid-configuration')).body).toEqual(body)
    const keys = await app.anyone.get('/oauth/jwks')
    expect(keys.body.keys).toEqual([
      expect.objectContaining({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' }),
    ])
    expect(keys.body.keys[0]).not.toHaveProperty('d')
  })

  it('if PUBLIC_URL has a path, discovery works with and without it, and sign-in leads back', async () => {
    const publicUrl = 'https://cards.example/market'
    const proxied = await buildApp({ ...app.ctx, config: { ...app.ctx.config, publicUrl } })
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      for (const path of [name, `${name}/market`]) {
        const { body } = await proxied.inject(`/.well-known/${path}`)
        expect(JSON.parse(body).token_endpoint, path).toBe(`${publicUrl}/oauth/token`)
      }
    }
    const { body } = await proxied.inject('/.well-known/oauth-protected-resource/market/mcp/seller')
    expect(JSON.parse(body).resource).toBe(`${publicUrl}/mcp/seller`)
    const { headers } = await proxied.inject('/device')
    expect(headers.location).toBe(`./signin?${new URLSearchParams({ next: '/market/device' })}`)
    await proxied.close()
  })

  it('hostile OAuth bodies get a 4xx response, and nothing is logged as an error', async () => {
    wait()
    const before = app.logged.filter(({ level }) => level === 'error').length
    const bodies = ['', 'a', '[]', '[['.repeat(5_000), '{"redirect_uris":{}}', 'a=1&a=2', '\0=%ff']
    const types = ['application/json', 'application/x-www-form-urlencoded', 'text/plain']
    for (const path of ['/oauth/token', '/oauth/register', '/oauth/device', '/device']) {
      for (const type of types) {
        for (const payload of [...bodies, 'x'.repeat(64 * 1024)]) {
          const { status } = await app.anyone.post(path, {
            payload,
            headers: { 'content-type': type },
          })
          expect(status, `${path} ${type} ${payload.slice(0, 20)}`).toBeGreaterThanOrEqual(400)
          expect(status, `${path} ${type} ${payload.slice(0, 20)}`).toBeLessThan(500)
        }
      }
    }
    expect(app.logged.filter(({ level }) => level === 'error')).toHaveLength(before)
  })

  it('a program that sends JSON in place of a form gets 400, whatever its fields are', async () => {
    wait()
    for (const [path, payload] of [
      ['/oauth/authorize', { state: { toString: 1 } }],
      ['/oauth/device', { client_id: 'cardstall-cli', scope: 5 }],
      ['/oauth/token', { grant_type: 'refresh_token', scope: 5 }],
    ] as const) {
      const { status, body } = await app.anyone.post(path, { payload })
      expect([status, body.error_description], path).toEqual([400, 'The body must be a form.'])
    }
  })

  it('an error_description has only the characters that RFC 6749 allows', async () => {
    wait()
    const unknown = { grant_type: 'refresh_token', client_id: 'cardstall-cli', refresh_token: 'x' }
    for (const payload of ['€"=1&€"=2', new URLSearchParams(unknown).toString()]) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const { body } = await app.anyone.post('/oauth/token', { payload, headers })
      expect(body.error_description).toMatch(/^[ !#-[\]-~]+$/)
    }
  })

  it.each([
    ['authorize', 60, 400, () => app.anyone.get('/oauth/authorize')],
    ['device', 20, 200, () => startDevice(app)],
    [
      'register',
      20,
      201,
      () => app.anyone.post('/oauth/register', { payload: { redirect_uris: [REDIRECT_URI] } }),
    ],
    ['revoke', 300, 200, () => post(app, '/oauth/revoke', { token: 'x' })],
  ])(
    'the limit of requests to /oauth/%s is %i for a client address',
    async (_, max, admitted, send) => {
      wait()
      for (let i = 0; i < max; i++) expect((await send()).status).toBe(admitted)
      const refused = await send()
      expect(refused.status).toBe(429)
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      wait()
      expect((await send()).status).toBe(admitted)
    },
  )

  it('outside the sandbox, programs cannot sign in over plain http', async () => {
    const { status } = await app.anyone.get('/oauth/authorize')
    expect(status).not.toBe(404)
    const config = { ...app.ctx.config, sandbox: false, publicUrl: 'http://cards.example' }
    const plain = await buildApp({ ...app.ctx, config })
    for (const url of ['/.well-known/oauth-authorization-server', '/oauth/authorize', '/device']) {
      expect((await plain.inject({ url })).statusCode, url).toBe(404)
    }
    const token = await plain.inject({ method: 'POST', url: '/oauth/token' })
    expect(token.statusCode).toBe(404)
    await plain.close()
  })
})

describe('the permissions that a member reads', () => {
  /** The scopes of operations whose response has a buyer. */
  async function scopesWithBuyers(): Promise<Set<string>> {
    const found = new Set<string>()
    for (const path of ['/openapi.json', '/tools/openapi.json']) {
      const { components, paths } = (await app.anyone.get(path)).body
      const resolve = (_: string, value: { $ref?: string } | null) =>
        value?.$ref ? components.schemas[value.$ref.split('/').at(-1)!] : value
      const operations = Object.values<object>(paths).flatMap((item) => Object.values(item))
      for (const { description, responses } of operations) {
        const [, scope] = /Scope: `([\w:]+)`\.$/.exec(description) ?? []
        const schemas = JSON.stringify(responses, resolve)
        if (scope && /"(buyer|buyer_name|delivery_address)":/.test(schemas)) found.add(scope)
      }
    }
    return found
  }

  it('every permission that includes buyers’ personal data says so, to a member who allows a program or creates a key', async () => {
    const scopes = await scopesWithBuyers()
    expect(scopes.size).toBeGreaterThan(1)
    const { body } = await startDevice(app)
    const member = await app.member()
    const page = await member.get(`/device?user_code=${body.user_code}`)
    const warning = 'names and addresses'
    const shownFor = (scope: Scope) =>
      new RegExp(`name="${scope}"[^<]*<span>([^<]*)`).exec(page.text)![1]!
    expect(new Set(SCOPES.filter((scope) => shownFor(scope).includes(warning)))).toEqual(scopes)
    const ofKeys = KEY_SCOPES.filter(({ help }) => help?.includes(warning))
    expect(new Set(ofKeys.map(({ value }) => value))).toEqual(scopes)
  })
})

describe('device login', () => {
  const start = (fields?: Record<string, string>) => startDevice(app, fields)
  const poll = (deviceCode: string) => pollDevice(app, deviceCode)
  /** Sets the time of the last poll. */
  const polledAgo = (deviceCode: string, seconds: number) => app.ctx.db`
    update oauth_devices
    set polled_at = clock_timestamp() - make_interval(secs => ${seconds})
    where device_hash = sha256(${deviceCode}::bytea)
  `

  it('a member types the code, allows some scopes, and the device gets its token once', async () => {
    wait()
    const { body } = await start({ scope: 'orders:read listings:read' })
    expect(body).toMatchObject({
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: `${PUBLIC_URL}/device`,
      expires_in: 900,
      interval: 5,
    })
    expect(errorOf(await poll(body.device_code))).toEqual([400, 'authorization_pending'])
    await polledAgo(body.device_code, 0)
    expect(errorOf(await poll(body.device_code))).toEqual([400, 'slow_down'])
    await polledAgo(body.device_code, 5)
    // The interval has grown to ten seconds.
    expect(errorOf(await poll(body.device_code))).toEqual([400, 'slow_down'])

    const path = `/device?user_code=${body.user_code.toLowerCase().replace('-', '')}`
    const anonymous = await app.anyone.get(path)
    expect(anonymous.headers.location).toBe(`./signin?${new URLSearchParams({ next: path })}`)
    const member = await app.member()
    expect((await member.get('/device')).text).toContain('Code that the terminal shows')
    const page = await member.get(path)
    expect(page.text.match(/type="checkbox" name="[\w:]+" checked/g)).toHaveLength(2)
    const decision = { user_code: body.user_code, ...allowing(['orders:read', 'orders:write']) }
    const undecided = form({ user_code: body.user_code })
    expect((await member.post('/device', undecided)).status).toBe(422)
    expect((await member.post('/device', form(decision))).status).toBe(200)
    expect((await member.post('/device', form(decision))).status).toBe(422)

    await polledAgo(body.device_code, 15)
    const responses = await Promise.all([1, 2, 3].map(() => poll(body.device_code)))
    const issued = responses.filter(({ status }) => status === 200)
    expect(issued).toHaveLength(1)
    expect(issued[0]!.body.scope).toBe('orders:read')
    expect(await findAccess(app.ctx, issued[0]!.body.access_token, ADDRESS)).toMatchObject({
      account: { id: member.accountId },
      audience: `${PUBLIC_URL}/tools`,
    })
  })

  it('a device login ends when it is refused or expires, and only the command line can begin one', async () => {
    wait()
    const { body: refused } = await start()
    const member = await app.member()
    await member.post('/device', form({ user_code: refused.user_code, decision: 'refuse' }))
    expect(errorOf(await poll(refused.device_code))).toEqual([400, 'access_denied'])
    const { body: late } = await start()
    await app.ctx.db`update oauth_devices set expires_at = clock_timestamp()`
    expect(errorOf(await poll(late.device_code))).toEqual([400, 'expired_token'])
    expect((await member.get(`/device?user_code=${late.user_code}`)).status).toBe(422)
    expect(errorOf(await poll('x'.repeat(43)))).toEqual([400, 'invalid_grant'])
    const other = await start({ client_id: await register(app) })
    expect(errorOf(other)).toEqual([400, 'unauthorized_client'])
    const elsewhere = await start({ resource: SELLER_SERVER })
    expect(errorOf(elsewhere)).toEqual([400, 'invalid_target'])
  })

  it('the page on which a member decides shows the code as the device does, however it was typed', async () => {
    wait()
    const { user_code: shown } = (await start()).body
    const member = await app.member()
    for (const typed of [shown.toLowerCase().replace('-', ''), ` ${shown.replace('-', ' ')}`]) {
      const page = await member.get(`/device?${new URLSearchParams({ user_code: typed })}`)
      expect(page.text).toContain(`the code <strong class="code">${shown}</strong>`)
    }
  })

  it('a member can try 20 device codes, then gets 429', async () => {
    const member = await app.member()
    for (let i = 0; i < 20; i++) await member.get('/device?user_code=BBBBBBBB')
    const refused = await member.get('/device?user_code=BBBBBBBB')
    expect([refused.status, refused.text]).toEqual([
      429,
      expect.stringMatching(/Too many codes\. Try again in \d+ s\./),
    ])
  })
})

describe('the key of the command line', () => {
  it('an allowed device exchanges its token once for a key with allowed scopes', async () => {
    wait()
    const member = await app.member()
    const token = await allowDevice(app, member, ['orders:read', 'listings:read'])
    const client = app.withKey(token)
    const create = (scopes: string[]) =>
      client.post('/tools/v1/key', { payload: { scopes, name: 'CLI on a laptop' } })
    expect((await create(['orders:write'])).status).toBe(403)
    expect((await create([])).status).toBe(422)
    const responses = await Promise.all([1, 2, 3].map(() => create(['orders:read'])))
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, 401, 401])
    const { body } = responses.find(({ status }) => status === 201)!
    expect(body.data).toMatchObject({ name: 'CLI on a laptop', scopes: ['orders:read'] })
    expect(await isValid(token)).toBe(false)

    const key = app.withKey(body.key)
    expect((await key.get('/v1/orders')).status).toBe(200)
    expect((await key.delete('/tools/v1/key')).status).toBe(204)
    expect((await key.get('/v1/orders')).status).toBe(401)
  })

  it('neither a token of another program nor an API key creates a key', async () => {
    const { accessToken } = await connected(app)
    const { key } = await app.seller()
    const payload = { scopes: ['orders:read'] }
    for (const credential of [accessToken, key, 'x']) {
      const { status } = await app.withKey(credential).post('/tools/v1/key', { payload })
      expect(status).toBe(401)
    }
    expect((await app.anyone.post('/tools/v1/key', { payload })).status).toBe(401)
  })
})

it.each([
  [
    'opens a request',
    async (member: SignedInClient) => {
      const url = authorizeUrl(await register(app))
      return () => member.get(url)
    },
  ],
  [
    'decides a request',
    async (member: SignedInClient) => {
      const step = await openStep(member, await register(app))
      return () => member.post(step, form(allowing(SCOPES)))
    },
  ],
  [
    'allows a device',
    async (member: SignedInClient) => {
      const { user_code } = (await startDevice(app)).body
      return () => member.post('/device', form({ user_code, ...allowing(SCOPES) }))
    },
  ],
])('a member who is removed while their browser %s gets 401', async (_, prepare) => {
  wait()
  const member = await app.member()
  const send = await prepare(member)
  let response: ReturnType<typeof send> | undefined
  await inTransaction(app.ctx, async (tx) => {
    await removeMember(tx, member.accountId, member.memberId)
    response = send()
    await untilLockWaiters(app.ctx.db)
  })
  expect((await response)!.status).toBe(401)
})

it('a member can be removed while their device exchanges its code, which is unknown then', async () => {
  wait()
  const member = await app.member()
  const { device_code, user_code } = (await startDevice(app)).body
  await member.post('/device', form({ user_code, ...allowing(SCOPES) }))
  let response: ReturnType<typeof pollDevice> | undefined
  await inTransaction(app.ctx, async (tx) => {
    await tx.db`select from oauth_grants where member_id = ${member.memberId} for update`
    response = pollDevice(app, device_code)
    await untilLockWaiters(app.ctx.db)
    await removeMember(tx, member.accountId, member.memberId)
  })
  expect(errorOf(await response!)).toEqual([400, 'invalid_grant'])
})

describe('connected programs', () => {
  it('the end of several grants locks their programs in the order of their ids', async () => {
    wait()
    const member = await app.member()
    const { db } = app.ctx
    await db`
      insert into oauth_clients (id, name, redirect_uris, keep_until)
      values ('ordered-b', 'B', '{}', now()), ('ordered-a', 'A', '{}', now())
    `
    for (const clientId of ['ordered-b', 'ordered-a']) {
      const grant = { memberId: member.memberId, clientId, clientName: clientId, host: null }
      await createGrant(app.ctx, { ...grant, audience: ADDRESS, scopes: [] }, 60)
    }
    let response: ReturnType<typeof member.delete> | undefined
    await inTransaction(app.ctx, async (tx) => {
      await tx.db`select from oauth_clients where id = 'ordered-a' for update`
      response = member.delete('/dashboard/api/programs')
      await untilLockWaiters(db)
      await tx.db`select from oauth_clients where id = 'ordered-b' for update nowait`
    })
    expect((await response!).status).toBe(204)
  })

  it('a member sees the programs of the shop, and ends one or all', async () => {
    wait()
    const { member, clientId, accessToken } = await connected(app, ['orders:read'])
    const { body: second } = await exchange(app, clientId, await allow(member, clientId))
    const { member: stranger } = await connected(app)
    const programs = '/dashboard/api/programs'
    await findAccess(app.ctx, accessToken, ADDRESS)
    const { data } = (await member.get(programs)).body
    expect(data).toHaveLength(2)
    expect(data[1]).toEqual({
      id: expect.any(Number),
      name: 'Deck Doctor',
      host: 'program.example',
      scopes: ['orders:read'],
      created_at: expect.any(String),
      last_used_at: expect.any(String),
    })
    expect(data[0].last_used_at).toBeNull()
    expect((await stranger.delete(`${programs}/${data[1].id}`)).status).toBe(404)
    expect((await member.delete(`${programs}/${data[1].id}`)).status).toBe(204)
    expect([await isValid(accessToken), await isValid(second.access_token)]).toEqual([false, true])
    expect((await member.delete(programs)).status).toBe(204)
    expect(await isValid(second.access_token)).toBe(false)
    expect((await member.get(programs)).body.data).toEqual([])
    expect((await stranger.get(programs)).body.data).toHaveLength(1)
  })

  it('a further program of a member who has connected 50 replaces the one that was used longest ago', async () => {
    wait()
    const { member, clientId, accessToken } = await connected(app)
    const { db } = app.ctx
    const copyGrant = (count: number) => db`
      insert into oauth_grants (
        member_id, client_id, client_name, audience, scopes, created_at, ends_at, expires_at
      )
      select member_id, client_id, client_name, audience, scopes, created_at, ends_at, expires_at
      from (select * from oauth_grants where member_id = ${member.memberId} limit 1) g
      cross join generate_series(1, ${count})
    `
    const idsOf = async () => {
      const { data } = (await member.get('/dashboard/api/programs')).body
      return (data as { id: number }[]).map(({ id }) => id).toReversed()
    }
    await copyGrant(49)
    expect(await isValid(accessToken)).toBe(true)
    const [used, unused, ...others] = await idsOf()
    expect(others).toHaveLength(48)
    const steps = [await openStep(member, clientId), await openStep(member, clientId)]
    await Promise.all(steps.map((step) => decide(member, step)))
    const ids = await idsOf()
    expect(ids).toHaveLength(50)
    expect(ids.slice(0, 48)).toEqual([used, ...others.slice(1)])
    expect(ids).not.toContain(unused)
    expect(await isValid(accessToken)).toBe(true)

    // A member who had more before keeps that number.
    await copyGrant(5)
    await allow(member, clientId)
    expect(await idsOf()).toHaveLength(55)
  })

  it('resetting a forgotten password ends the access of programs, unless the member keeps it', async () => {
    for (const [fields, isKept] of [
      [{ end_programs: 'on' }, false],
      [{}, true],
    ] as const) {
      wait()
      const { member, accessToken } = await connected(app)
      await app.ctx.db`update members set password_hash = 'x' where id = ${member.memberId}`
      const email = form({ email: member.email })
      expect((await app.anyone.post('/password/forgot', email)).status).toBe(200)
      const token = await mailedToken(app, member.email)
      const page = await app.anyone.get(`/password/reset?token=${token}`)
      expect(page.text).toContain('name="end_programs" checked')
      const choice = form({ token, password: 'bulbasaur likes the sun', ...fields })
      expect((await app.anyone.post('/password/reset', choice)).status).toBe(200)
      expect(await isValid(accessToken)).toBe(isKept)
    }
  })

  it('a password that the operator sets or removes ends the access of the member’s programs, and the member gets an e-mail about a new one', async () => {
    for (const password of ['bulbasaur likes the sun', null]) {
      const { member, accessToken } = await connected(app)
      await app.ctx.db`update members set password_hash = 'x' where id = ${member.memberId}`
      const account = `/operator/v1/accounts/${member.accountId}`
      expect((await app.operator.patch(account, { payload: { business: true } })).status).toBe(200)
      expect(await isValid(accessToken)).toBe(true)
      expect((await app.operator.patch(account, { payload: { password } })).status).toBe(200)
      expect(await isValid(accessToken)).toBe(false)
      const subjects = async () => (await mailsTo(app, member.email)).map(({ subject }) => subject)
      const expected = password === null ? [] : ['Your password was changed']
      await expect.poll(subjects).toEqual(expected)
    }
  })
})
