import { beforeAll, describe, expect, it } from 'vitest'
import { changeAccount } from '../../accounts/accounts.ts'
import { type SignedInClient, startTestApp, type TestApp } from '../../test/app.ts'
import {
  cookieOf,
  form,
  mailedToken,
  mailsTo,
  PASSWORD,
  PASSWORD_HASH,
} from '../../test/fixtures/members.ts'
import { LABEL } from '../../test/fixtures/orders.ts'

let app: TestApp
let time = Date.UTC(2026, 10, 22, 9)
beforeAll(async () => {
  app = await startTestApp({ rateLimitTime: () => time })
})

const SETTINGS = '/dashboard/api/settings'
const NEW = 'bulbasaur likes the sun'

const shopOf = async ({ get }: SignedInClient) => (await get('/dashboard/api/me')).body.data.account

/** A member who is the first of their shop, and has PASSWORD. */
async function memberWithPassword(): Promise<SignedInClient> {
  time += 3_600_000
  const member = await app.member()
  await changeAccount(app.ctx, member.accountId, { passwordHash: PASSWORD_HASH })
  const signedIn = await app.anyone.post(
    '/signin',
    form({ email: member.email, password: PASSWORD }),
  )
  const headers = { cookie: cookieOf(signedIn) }
  return {
    ...member,
    get: (url) => app.anyone.get(url, { headers }),
    put: (url, options) => member.put(url, { ...options, headers }),
  }
}

describe('the settings of a shop', () => {
  it('a member changes the shop’s name and time zone', async () => {
    const member = await app.member()
    const payload = { shop_name: 'Misty’s <Cards>', time_zone: 'Asia/Kolkata' }
    expect((await member.patch(`${SETTINGS}/shop`, { payload })).status).toBe(204)
    expect(await shopOf(member)).toMatchObject(payload)
  })

  it.each(['', '  ', 'Kanto Cards\n\nPay again: evil.example', 'a\u2028b'])(
    'the name %j of a shop is refused, because buyers could not read it or would read it as a text of ours',
    async (name) => {
      const member = await app.member()
      const before = await shopOf(member)
      const payload = { shop_name: name }
      const { status, body } = await member.patch(`${SETTINGS}/shop`, { payload })
      expect([status, Object.keys(body.error.fields)]).toEqual([422, ['shop_name']])
      expect(await shopOf(member)).toEqual(before)
    },
  )

  it('a member can’t change the fields that belong to the marketplace', async () => {
    const member = await app.member()
    const before = await shopOf(member)
    const payload = { seller_tier: 'Master', api_access: 'disabled', reviews: 5, slug: 'x', id: 1 }
    const { headers } = await member.patch(`${SETTINGS}/shop`, { payload })
    expect(headers['x-ignored-fields']).toBe('seller_tier, api_access, reviews, slug, id')
    expect(await shopOf(member)).toEqual(before)
  })

  it.each(['Mars/Olympus', '+01:00', 'utc\0', '../etc/passwd', ''])(
    '%j is not a time zone',
    async (zone) => {
      const member = await app.member()
      const payload = { time_zone: zone }
      const { status, body } = await member.patch(`${SETTINGS}/shop`, { payload })
      expect(status).toBe(422)
      expect(Object.keys(body.error.fields)).toEqual(['time_zone'])
    },
  )

  it.each(['US/Pacific-New', 'SystemV/EST5', 'CET'])(
    'the time zone %j is refused, because no day can be computed in it or it is an abbreviation',
    async (zone) => {
      const member = await app.member()
      const { status } = await member.patch(`${SETTINGS}/shop`, { payload: { time_zone: zone } })
      expect(status).toBe(422)
      expect((await shopOf(member)).time_zone).toBe('UTC')
    },
  )

  it('a member replaces the shipping options; two with one code are refused', async () => {
    const member = await app.member()
    const { priceCents, ...option } = LABEL
    const options = [{ ...option, price: priceCents / 100 }]
    const put = (shipping_options: object[]) =>
      member.put(`${SETTINGS}/shipping-options`, { payload: { shipping_options } })
    expect((await put(options)).status).toBe(204)
    expect((await shopOf(member)).shipping_options).toEqual(options)
    const { status, body } = await put([...options, ...options])
    expect(status).toBe(422)
    expect(Object.keys(body.error.fields)).toEqual(['shipping_options.1.code'])
    expect((await shopOf(member)).shipping_options).toEqual(options)
  })

  it('of several members who change the shipping options at once, one succeeds, and the others are 409 until they have read the new list', async () => {
    const first = await app.member()
    const members = [first, await app.member(first.accountId), await app.member(first.accountId)]
    const { priceCents: _, ...option } = LABEL
    const add = async (member: SignedInClient, i: number) => {
      const { shipping_options, shipping_options_version } = await shopOf(member)
      const added = { ...option, code: `option-${i}`, price: i }
      return () =>
        member.put(`${SETTINGS}/shipping-options`, {
          payload: {
            shipping_options: [...shipping_options, added],
            version: shipping_options_version,
          },
        })
    }
    for (let waiting = [...members.keys()]; waiting.length > 0; ) {
      const puts = await Promise.all(waiting.map((i) => add(members[i]!, i)))
      const statuses = (await Promise.all(puts.map((put) => put()))).map(({ status }) => status)
      expect(statuses.toSorted()).toEqual([204, ...Array(waiting.length - 1).fill(409)])
      waiting = waiting.filter((_, n) => statuses[n] === 409)
    }
    const { shipping_options } = await shopOf(first)
    const codes = shipping_options.map(({ code }: { code: string }) => code)
    expect(codes.toSorted()).toEqual(['option-0', 'option-1', 'option-2'])
  })
})

describe('the settings of a member', () => {
  const change = (member: SignedInClient, password: string, new_password: string) =>
    member.put(`${SETTINGS}/password`, { payload: { password, new_password } })

  it('a new password needs the current one, and ends the other sessions', async () => {
    const member = await memberWithPassword()
    const other = await app.anyone.post(
      '/signin',
      form({ email: member.email, password: PASSWORD }),
    )
    expect(other.status).toBe(303)
    const refused = await change(member, 'wrong password', NEW)
    expect(refused.body.error.fields).toEqual({ password: ['The password is wrong.'] })
    const short = await change(member, PASSWORD, 'too short')
    expect(Object.keys(short.body.error.fields)).toEqual(['new_password'])
    expect((await change(member, PASSWORD, NEW)).status).toBe(204)
    expect((await member.get('/dashboard/api/me')).status).toBe(200)
    const headers = { cookie: cookieOf(other) }
    expect((await app.anyone.get('/dashboard/api/me', { headers })).status).toBe(401)
    expect((await mailsTo(app, member.email))[0]!.subject).toBe('Your password was changed')
  })

  it('a stolen session can’t try out passwords to change the password or the e-mail address', async () => {
    const member = await memberWithPassword()
    const changeEmail = (password: string) =>
      member.put(`${SETTINGS}/email`, { payload: { email: 'thief@elsewhere.example', password } })
    const statuses = []
    for (let i = 0; i < 6; i++) {
      const password = `wrong ${i}`
      const { status } = await (i % 2 ? changeEmail(password) : change(member, password, NEW))
      statuses.push(status)
    }
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429])
    expect((await changeEmail(PASSWORD)).status).toBe(429)
    expect((await change(member, PASSWORD, NEW)).status).toBe(429)
  })

  it('a stolen session can’t try out passwords to change the bank account', async () => {
    const member = await memberWithPassword()
    const holder = 'Kanto Cards'
    const submit = (iban: string, password?: string) =>
      member.put('/dashboard/api/payouts/setup', { payload: { holder, iban, password } })
    expect((await submit('NL02 ABNA 0123 4567 89')).status).toBe(200)
    const other = 'DE44 1000 0000 0000 0000 12'
    const statuses = []
    for (let i = 0; i < 6; i++) statuses.push((await submit(other, `wrong ${i}`)).status)
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429])
    expect((await submit(other, PASSWORD)).status).toBe(429)
    expect((await change(member, PASSWORD, NEW)).status).toBe(429)
    time += 60_000
    expect((await submit(other, PASSWORD)).status).toBe(200)
  })

  it('a wrong IBAN and the right password don’t count as failed attempts', async () => {
    const member = await memberWithPassword()
    for (const iban of [
      'NL02 ABNA 0123 4567 89',
      ...Array(6).fill('x'),
      'DE44 1000 0000 0000 0000 12',
    ]) {
      const payload = { holder: 'Kanto Cards', iban, password: PASSWORD }
      const { status } = await member.put('/dashboard/api/payouts/setup', { payload })
      expect(status).toBe(iban === 'x' ? 422 : 200)
    }
  })

  it('a new e-mail address needs the password and its own mailbox', async () => {
    const member = await memberWithPassword()
    const email = 'new-address@shops.example'
    const put = (password: string) =>
      member.put(`${SETTINGS}/email`, { payload: { email, password } })
    expect((await put('wrong password')).status).toBe(422)
    expect(await mailsTo(app, email)).toEqual([])
    expect((await put(PASSWORD)).status).toBe(202)
    expect((await member.get('/dashboard/api/me')).body.data.email).toBe(member.email)
    const token = await mailedToken(app, email)
    expect((await app.anyone.post('/email', form({ token }))).status).toBe(200)
    expect((await member.get('/dashboard/api/me')).body.data.email).toBe(email)
  })

  it('a new e-mail address gets three links an hour from all members, and a member can send five: refused attempts do not count', async () => {
    const [first, second] = [await memberWithPassword(), await memberWithPassword()]
    const put = async ({ put }: SignedInClient, email: string, password = PASSWORD) =>
      (await put(`${SETTINGS}/email`, { payload: { email, password } })).status
    const victim = 'victim@elsewhere.example'
    const statuses = [await put(first, victim, 'wrong password')]
    for (let i = 0; i < 6; i++) statuses.push(await put(first, victim))
    expect(statuses).toEqual([422, 202, 202, 202, 429, 429, 429])
    expect(await put(second, 'Victim@elsewhere.example')).toBe(429)
    expect(await mailsTo(app, victim)).toHaveLength(3)
    const others = ['one', 'another', 'third'].map((name) => `${name}@elsewhere.example`)
    for (const [i, status] of [202, 202, 429].entries()) {
      expect(await put(first, others[i]!)).toBe(status)
    }
    time += 3_600_000
    expect(await put(first, victim)).toBe(202)
  })
})
