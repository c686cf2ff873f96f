import { beforeAll, describe, expect, it } from 'vitest'
import { runSchedule } from '../schedule.ts'
import { PUBLIC_URL, type SignedInClient, startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, createListings, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import {
  cookieOf,
  form,
  mailedToken,
  mailsTo,
  PASSWORD,
  PASSWORD_HASH,
  sellerWithPassword,
} from '../test/fixtures/members.ts'
import { act, buy, PARCEL, ship, shipsBy } from '../test/fixtures/orders.ts'
import { whileReplaced } from '../test/while-replaced.ts'
import { getSetup } from './payout-setup.ts'

const IBAN = 'NL02 ABNA 0123 4567 89'
const OTHER_IBAN = 'DE44 1000 0000 0000 0000 12'
const SETUP = '/dashboard/api/payouts/setup'
const HOURS = 60 * 60

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

/** A seller without a verified setup, and the member who signs in for them. */
async function newSeller(from = app) {
  const seller = await from.seller({ account: { ...shipsBy(PARCEL), payoutVerified: false } })
  const member = await from.member(seller.accountId)
  // Without a verb, which would end the member's session.
  await from.ctx.db`
    update members set password_hash = ${PASSWORD_HASH} where id = ${member.memberId}
  `
  return { seller, member, path: `/operator/v1/accounts/${seller.accountId}/payout-setup` }
}

const submit = (member: SignedInClient, payload: object = {}) =>
  member.put(SETUP, { payload: { holder: 'Kanto Cards', iban: IBAN, ...payload } })

const mails = async () => (await app.operator.get('/operator/v1/sandbox/mail')).body.data

describe('a payout setup in the sandbox', () => {
  it('the sandbox verifies a submitted bank account at once, and the seller can list', async () => {
    const { seller, member } = await newSeller()
    expect((await member.get(SETUP)).body.data.state).toBe('missing')
    const refused = await createListings(seller, [cardItem()])
    expect(refused.status).toBe(403)
    expect(refused.body.error.message).toContain('https://cards.example/dashboard/payouts')
    const { body } = await submit(member)
    expect(body.data).toMatchObject({
      state: 'verified',
      holder: 'Kanto Cards',
      iban_last4: '6789',
      country: 'NL',
      hold_until: null,
    })
    expect((await createListings(seller, [cardItem()])).status).toBe(200)
    const account = await app.operator.get(`/operator/v1/accounts/${seller.accountId}`)
    expect(account.body.data.payout_verified).toBe(true)
  })

  it.each(['NL02ABNA0123456780', 'US00123', 'x', 'BR1500000000000010932840814P2'])(
    'the IBAN %s is refused with 422 at its field',
    async (iban) => {
      const { member } = await newSeller()
      const { status, body } = await submit(member, { iban })
      expect([status, Object.keys(body.error.fields)]).toEqual([422, ['iban']])
    },
  )

  it.each([
    'AL47212110090000000235698741',
    'MD24AG000225100013104168',
    'ME25505000012345678951',
    'MK07250120000058984',
    'RS35260005601001611379',
  ])('the IBAN %s, of a country that joined SEPA in 2024 or 2025, is accepted', async (iban) => {
    const { member } = await newSeller()
    const { status, body } = await submit(member, { iban })
    expect([status, body.data?.country]).toEqual([200, iban.slice(0, 2)])
  })

  it.each(['BA391290079401028494', 'UA213223130000026007233566001'])(
    'the valid IBAN %s, of a country outside of SEPA, is refused with 422',
    async (iban) => {
      const { member } = await newSeller()
      expect((await submit(member, { iban })).status).toBe(422)
    },
  )

  it.each(['   ', 'Γιώργος Παπαδόπουλος', 'Иван Петров', 'Pokémon ポケモン'])(
    'the holder %j of a bank account, of blanks or with letters that transfers can’t have, is refused with 422',
    async (holder) => {
      const { member } = await newSeller()
      const { status, body } = await submit(member, { holder })
      expect([status, Object.keys(body.error.fields)]).toEqual([422, ['holder']])
      expect((await member.get(SETUP)).body.data.state).toBe('missing')
    },
  )

  it('a bank account’s holder can have accents, and the apostrophe of a phone', async () => {
    const { member } = await newSeller()
    const { body } = await submit(member, { holder: 'O’Neill Żaħra' })
    expect(body.data).toMatchObject({ state: 'verified', holder: 'O’Neill Żaħra' })
  })

  it('the database holds no IBAN in plain text', async () => {
    const { member } = await newSeller()
    await submit(member)
    const rows = await app.ctx.db<{ iban: Buffer }[]>`select iban from payout_setups`
    for (const { iban } of rows) expect(iban.toString('latin1')).not.toContain('ABNA')
  })

  it('a change of the bank account needs the password, notifies the seller and holds payouts for 48 hours, also if the seller enters it again', async () => {
    const { seller, member } = await newSeller()
    await submit(member)
    for (const [password, message] of [
      [undefined, /^There is a bank account already\./],
      ['wrong', /wrong/],
    ] as const) {
      const { status, body } = await submit(member, { iban: OTHER_IBAN, password })
      expect([status, Object.keys(body.error.fields)]).toEqual([422, ['password']])
      expect(body.error.message).toMatch(message)
    }
    const [listing] = await list(seller, cardItem())
    const { orderIds } = await buy(app, [[listing!, 1]])
    await ship(seller, orderIds[0]!, { tracking_code: 'CODE' })
    await act(app, orderIds[0]!, 'receive')
    const changed = await submit(member, { iban: OTHER_IBAN, password: PASSWORD })
    expect(changed.body.data).toMatchObject({ state: 'verified', iban_last4: '0012' })
    expect(changed.body.data.hold_until).not.toBeNull()
    expect((await mails())[0].text).toContain('from •••• 6789 to •••• 0012')
    const again = await submit(member, { iban: OTHER_IBAN, holder: 'Other', password: PASSWORD })
    expect(again.body.data).toMatchObject({
      holder: 'Other',
      hold_until: changed.body.data.hold_until,
    })
    const state = async () => {
      const { body } = await member.get('/dashboard/api/payouts')
      return body.data[0].state
    }
    expect(await state()).toBe('held')
    await advance(app.operator, 48 * HOURS + 1)
    expect(await state()).toBeOneOf(['due', 'paid'])
    expect((await member.get(SETUP)).body.data.hold_until).toBeNull()
  })

  it('the e-mail about the same IBAN with another holder announces no hold, because there is none', async () => {
    const { member, path } = await newSeller()
    await submit(member)
    await app.operator.post(`${path}/reject`, { payload: { reason: 'Another holder' } })
    const corrected = await submit(member, { holder: 'Kanto Cards GmbH', password: PASSWORD })
    expect(corrected.body.data).toMatchObject({ holder: 'Kanto Cards GmbH', hold_until: null })
    const [{ subject, text }] = await mails()
    expect(subject).toBe('Your bank account is being changed')
    expect(text).toContain('(•••• 6789) was entered again, with the holder Kanto Cards GmbH.')
    expect(text).not.toMatch(/from ••••|held/)
  })

  it('a change of the bank account is announced to every address that the shop had in the last 30 days', async () => {
    const { accountId, email } = await sellerWithPassword(app)
    const account = `/operator/v1/accounts/${accountId}`
    const password = PASSWORD
    const put = async (path: string, payload: object, signedInAs: string) => {
      const signedIn = await app.anyone.post('/signin', form({ email: signedInAs, password }))
      return app.anyone.put(`/dashboard/api/${path}`, {
        headers: { cookie: cookieOf(signedIn), origin: PUBLIC_URL },
        payload: { ...payload, password },
      })
    }
    const move = async (from: string, to: string) => {
      await put('settings/email', { email: to }, from)
      expect(
        (await app.anyone.post('/email', form({ token: await mailedToken(app, to) }))).status,
      ).toBe(200)
    }
    const setUp = (iban: string, signedInAs: string) =>
      put('payouts/setup', { holder: 'Kanto Cards', iban }, signedInAs)
    const announcements = async (to: string) =>
      (await mailsTo(app, to)).filter(({ subject }) => subject.includes('is being changed')).length

    await setUp(IBAN, email)
    const [second, third, fourth] = [`second-${email}`, `third-${email}`, `fourth-${email}`]
    await move(email, second)
    await advance(app.operator, 31 * 24 * HOURS)
    await move(second, third)
    // The operator's change of the shop's address leaves that of the member.
    await app.operator.patch(account, { payload: { email: fourth } })
    await setUp(OTHER_IBAN, third)
    expect(await Promise.all([email, second, third, fourth].map(announcements))).toEqual([
      ...[0, 1, 1, 1],
    ])
  })

  it('the operator can reject a payout setup with a reason, and verify it again', async () => {
    const { seller, member, path } = await newSeller()
    expect((await app.operator.post(`${path}/verify`)).status).toBe(409)
    await submit(member)
    const rejected = await app.operator.post(`${path}/reject`, {
      payload: { reason: 'Another holder' },
    })
    expect(rejected.body.data).toMatchObject({ state: 'rejected', reason: 'Another holder' })
    expect((await createListings(seller, [cardItem()])).status).toBe(403)
    expect((await mails())[0].text).toContain('Reason: Another holder')
    const ids = async (state: string) =>
      (
        await app.operator.get(`/operator/v1/payout-setups?state=${state}&per_page=100`)
      ).body.data.map((setup: { account_id: number }) => setup.account_id)
    expect(await ids('rejected')).toContain(seller.accountId)
    expect(await ids('verified')).not.toContain(seller.accountId)
    expect((await app.operator.post(`${path}/verify`)).body.data.state).toBe('verified')
    expect(await ids('rejected')).not.toContain(seller.accountId)
  })

  it('the missing payout setups are those of accounts without one that are not verified', async () => {
    const { seller, member } = await newSeller()
    const ids = async (query: string) =>
      (await app.operator.get(`/operator/v1/payout-setups?per_page=100${query}`)).body.data.map(
        (setup: { account_id: number }) => setup.account_id,
      )
    const missing = await ids('&state=missing')
    expect(missing).toContain(seller.accountId)
    expect(missing).toEqual(missing.toSorted((a: number, b: number) => a - b))
    expect(await ids('')).not.toContain(seller.accountId)
    await submit(member)
    expect(await ids('&state=missing')).not.toContain(seller.accountId)
  })

  it('a decision that names a submission is refused with 409 once the setup was verified or rejected, or the seller has submitted another bank account', async () => {
    const { seller, member, path } = await newSeller()
    const read = async () =>
      (await app.operator.get('/operator/v1/payout-setups?per_page=100')).body.data.find(
        ({ account_id }: { account_id: number }) => account_id === seller.accountId,
      )
    const decide = (decision: string, payload: object) =>
      app.operator.post(`${path}/${decision}`, { payload })
    await submit(member)
    const { submission: seen } = await read()
    const reason = 'Another holder'
    const rejected = await decide('reject', { reason, submission: seen })
    expect(rejected.body.data).toMatchObject({ state: 'rejected', reason })
    for (const decision of ['verify', 'reject']) {
      expect((await decide(decision, { reason, submission: seen })).status).toBe(409)
    }
    expect(await read()).toEqual(rejected.body.data)
    const verifiedAfterwards = await decide('verify', {
      submission: rejected.body.data.submission,
    })
    expect(verifiedAfterwards.body.data.state).toBe('verified')
    expect((await decide('reject', { reason, submission: seen })).status).toBe(409)
    await submit(member, { password: PASSWORD })
    await decide('reject', { reason: 'Not this one either' })

    for (const decision of ['verify', 'reject']) {
      const { status, body } = await decide(decision, { reason, submission: seen })
      expect([status, body.error.type]).toEqual([409, 'conflict'])
      expect(body.error.message).toContain('submitted another')
    }
    const current = await read()
    expect(current).toMatchObject({ state: 'rejected', reason: 'Not this one either' })
    expect(current.submission).not.toBe(seen)
    const verified = await decide('verify', { submission: current.submission })
    expect(verified.body.data.state).toBe('verified')
  })

  it('the operator’s payout_verified verifies and revokes a setup', async () => {
    const { seller, member } = await newSeller()
    const patch = (payout_verified: boolean) =>
      app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
        payload: { payout_verified },
      })
    await patch(true)
    expect((await member.get(SETUP)).body.data.state).toBe('verified')
    await patch(false)
    expect((await member.get(SETUP)).body.data.state).toBe('missing')
  })

  it('after payout_verified was set and withdrawn, the reason of an earlier rejection is gone, and a decision about the verified setup is 409', async () => {
    const { seller, member, path } = await newSeller()
    await submit(member)
    await app.operator.post(`${path}/reject`, { payload: { reason: 'Another holder' } })
    const submissions: string[] = []
    for (const payout_verified of [true, false]) {
      const patched = await app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
        payload: { payout_verified },
      })
      expect(patched.body.data.payout_verified).toBe(payout_verified)
      submissions.push((await getSetup(app.ctx, seller.accountId)).submission!)
    }
    const [verified, revoked] = submissions
    const verify = (submission?: string) =>
      app.operator.post(`${path}/verify`, { payload: { submission } })
    expect((await verify(verified)).status).toBe(409)
    expect((await member.get(SETUP)).body.data).toMatchObject({ state: 'submitted', reason: null })
    expect((await verify(revoked)).status).toBe(200)
  })
})

/** A service on the same database, outside the sandbox. */
async function startLive(): Promise<TestApp> {
  const live = await startTestApp({
    databaseUrl: app.databaseUrl,
    settings: { ...NO_LIMITS, SECRET_KEY: 'secret-key-for-tests-of-this-service' },
  })
  live.ctx.config.sandbox = false
  return live
}

const tokenIn = (text: string) => /\?confirm=(\w+)/.exec(text)![1]!

const confirm = (member: SignedInClient, token: string) =>
  member.post(`${SETUP}/confirm`, { payload: { token } })

it('outside the sandbox, a bank account takes effect with the link in the newest e-mail, which names it, and works once and for 24 hours', async () => {
  const live = await startLive()
  const { seller, member, path } = await newSeller(live)
  await submit(member, { iban: OTHER_IBAN })
  const earlier = tokenIn((await mails())[0].text)
  const submitted = await submit(member)
  expect(submitted.body.data).toMatchObject({
    state: 'missing',
    holder: null,
    unconfirmed: { holder: 'Kanto Cards', iban_last4: '6789', country: 'NL' },
  })
  expect(submitted.body.data.unconfirmed_until).not.toBeNull()
  const early = await live.operator.post(`${path}/verify`)
  expect([early.status, early.body.error.message]).toEqual([
    409,
    expect.stringContaining('not confirmed it yet'),
  ])
  const { text } = (await mails())[0]
  expect(text).toContain('Holder: Kanto Cards\nIBAN: NL •••• 6789')
  const token = tokenIn(text)
  expect((await live.operator.get('/operator/v1/mails?per_page=1')).text).not.toContain(token)
  const stranger = await newSeller(live)
  expect((await confirm(stranger.member, token)).status).toBe(422)
  for (const wrong of ['x'.repeat(40), earlier]) {
    expect((await confirm(member, wrong)).status).toBe(422)
  }
  const tooLate = new Date(live.ctx.now().getTime() + (24 * HOURS + 1) * 1000)
  const expired = await whileReplaced(live.ctx, { now: () => tooLate }, () =>
    confirm(member, token),
  )
  expect(expired.status).toBe(422)
  expect((await confirm(member, token)).body.data).toMatchObject({
    state: 'submitted',
    iban_last4: '6789',
    unconfirmed_until: null,
    unconfirmed: null,
  })
  const again = await confirm(member, token)
  expect([again.status, again.body.error.message]).toEqual([
    422,
    expect.stringContaining('If you have just used it, the bank account is confirmed.'),
  ])
  expect((await createListings(seller, [cardItem()])).status).toBe(403)
  await live.operator.post(`${path}/verify`)
  expect((await member.get(SETUP)).body.data.state).toBe('verified')
})

it('the first verification of a submitted bank account e-mails the seller, and a repeated one or one without a bank account does not', async () => {
  const live = await startLive()
  const { seller, member, path } = await newSeller(live)
  const account = `/operator/v1/accounts/${seller.accountId}`
  const { email } = (await live.operator.get(account)).body.data
  const verified = async () =>
    (await mailsTo(app, email)).filter(({ subject }) => subject === 'Your bank account is verified')
  const setVerified = (payout_verified: boolean) =>
    live.operator.patch(account, { payload: { payout_verified } })
  await setVerified(true)
  await setVerified(false)
  await submit(member)
  await confirm(member, tokenIn((await mails())[0].text))
  expect(await verified()).toHaveLength(0)
  await live.operator.post(`${path}/verify`)
  const [mail] = await verified()
  expect(mail!.text).toMatch(/You can list and ship now: \S+\/dashboard$/)
  await live.operator.post(`${path}/verify`)
  await setVerified(true)
  expect(await verified()).toHaveLength(1)
})

it('outside the sandbox, a change of a bank account shows the new one next to the current one until it is confirmed, which ends a rejection', async () => {
  const live = await startLive()
  const { member, path } = await newSeller(live)
  await submit(member)
  await confirm(member, tokenIn((await mails())[0].text))
  await live.operator.post(`${path}/verify`)
  const changed = await submit(member, { iban: OTHER_IBAN, password: PASSWORD })
  expect(changed.body.data).toMatchObject({
    state: 'verified',
    iban_last4: '6789',
    unconfirmed: { iban_last4: '0012', country: 'DE' },
  })
  const { text } = (await mails())[0]
  expect(text).toContain('IBAN: DE •••• 0012')
  expect((await confirm(member, tokenIn(text))).body.data).toMatchObject({
    iban_last4: '0012',
    country: 'DE',
    unconfirmed: null,
  })
  await live.operator.post(`${path}/reject`, { payload: { reason: 'Another holder' } })
  const holder = 'Kanto Cards GmbH'
  const corrected = await submit(member, { holder, iban: OTHER_IBAN, password: PASSWORD })
  expect(corrected.body.data.state).toBe('rejected')
  expect((await confirm(member, tokenIn((await mails())[0].text))).body.data).toMatchObject({
    state: 'submitted',
    reason: null,
    holder,
  })
})

it('a bank account that nobody confirms is deleted once its link has expired', async () => {
  const live = await startLive()
  const { seller, member } = await newSeller(live)
  await submit(member)
  const unconfirmed = () => app.ctx.db`
    select from payout_setup_changes where account_id = ${seller.accountId}
  `
  await runSchedule(app.ctx)
  expect(await unconfirmed()).toHaveLength(1)
  await advance(app.operator, 24 * HOURS + 1)
  await runSchedule(app.ctx)
  expect(await unconfirmed()).toHaveLength(0)
})
