import { createHook } from 'node:async_hooks'
import { beforeAll, describe, expect, it } from 'vitest'
import { DatabaseUnavailable } from '../../database/unavailable.ts'
import { startTestApp, type TestApp, type TestResponse } from '../../test/app.ts'
import { cookieOf, form, PASSWORD, sellerWithPassword } from '../../test/fixtures/members.ts'
import { whileReplaced } from '../../test/while-replaced.ts'

let app: TestApp
let time = Date.UTC(2026, 10, 22, 9)
beforeAll(async () => {
  app = await startTestApp({ rateLimitTime: () => time })
})

/** Begins the next window of every limit. */
const wait = () => {
  time += 3_600_000
}

const WRONG = 'E-mail or password is wrong.'

const signIn = (fields: Record<string, string>, headers = {}): Promise<TestResponse> =>
  app.anyone.post('/signin', form(fields, headers))

const me = (cookie: string) => app.anyone.get('/dashboard/api/me', { headers: { cookie } })

describe('signing in', () => {
  it('the right password begins a session of the member’s account', async () => {
    wait()
    const { email, accountId } = await sellerWithPassword(app)
    const response = await signIn({ email: ` ${email.toUpperCase()} `, password: PASSWORD })
    expect(response.status).toBe(303)
    expect(response.headers.location).toBe('/dashboard')
    expect(response.headers['set-cookie']).toMatch(
      /^__Host-cardstall=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    )
    expect((await me(cookieOf(response))).body.data).toMatchObject({
      email,
      account: { id: accountId },
    })
  })

  it('over plain http the cookie has no Secure and no prefix', async () => {
    const http = await startTestApp({ settings: { PUBLIC_URL: 'http://localhost:3000' } })
    const { email } = await sellerWithPassword(http)
    const sent = form({ email, password: PASSWORD }, {}, 'http://localhost:3000')
    const { headers } = await http.anyone.post('/signin', sent)
    expect(headers['set-cookie']).toMatch(
      /^cardstall=[\w-]{43}; [^;]+; Path=\/; HttpOnly; SameSite=Lax$/,
    )
  })

  it('a password with an accent signs in from every keyboard, whatever code points it sends for the letter', async () => {
    wait()
    const { email, accountId } = await sellerWithPassword(app)
    const chosen = { password: 'pokémon center'.normalize('NFD') }
    await app.operator.patch(`/operator/v1/accounts/${accountId}`, { payload: chosen })
    const { status } = await signIn({ email, password: chosen.password.normalize('NFC') })
    expect(status).toBe(303)
  })

  it('an unknown address, a wrong password and a member without password get the same response', async () => {
    wait()
    const { email } = await sellerWithPassword(app)
    const { accountId } = await app.seller()
    const invited = { email: 'invited@shops.example' }
    await app.operator.post(`/operator/v1/accounts/${accountId}/invitations`, { payload: invited })
    const pages = []
    for (const address of [email, 'nobody@shops.example', invited.email]) {
      const { status, text, headers } = await signIn({ email: address, password: `${PASSWORD}!` })
      expect(status).toBe(401)
      expect(headers['set-cookie']).toBeUndefined()
      expect(text).toContain(WRONG)
      pages.push(text.replace(address, ''))
    }
    expect(new Set(pages).size).toBe(1)
  })

  it.each([
    ['no fields', {}],
    ['an empty password', { email: 'nobody@shops.example', password: '' }],
    ['NUL characters', { email: 'a\0@shops.example', password: '\0' }],
    ['the escape of a NUL', { email: '\\u0000', password: 'x' }],
    ['a long address', { email: `${'a'.repeat(5_000)}@shops.example`, password: 'x' }],
    ['SQL', { email: "' or true --", password: "' or true --" }],
    ['a long password', { email: 'nobody@shops.example', password: 'x'.repeat(10_000) }],
  ])('%s is a wrong sign-in', async (_, fields) => {
    wait()
    const { status, text } = await signIn(fields)
    expect(status).toBe(401)
    expect(text).toContain(WRONG)
  })

  it.each([
    ['JSON', { payload: '{}', headers: { 'content-type': 'application/json' } }, 415],
    ['a form in parts', { payload: 'x', headers: { 'content-type': 'multipart/form-data' } }, 415],
    ['malformed percent-encoding', { payload: 'email=%zz' }, 422],
    ['a form above 16 KiB', { payload: `password=${'x'.repeat(17_000)}` }, 413],
  ])(
    '%s gets a page with the problem',
    async (_, sent: { payload: string; headers?: object }, expected) => {
      wait()
      const { status, headers } = await app.anyone.post('/signin', {
        payload: sent.payload,
        headers: { ...form({}).headers, ...sent.headers },
      })
      expect(status).toBe(expected)
      expect(headers['content-type']).toMatch(/^text\/html/)
    },
  )

  it.each(['', 'https://evil.example', 'null'])(
    'a form with the Origin %j gets 403',
    async (origin) => {
      wait()
      const { email } = await sellerWithPassword(app)
      const sent = form({ email, password: PASSWORD }, { origin })
      for (const path of [
        '/signin',
        '/signout',
        '/password/forgot',
        '/password/reset',
        '/invitation',
        '/email',
      ]) {
        const { status, headers } = await app.anyone.post(path, sent)
        expect(status, path).toBe(403)
        expect(headers['set-cookie'], path).toBeUndefined()
      }
    },
  )

  it('a session that the browser had before is replaced, so that nobody can plant one', async () => {
    wait()
    const { email } = await sellerWithPassword(app)
    const first = cookieOf(await signIn({ email, password: PASSWORD }))
    const second = cookieOf(await signIn({ email, password: PASSWORD }, { cookie: first }))
    expect(second).not.toBe(first)
    expect((await me(first)).status).toBe(401)
    expect((await me(second)).status).toBe(200)
  })

  it('signing in leads to the page that was asked for, also if a session exists', async () => {
    wait()
    const { email } = await sellerWithPassword(app)
    const next = '/dashboard/orders?status=pending'
    const shown = await app.anyone.get(`/signin?${new URLSearchParams({ next: `${next}"<` })}`)
    expect(shown.text).toContain('value="/dashboard/orders?status=pending&quot;&lt;"')
    const response = await signIn({ email, password: PASSWORD, next })
    expect(response.headers.location).toBe(next)
    const headers = { cookie: cookieOf(response) }
    const again = await app.anyone.get(`/signin?${new URLSearchParams({ next })}`, { headers })
    expect(again).toMatchObject({ status: 303, headers: { location: next } })
    const foreign = await signIn({ email, password: PASSWORD, next: '//evil.example' })
    expect(foreign.headers.location).toBe('/dashboard')
  })

  it('signing out ends the session and removes the cookie', async () => {
    const { cookie } = await app.member()
    const response = await app.anyone.post('/signout', form({}, { cookie }))
    expect(response).toMatchObject({ status: 303, headers: { location: './signin' } })
    expect(response.headers['set-cookie']).toMatch(/^__Host-cardstall=; Max-Age=0; /)
    expect((await me(cookie)).status).toBe(401)
    expect((await app.anyone.post('/signout', form({}))).status).toBe(303)
  })

  it('signing out on a page of another member than the session’s says so, and ends no session', async () => {
    const { cookie, memberId } = await app.member()
    const signOut = (member: number) =>
      app.anyone.post('/signout', form({ member: String(member) }, { cookie }))
    const refused = await signOut((await app.member()).memberId)
    expect(refused.status).toBe(409)
    expect(refused.text).toContain('You have signed in as another member in another tab.')
    expect((await me(cookie)).status).toBe(200)
    expect((await signOut(memberId)).status).toBe(303)
    expect((await me(cookie)).status).toBe(401)
  })

  it('the sign-in pages have no script, send forms to our site only, and are never cached', async () => {
    for (const path of [
      '/signin',
      '/password/forgot',
      '/invitation',
      '/password/reset?token=x',
      '/email',
    ]) {
      const { headers, text } = await app.anyone.get(path)
      expect(headers['content-security-policy'], path).toContain("script-src 'none'")
      expect(headers['content-security-policy'], path).toContain("form-action 'self'")
      expect(headers['cache-control'], path).toBe('no-store')
      expect(text, path).not.toMatch(/<script|<style|style=/)
    }
    expect((await app.anyone.get('/signin/pages.css')).headers['content-type']).toMatch(
      /^text\/css/,
    )
  })

  it('the policy of the sign-in page lets Firefox, too, load the dashboard’s files in advance', async () => {
    const policy = (await app.anyone.get('/signin')).headers['content-security-policy']
    expect(policy).toMatch(/^default-src 'self';/)
    for (const directive of ['script-src', 'connect-src', 'object-src', 'frame-src']) {
      expect(policy).toContain(`${directive} 'none'`)
    }
  })

  it('the sign-in pages work without the public pages', async () => {
    const plain = await startTestApp({ settings: { PUBLIC_PAGES: 'false' } })
    expect((await plain.anyone.get('/signin')).status).toBe(200)
  })
})

describe('the limits of sign-in', () => {
  it('a client address has 5 failed attempts a minute, parallel ones included', async () => {
    wait()
    const { email } = await sellerWithPassword(app)
    const attempts = await Promise.all(
      Array.from({ length: 8 }, (_, i) => signIn({ email: `${i}@shops.example`, password: 'x' })),
    )
    expect(attempts.map(({ status }) => status).toSorted()).toEqual([
      401, 401, 401, 401, 401, 429, 429, 429,
    ])
    const refused = await signIn({ email, password: PASSWORD })
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toBe('60')
    expect(refused.text).toContain('Too many attempts. Try again in a minute.')
    time += 60_000
    expect((await signIn({ email, password: PASSWORD })).status).toBe(303)
  })

  it('an IPv6 /56 has four times the failed attempts of a client address, and one /64 can’t use them up', async () => {
    wait()
    const proxied = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { TRUST_PROXY: '127.0.0.1' },
      rateLimitTime: () => time,
    })
    const signInFrom = async (network: string, fields: Record<string, string>) => {
      const headers = { 'x-forwarded-for': `${network}::1` }
      return (await proxied.anyone.post('/signin', form(fields, headers))).status
    }
    // Each member gets fewer attempts than an e-mail address has, and has a password whose derivation takes no time.
    const members = await Promise.all(Array.from({ length: 6 }, () => sellerWithPassword(proxied)))
    const failures = async (network: string, attempts: number) => {
      const statuses = await Promise.all(
        Array.from({ length: attempts }, (_, i) =>
          signInFrom(network, { email: members[i % members.length]!.email, password: 'x' }),
        ),
      )
      return statuses.filter((status) => status === 401).length
    }
    const { email } = await sellerWithPassword(proxied)
    const right = { email, password: PASSWORD }
    expect(await failures('2001:db8:1:0', 30)).toBe(5)
    expect(await signInFrom('2001:db8:1:1', right)).toBe(303)
    for (const subnet of ['1', '2', 'ff']) expect(await failures(`2001:db8:1:${subnet}`, 6)).toBe(5)
    expect(await failures('2001:db8:1:3', 1)).toBe(0)
    expect(await signInFrom('2001:db8:1:100', right)).toBe(303)
  })

  it('an e-mail address has 10 failed attempts an hour from all addresses, whether or not it is known', async () => {
    const { email } = await sellerWithPassword(app)
    for (const address of [email, 'unknown@shops.example']) {
      wait()
      const statuses = []
      for (let i = 0; i < 11; i++) {
        if (i === 5) time += 60_000
        if (i === 10) time += 60_000
        const { status, text } = await signIn({ email: address, password: 'x' })
        statuses.push(status)
        if (status === 429) expect(text).toMatch(/Try again in 5\d minutes/)
      }
      expect(statuses, address).toEqual([...Array(10).fill(401), 429])
    }
    wait()
    expect((await signIn({ email, password: PASSWORD })).status).toBe(303)
  })

  it('every spelling of an e-mail address that signs in to it counts for the same limit', async () => {
    wait()
    const { email, accountId } = await sellerWithPassword(app)
    const spelled = email.replace('@', 'iσ@')
    await app.ctx.db`update members set email = ${spelled} where account_id = ${accountId}`
    const spellings = [spelled, spelled.replace('iσ', 'İΣ'), spelled.replace('iσ', 'IΣ')]
    const statuses = []
    for (let i = 0; i < 11; i++) {
      if (i % 5 === 0) time += 60_000
      statuses.push((await signIn({ email: spellings[i % 3]!, password: 'x' })).status)
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429])
    wait()
    const { status } = await signIn({ email: spellings[1]!, password: PASSWORD })
    expect(status).toBe(303)
  })

  it('a member whose address has a Punycode domain signs in with both forms of it, which count for the same limit', async () => {
    wait()
    const { email, accountId } = await sellerWithPassword(app)
    const [name] = email.split('@')
    const stored = `${name}@xn--mller-kva.example`
    const typed = `${name}@Müller.example`
    await app.ctx.db`update members set email = ${stored} where account_id = ${accountId}`
    const statuses = []
    for (let i = 0; i < 11; i++) {
      if (i % 5 === 0) time += 60_000
      statuses.push((await signIn({ email: i % 2 ? stored : typed, password: 'x' })).status)
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429])
    wait()
    const own = await signIn({ email: typed, password: PASSWORD })
    expect((await me(cookieOf(own))).body.data.account.id).toBe(accountId)
    // A member who has exactly the typed address is another person.
    const other = await sellerWithPassword(app)
    await app.ctx.db`update members set email = ${typed} where account_id = ${other.accountId}`
    wait()
    const theirs = await signIn({ email: typed, password: PASSWORD })
    expect((await me(cookieOf(theirs))).body.data.account.id).toBe(other.accountId)
  })

  it('a client address has 60 attempts a minute, of which those that meet an outage don’t count as failures', async () => {
    wait()
    const { email } = await sellerWithPassword(app)
    const right = { email, password: PASSWORD }
    const db = (() => {
      throw new DatabaseUnavailable('down')
    }) as never
    await whileReplaced(app.ctx, { db }, async () => {
      for (let i = 0; i < 60; i++) expect((await signIn(right)).status).toBe(503)
    })
    const { status, headers } = await signIn(right)
    expect([status, headers['retry-after']]).toEqual([429, '60'])
    time += 60_000
    expect((await signIn(right)).status).toBe(303)
  })

  it('successful sign-ins don’t count as failures', async () => {
    wait()
    const { email } = await sellerWithPassword(app)
    for (let i = 0; i < 12; i++) {
      expect((await signIn({ email, password: PASSWORD })).status).toBe(303)
    }
  })
})

describe('signing in without enumeration', () => {
  it('an unknown address derives a key like a known one', async () => {
    wait()
    const { email } = await sellerWithPassword(app)
    let derivations = 0
    const hook = createHook({
      init(_id, type) {
        if (type === 'SCRYPTREQUEST') derivations++
      },
    }).enable()
    // Both wait for the same two slots, so a response takes the time of one derivation, whoever signs in.
    const derivationsFor = async (address: string) => {
      derivations = 0
      await signIn({ email: address, password: 'x' })
      return derivations
    }
    expect(await derivationsFor(email)).toBe(1)
    expect(await derivationsFor('nobody@shops.example')).toBe(1)
    hook.disable()
  })
})

it('the audit log has the address of a failed sign-in if it is a member’s, and no other text, which can be a password', async () => {
  wait()
  const { email } = await sellerWithPassword(app)
  await signIn({ email: email.toUpperCase(), password: 'x' })
  await signIn({ email: 'nobody@shops.exampleSecret12345', password: 'x' })
  const { body } = await app.operator.get('/operator/v1/audit?action=signInFailed&per_page=2')
  expect(body.data.map(({ after }: { after: object }) => after)).toEqual([
    { address: '127.0.0.1' },
    { email, address: '127.0.0.1' },
  ])
})

it('neither passwords nor secrets of sessions are in the log', async () => {
  wait()
  const { email } = await sellerWithPassword(app)
  const cookie = cookieOf(await signIn({ email, password: PASSWORD }))
  const log = JSON.stringify(app.logged)
  expect(log).not.toContain(PASSWORD)
  expect(log).not.toContain(cookie.split('=')[1])
})
