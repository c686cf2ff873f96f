import { beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../../database/in-transaction.ts'
import { requestEmailChange, requestReset } from '../../members/sign-in.ts'
import { PUBLIC_URL, startTestApp, type TestApp } from '../../test/app.ts'
import {
  cookieOf,
  form,
  mailedToken,
  mailsTo,
  PASSWORD,
  sellerWithPassword,
} from '../../test/fixtures/members.ts'
import { untilLockWaiters, whileLocked } from '../../test/lock-waiters.ts'
import { until } from '../../test/until.ts'

let app: TestApp
let time = Date.UTC(2026, 10, 22, 9)
beforeAll(async () => {
  app = await startTestApp({ rateLimitTime: () => time })
})

const post = (path: string, fields: Record<string, string>, headers = {}) =>
  app.anyone.post(path, form(fields, headers))
const signIn = (email: string, password: string) => {
  time += 3_600_000
  return post('/signin', { email, password })
}
const forgot = (email: string, headers = {}) => {
  time += 3_600_000
  return post('/password/forgot', { email }, headers)
}
const invite = async (accountId: number, email: string) =>
  app.operator.post(`/operator/v1/accounts/${accountId}/invitations`, { payload: { email } })

/** A member as their session names them. */
async function memberWith(email: string) {
  const [row] = await app.ctx.db<{ id: number; accountId: number }[]>`
    select id, account_id as "accountId" from members where email = ${email}
  `
  return { ...row!, email, sessionId: 0 }
}

const NEW = 'bulbasaur likes the sun'
const GONE = 'This link no longer works.'

let people = 0
const someone = () => `someone-${++people}@shops.example`

describe('an invitation', () => {
  it('an invited person chooses a password and signs in to the shop', async () => {
    const { accountId } = await app.seller()
    const email = someone()
    expect((await invite(accountId, email)).status).toBe(202)
    const [mail] = await mailsTo(app, email)
    expect(mail!.text).toContain(`${PUBLIC_URL}/invitation?token=`)
    const token = await mailedToken(app, email)
    const members = `/operator/v1/accounts/${accountId}/members`
    expect((await app.operator.get(members)).body.data).toEqual([
      { id: expect.any(Number), email, status: 'invited', created_at: expect.any(String) },
    ])
    // A program that scans e-mail may open the link first.
    for (let i = 0; i < 2; i++) {
      const page = await app.anyone.get(`/invitation?token=${token}`)
      expect(page.status).toBe(200)
      expect(page.text).toContain(email)
    }
    expect((await post('/invitation', { token, password: NEW })).status).toBe(200)
    expect((await app.operator.get(members)).body.data[0].status).toBe('active')
    const cookie = cookieOf(await signIn(email, NEW))
    const { body } = await app.anyone.get('/dashboard/api/me', { headers: { cookie } })
    expect(body.data.account.id).toBe(accountId)
  })

  it('a person who chooses a password in a browser that is signed in to another shop can sign in to the new one', async () => {
    const other = await sellerWithPassword(app)
    const headers = { cookie: cookieOf(await signIn(other.email, PASSWORD)) }
    const { accountId } = await app.seller()
    const email = someone()
    await invite(accountId, email)
    const chosen = { token: await mailedToken(app, email), password: NEW }
    const saved = await post('/invitation', chosen, headers)
    const [, link] = /href="\.(\/signin\?[^"]*)"/.exec(saved.text)!
    const page = await app.anyone.get(link!, { headers })
    expect(page.status).toBe(200)
    expect(page.text).toContain(`You are signed in as <strong>${other.email}</strong>`)
    time += 3_600_000
    const cookie = cookieOf(await post('/signin', { email, password: NEW }, headers))
    const { body } = await app.anyone.get('/dashboard/api/me', { headers: { cookie } })
    expect(body.data.account.id).toBe(accountId)
    expect((await app.anyone.get('/dashboard/api/me', { headers })).status).toBe(401)
  })

  it('a further invitation of the same person replaces the link', async () => {
    const { accountId } = await app.seller()
    const email = someone()
    await invite(accountId, email)
    const first = await mailedToken(app, email)
    expect((await invite(accountId, email.toUpperCase())).status).toBe(202)
    const second = await mailedToken(app, email.toUpperCase())
    const { status, text } = await app.anyone.get(`/invitation?token=${first}`)
    expect(status).toBe(404)
    expect(text).toContain('a newer e-mail has replaced it')
    expect((await app.anyone.get(`/invitation?token=${second}`)).status).toBe(200)
  })

  it('the page of an expired invitation leads to the sign-in, or to another one', async () => {
    const { accountId } = await app.seller()
    const email = someone()
    await invite(accountId, email)
    const token = await mailedToken(app, email)
    await app.ctx.db`
      update member_tokens set expires_at = expires_at - interval '7 days'
      where member_id = (select id from members where email = ${email})
    `
    const { status, text } = await app.anyone.get(`/invitation?token=${token}`)
    expect(status).toBe(404)
    expect(text).toContain('If you have chosen a password, sign in. Otherwise ask the marketplace')
  })

  it('the page of a link that no longer works leads to the sign-in form in a browser that is signed in to another shop', async () => {
    const other = await sellerWithPassword(app)
    const headers = { cookie: cookieOf(await signIn(other.email, PASSWORD)) }
    for (const path of ['/invitation', '/password/reset', '/email']) {
      for (const gone of [
        await app.anyone.get(`${path}?token=used`, { headers }),
        await post(path, { token: 'used', password: NEW }, headers),
      ]) {
        const [, link] = /<a href="([^"]*)">Sign in/.exec(gone.text)!
        const { pathname, search } = new URL(link!)
        const page = await app.anyone.get(pathname + search, { headers })
        expect(page.status, path).toBe(200)
        expect(page.text).toContain(`You are signed in as <strong>${other.email}</strong>`)
      }
    }
  })

  it('a member of any shop can’t be invited again, and an unknown shop is 404', async () => {
    const { accountId, email } = await sellerWithPassword(app)
    for (const account of [accountId, (await app.seller()).accountId]) {
      const { status, body } = await invite(account, email.toUpperCase())
      expect(status).toBe(422)
      expect(body.error.fields).toEqual({ email: ['The email has already been taken.'] })
    }
    expect((await invite(999_999, someone())).status).toBe(404)
    expect((await invite(accountId, 'no address')).status).toBe(422)
  })

  it('the operator removes a member, whose sessions and links end; another shop’s member is 404', async () => {
    const { accountId } = await app.seller()
    const email = someone()
    await invite(accountId, email)
    const token = await mailedToken(app, email)
    const members = `/operator/v1/accounts/${accountId}/members`
    const [{ id }] = (await app.operator.get(members)).body.data
    const { accountId: other } = await app.seller()
    expect((await app.operator.delete(`/operator/v1/accounts/${other}/members/${id}`)).status).toBe(
      404,
    )
    expect((await app.operator.delete(`${members}/${id}`)).status).toBe(204)
    expect((await post('/invitation', { token, password: NEW })).status).toBe(404)
    expect((await app.operator.get(members)).body.data).toEqual([])
  })
})

describe('a forgotten password', () => {
  it('the pages about a forgotten password lead to the sign-in form in a browser that is signed in to another shop', async () => {
    const other = await sellerWithPassword(app)
    const headers = { cookie: cookieOf(await signIn(other.email, PASSWORD)) }
    for (const shown of [
      await app.anyone.get('/password/forgot', { headers }),
      await post('/password/forgot', { email: someone() }, headers),
    ]) {
      const [, link] = /<a href="([^"]*)">Sign in/.exec(shown.text)!
      const page = await app.anyone.get(link!, { headers })
      expect(page.status).toBe(200)
      expect(page.text).toContain(`You are signed in as <strong>${other.email}</strong>`)
    }
  })

  it('a new password replaces the former one, and ends every session and the link to a new address', async () => {
    const { email } = await sellerWithPassword(app)
    const cookie = cookieOf(await signIn(email, PASSWORD))
    const thief = someone()
    const change = { email: thief, password: PASSWORD }
    await requestEmailChange(app.ctx, await memberWith(email), change)
    const confirmation = await mailedToken(app, thief)
    await forgot(email.toUpperCase(), { host: 'evil.example', 'x-forwarded-host': 'evil.example' })
    const token = await mailedToken(app, email)
    const [mail] = await mailsTo(app, email)
    expect(mail!.text).toContain(`${PUBLIC_URL}/password/reset?token=`)
    expect(mail!.text).not.toContain('evil.example')
    expect((await post('/password/reset', { token, password: NEW })).status).toBe(200)
    expect((await post('/email', { token: confirmation })).status).toBe(404)
    expect((await app.anyone.get('/dashboard/api/me', { headers: { cookie } })).status).toBe(401)
    expect((await signIn(email, PASSWORD)).status).toBe(401)
    expect((await signIn(email, NEW)).status).toBe(303)
    const [changed] = await mailsTo(app, email)
    expect(changed!.subject).toBe('Your password was changed')
    expect(changed!.text).toContain('API keys and webhook endpoints still work')
  })

  it('a request for a new password gets the same response for an unknown address and for one without a password', async () => {
    const { accountId, email } = await sellerWithPassword(app)
    const invited = someone()
    await invite(accountId, invited)
    const pages = new Set()
    for (const address of [email, invited, 'nobody@shops.example', '', 'a\0b']) {
      const { status, text } = await forgot(address)
      expect(status).toBe(200)
      pages.add(text)
    }
    expect(pages.size).toBe(1)
    await mailedToken(app, email)
    expect(await mailsTo(app, invited)).toHaveLength(1)
  })

  it('the page after a request for a new password says where the e-mail is, in a sandbox that sends none', async () => {
    const smtp = { SMTP_URL: 'smtp://mail.example', MAIL_FROM: 'shop@cards.example' }
    for (const [settings, says] of [
      [{}, true],
      [smtp, false],
      [{ SANDBOX: 'false' }, false],
    ] as const) {
      const { anyone } = await startTestApp({ settings })
      const { status, text } = await anyone.post('/password/forgot', form({ email: someone() }))
      expect([status, text.includes('/operator/v1/sandbox/mail')]).toEqual([200, says])
    }
  })

  it('one of several parallel uses of a link succeeds', async () => {
    const { email } = await sellerWithPassword(app)
    await forgot(email)
    const token = await mailedToken(app, email)
    const uses = await Promise.all(
      Array.from({ length: 3 }, (_, i) =>
        post('/password/reset', { token, password: `${NEW} ${i}` }),
      ),
    )
    expect(uses.map(({ status }) => status).toSorted()).toEqual([200, 404, 404])
    const winner = uses.findIndex(({ status }) => status === 200)
    expect((await signIn(email, `${NEW} ${winner}`)).status).toBe(303)
  })

  it('a form with a new password that a double click sends twice gets the same page twice, within ten seconds', async () => {
    const { email } = await sellerWithPassword(app)
    await forgot(email)
    const token = await mailedToken(app, email)
    const send = (password: string) => post('/password/reset', { token, password })
    const pages = await Promise.all([send(NEW), send(NEW)])
    expect(pages.map(({ status }) => status)).toEqual([200, 200])
    expect(pages[1]!.text).toBe(pages[0]!.text)
    for (const gone of [
      await send(`${NEW} and the rain`),
      await send(''),
      await post('/invitation', { token, password: NEW }),
      await app.anyone.get(`/password/reset?token=${token}`),
    ]) {
      expect(gone.status).toBe(404)
      expect(gone.text).toContain(GONE)
    }
    const changed = (await mailsTo(app, email)).filter(({ subject }) => /was changed/.test(subject))
    expect(changed).toHaveLength(1)
    await app.ctx.db`
      update member_tokens set expires_at = expires_at - interval '10 seconds'
      where member_id = (select id from members where email = ${email})
    `
    expect((await send(NEW)).status).toBe(404)
    expect((await signIn(email, NEW)).status).toBe(303)
  })

  it('a link for a new password works for an hour, and for no other purpose', async () => {
    const { email } = await sellerWithPassword(app)
    await forgot(email)
    const token = await mailedToken(app, email)
    for (const path of ['/invitation', '/email']) {
      const { status, text } = await post(path, { token, password: NEW })
      expect(status).toBe(404)
      expect(text).toContain(GONE)
    }
    await app.ctx.db`
      update member_tokens set expires_at = expires_at - interval '1 hour'
      where member_id = (select id from members where email = ${email})
    `
    expect((await app.anyone.get(`/password/reset?token=${token}`)).status).toBe(404)
    expect((await post('/password/reset', { token, password: NEW })).status).toBe(404)
  })

  it('a link that does not work shows its page also if the page to go to is not valid UTF-8', async () => {
    for (const path of ['/password/reset', '/invitation', '/email']) {
      const { status, text } = await app.anyone.get(`${path}?token=x&next=%FF`)
      expect(status, path).toBe(404)
      expect(text, path).toContain(GONE)
    }
  })

  it.each([
    ['11 characters', 'a'.repeat(11)],
    ['201 characters', 'a'.repeat(201)],
    ['none', ''],
    ['6 characters that are encoded as two each', '🂡'.repeat(6)],
  ])('a password of %s is refused, and the link still works', async (_, password) => {
    const { email } = await sellerWithPassword(app)
    await forgot(email)
    const token = await mailedToken(app, email)
    const refused = await post('/password/reset', { token, password })
    expect(refused.status).toBe(422)
    expect(refused.text).toContain('The password must have 12 to 200 characters.')
    const longest = '🂡'.repeat(200)
    expect((await post('/password/reset', { token, password: longest })).status).toBe(200)
    expect((await signIn(email, longest)).status).toBe(303)
  })

  it('a client address can ask for a new password three times an hour; an e-mail address gets three e-mails an hour', async () => {
    const { email } = await sellerWithPassword(app)
    time += 3_600_000
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await post('/password/forgot', { email })).status)
    expect(statuses).toEqual([200, 200, 200, 429])
    const sent = async () => (await mailsTo(app, email)).length
    await until('three e-mails', async () => (await sent()) === 3)
    const elsewhere = await app.app.inject({
      method: 'POST',
      url: '/password/forgot',
      remoteAddress: '192.0.2.7',
      ...form({ email }),
    })
    expect(elsewhere.statusCode).toBe(200)
    const other = await sellerWithPassword(app)
    await forgot(other.email)
    await mailedToken(app, other.email)
    expect(await sent()).toBe(3)
  })

  it('a sign-in and a change with the former password that end after a reset are refused', async () => {
    const { email } = await sellerWithPassword(app)
    const member = await memberWith(email)
    await forgot(email)
    const token = await mailedToken(app, email)
    const sent = await whileLocked(
      app.ctx,
      (db) => db`select from members where email = ${email} for no key update`,
      async () => {
        const reset = post('/password/reset', { token, password: NEW })
        await untilLockWaiters(app.ctx.db)
        // Both verify the former password, and then wait behind the reset.
        const signedIn = signIn(email, PASSWORD)
        const change = { email: someone(), password: PASSWORD }
        const changed = requestEmailChange(app.ctx, member, change).catch((error) => error)
        await untilLockWaiters(app.ctx.db, 3)
        return { reset, signedIn, changed }
      },
    )
    expect((await sent.reset).status).toBe(200)
    expect((await sent.signedIn).status).toBe(401)
    expect(await sent.changed).toMatchObject({ status: 422 })
  })
})

describe('a new e-mail address', () => {
  const ask = async (email: string) => {
    const seller = await sellerWithPassword(app)
    const member = await memberWith(seller.email)
    await requestEmailChange(app.ctx, member, { email, password: PASSWORD })
    return seller
  }

  it('a member signs in with a new e-mail address once its link was used, and the shop’s address follows', async () => {
    const email = someone()
    const { email: former, accountId } = await ask(email)
    const token = await mailedToken(app, email)
    expect((await signIn(email, PASSWORD)).status).toBe(401)
    expect((await app.anyone.get(`/email?token=${token}`)).text).toContain(email)
    expect((await post('/email', { token })).status).toBe(200)
    expect((await post('/email', { token })).status).toBe(404)
    expect((await signIn(former, PASSWORD)).status).toBe(401)
    expect((await signIn(email, PASSWORD)).status).toBe(303)
    const { body } = await app.operator.get(`/operator/v1/accounts/${accountId}`)
    expect(body.data.email).toBe(email)
    expect((await mailsTo(app, former))[0]!.text).toContain(email)
  })

  it('the shop’s e-mail address stays if the member who changes theirs had another one', async () => {
    const email = someone()
    const { accountId } = await ask(email)
    const account = `/operator/v1/accounts/${accountId}`
    const office = someone()
    await app.operator.patch(account, { payload: { email: office } })
    expect((await post('/email', { token: await mailedToken(app, email) })).status).toBe(200)
    expect((await app.operator.get(account)).body.data.email).toBe(office)
  })

  it('a link for a new password that went to the former address ends with the change to a new one', async () => {
    const email = someone()
    const { email: former } = await ask(email)
    await forgot(former)
    const reset = await mailedToken(app, former)
    expect((await post('/email', { token: await mailedToken(app, email) })).status).toBe(200)
    expect((await post('/password/reset', { token: reset, password: NEW })).status).toBe(404)
    expect((await signIn(email, PASSWORD)).status).toBe(303)
  })

  it('a request for a new password that runs while the address changes sends no link to the former one', async () => {
    const email = someone()
    const { email: former } = await ask(email)
    let requesting: Promise<void> | undefined
    await inTransaction(app.ctx, async ({ db }) => {
      await db`update members set email = ${email} where email = ${former}`
      requesting = requestReset(app.ctx, former)
      await untilLockWaiters(app.ctx.db)
    })
    await requesting
    const texts = (await mailsTo(app, former)).map(({ text }) => text)
    expect(texts.filter((text) => text.includes('/password/reset?token='))).toEqual([])
  })

  it('a change to another member’s e-mail address sends nothing, and an address taken meanwhile is refused', async () => {
    const { email: taken } = await sellerWithPassword(app)
    await ask(taken)
    expect(await mailsTo(app, taken)).toEqual([])
    const email = someone()
    await ask(email)
    const token = await mailedToken(app, email)
    await invite((await app.seller()).accountId, email)
    const { status, text } = await post('/email', { token })
    expect(status).toBe(422)
    expect(text).toContain('already been taken')
  })
})
