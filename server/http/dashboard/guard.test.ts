import { beforeAll, describe, expect, it } from 'vitest'
import { dashboardOperations } from '../../../scripts/fuzz/dashboard.ts'
import { changeAccount } from '../../accounts/accounts.ts'
import { endSession, listSessions } from '../../members/sessions.ts'
import { PUBLIC_URL, type SignedInClient, startTestApp, type TestApp } from '../../test/app.ts'
import { cardItem, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { grantAccess } from '../../test/fixtures/oauth.ts'
import { act, buy, openShop, PARCEL, ship } from '../../test/fixtures/orders.ts'

let app: TestApp
let member: SignedInClient
beforeAll(async () => {
  app = await startTestApp()
  member = await app.member()
})

const ME = '/dashboard/api/me'
/** A carrier and a mail server outside the sandbox. */
const REAL = {
  CARRIER: 'sendcloud',
  SENDCLOUD_PUBLIC_KEY: 'public',
  SENDCLOUD_SECRET_KEY: 'secret',
  SENDCLOUD_METHODS: '*=8',
  SMTP_URL: 'smtp://mail.example',
  MAIL_FROM: 'shop@cards.example',
}
const withCookie = (cookie: string) => app.anyone.get(ME, { headers: { cookie } })

describe('the guard of the dashboard’s API', () => {
  it('a signed-in member reads their own shop', async () => {
    const { status, body, headers } = await member.get(ME)
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      email: member.email,
      account: { id: member.accountId, api_access: 'enabled', time_zone: 'UTC' },
      sandbox: true,
      buys_labels: false,
      sends_mail: false,
    })
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['x-ratelimit-limit']).toBe('600')
  })

  it('a sandbox whose carrier charges for labels, or that sends e-mail, says so to the dashboard', async () => {
    const { get } = await (await startTestApp({ settings: REAL })).member()
    expect((await get(ME)).body.data).toMatchObject({
      sandbox: true,
      buys_labels: true,
      sends_mail: true,
    })
  })

  it.each([
    [{}, PUBLIC_URL],
    [{ MARKETPLACE_URL: 'https://market.example' }, 'https://market.example'],
    [
      { PUBLIC_PAGES: 'false', MARKETPLACE_URL: 'https://market.example' },
      'https://market.example',
    ],
    [{ PUBLIC_PAGES: 'false', MARKETPLACE_URL: PUBLIC_URL }, PUBLIC_URL],
    [{ PUBLIC_PAGES: 'false' }, null],
  ])('with %j the pages of shops are below %s', async (settings, prefix) => {
    const other = await startTestApp({ settings })
    const { account, shop_url } = (await (await other.member()).get(ME)).body.data
    expect(shop_url).toBe(prefix && `${prefix}/shops/${account.slug}`)
  })

  it.each([
    ['no cookie', ''],
    ['an unknown token', `__Host-cardstall=${'a'.repeat(43)}`],
    ['a token of another format', '__Host-cardstall=%00\u00ff'],
    ['the name that plain http uses', 'cardstall=token'],
    ['a huge cookie', `__Host-cardstall=${'a'.repeat(8_000)}`],
    ['many cookies', 'a=1;'.repeat(2_000)],
  ])('the dashboard’s API returns 401 for %s', async (_, cookie) => {
    const { status, body } = await withCookie(cookie)
    expect(status).toBe(401)
    expect(body.error.type).toBe('authentication_error')
  })

  it('a cookie that other hosts of the domain may set is not the session’s: a white space precedes its name', async () => {
    const { cookie } = await app.member()
    // Browsers know the prefix `__Host-` only at the beginning of a name. Node decodes the byte A0 as a no-break space.
    const planted = `\u00a0${cookie}`
    expect((await withCookie(planted)).status).toBe(401)
    const { status, body } = await withCookie(`${planted}; ${member.cookie}`)
    expect(status).toBe(200)
    expect(body.data.email).toBe(member.email)
    expect((await withCookie(`a=1;\t ${member.cookie}`)).status).toBe(200)
  })

  it('an API key and the operator token open nothing in the dashboard', async () => {
    const { get } = await app.seller()
    for (const read of [get, app.operator.get]) expect((await read(ME)).status).toBe(401)
  })

  it('a session’s cookie opens neither the seller API nor the operator API', async () => {
    expect((await member.get('/v1/me')).status).toBe(401)
    expect((await member.get('/operator/v1/accounts')).status).toBe(401)
  })

  it.each([
    ['without Origin', ''],
    ['of another host', 'https://evil.example'],
    ['of a subdomain', 'https://shop.cards.example'],
    ['of plain http', 'http://cards.example'],
    ['of another port', 'https://cards.example:8443'],
    ['of an opaque origin', 'null'],
  ])('a write %s gets 403 and changes nothing, with a session or without', async (_, origin) => {
    const other = await app.member(member.accountId)
    for (const client of [other, app.anyone]) {
      const { status, body } = await client.delete('/dashboard/api/sessions/1', {
        headers: { origin },
      })
      expect(status).toBe(403)
      expect(body.error.type).toBe('authorization_error')
    }
    expect((await other.get(ME)).status).toBe(200)
  })

  it('every write of the dashboard’s API without Origin is 403, and every operation with another seller’s id is 404', async () => {
    const app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
    const shop = await openShop(app, PARCEL)
    const owner = await app.member(shop.accountId)
    const stranger = await app.member()
    const endpoint = { url: 'https://hooks.example/', events: ['order.created'] }
    await owner.post('/dashboard/api/webhooks', { payload: endpoint })
    const [listing] = (await list(shop, cardItem({ quantity: 2 }))) as [number]
    const order = (await buy(app, [[listing, 1]])).orderIds[0]!
    await ship(shop, order, { tracking_code: '3SAB' })
    await act(app, order, 'receive')
    await act(app, order, 'review', { stars: 4, text: 'Good' })
    await app.operator.post(`/operator/v1/accounts/${shop.accountId}/keys/${shop.keyId}/rotate`)
    await grantAccess(app, shop.accountId)
    const idIn = async (path: string): Promise<number> =>
      (await owner.get(`/dashboard/api/${path}`)).body.data[0].id
    /** An id of the owner for each place in a path. */
    const ids: Record<string, number> = {
      'listings/{id}': listing,
      'orders/{order}': order,
      'keys/{key}': shop.keyId,
      'programs/{id}': await idIn('programs'),
      'sessions/{id}': await idIn('sessions'),
      'notices/{id}': await idIn('notices'),
      'webhooks/{id}': await idIn('webhooks'),
      'webhooks/deliveries/{id}': await idIn('webhooks/deliveries'),
      'payouts/{id}': await idIn('payouts'),
      'reviews/{review}': await idIn('reviews'),
    }
    /** Valid bodies of the operations that check theirs before they look the record up. */
    const bodies: Record<string, object> = {
      'POST /dashboard/api/webhooks/{id}/test': { event: 'order.created' },
      'POST /dashboard/api/webhooks/{id}/resend': { from: '2026-01-01', to: '2026-01-02' },
      'PATCH /dashboard/api/listings/{id}': { price: 1 },
      'POST /dashboard/api/reviews/{review}/reply': { text: 'Thank you' },
    }
    // A statement is that of a month, not a record.
    const operations = (await dashboardOperations()).filter(({ path }) => !path.includes('{month}'))
    expect(operations.length).toBeGreaterThan(50)
    for (const { id: operation, method, path } of operations) {
      const send = method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete'
      const place = /^\/dashboard\/api\/(.+?\})/.exec(path)?.[1]
      const url = path.replace(/\{\w+\}/, String(place && ids[place]))
      expect([operation, url]).not.toContain('undefined')
      if (send !== 'get') {
        const { status } = await owner[send](url, { payload: {}, headers: { origin: '' } })
        expect([operation, status]).toEqual([operation, 403])
      }
      if (!place) continue
      const payload = send === 'get' ? {} : { payload: bodies[operation] ?? {} }
      const { status } = await stranger[send](url, payload)
      expect([operation, status]).toEqual([operation, 404])
    }
  })

  it('every operation of the dashboard’s API that names another member than the session’s, also one of the same shop, is 409 and changes nothing', async () => {
    const { memberId, get, patch } = await app.member(member.accountId)
    const headers = { 'x-member': String(memberId) }
    for (const { id, method, path } of await dashboardOperations()) {
      const send = method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete'
      const url = path.replace(/\{\w+\}/, '1')
      const { status, body } = await member[send](url, { headers })
      expect([id, status, body.error.type]).toEqual([id, 409, 'conflict'])
    }
    const link = `/dashboard/api/listings/export?member=${memberId}`
    expect((await member.get(link)).status).toBe(409)
    expect((await get(link)).status).toBe(200)
    const payload = { shop_name: 'Misty’s Cards' }
    const url = '/dashboard/api/settings/shop'
    expect((await patch(url, { payload, headers })).status).toBe(204)
    const { id, account } = (await get(ME, { headers })).body.data
    expect([id, account.shop_name]).toEqual([memberId, 'Misty’s Cards'])
  })

  it('an error in a tab that a link has opened is a page with a way back, and fetch gets the envelope', async () => {
    const link = '/dashboard/api/orders/packing?orders=1%2C2&paper=a6'
    const navigate = (path: string, { get } = app.anyone as Pick<SignedInClient, 'get'>) =>
      get(path, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
    const linksIn = ({ text }: { text: string }) =>
      [...text.matchAll(/<p><a href="([^"]+)"/g)].map(([, href]) => href)

    const ended = await navigate(`${link}&member=7`)
    expect([ended.status, ended.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
    expect(ended.headers['cache-control']).toBe('no-store')
    expect(linksIn(ended)).toEqual([`../../../signin?next=${encodeURIComponent(link)}`])

    const other = await navigate(`${link}&member=0`, member)
    expect([other.status, other.headers['content-type']]).toEqual([409, 'text/html; charset=utf-8'])
    expect(linksIn(other)).toEqual(['../../../dashboard'])
    expect(other.text).toContain('as another member')
    // It names the member in its address.
    expect(other.text).not.toContain('Reload')

    const labels = await navigate('/dashboard/api/orders/labels.pdf?orders=x', member)
    expect([labels.status, linksIn(labels)]).toEqual([422, ['../../../dashboard']])

    for (const accept of ['*/*', 'application/json', '']) {
      const { body } = await app.anyone.get(link, { headers: { accept } })
      expect(body.error.type).toBe('authentication_error')
    }
  })

  it('a shop that buyers do not see has no link to its page', async () => {
    const shop = await app.member()
    const linked = async () => (await shop.get(ME)).body.data.shop_url !== null
    const onHoliday = (on: boolean) =>
      shop.put('/dashboard/api/settings/holiday', { payload: { on } })
    expect(await linked()).toBe(true)
    await onHoliday(true)
    expect(await linked()).toBe(false)
    await onHoliday(false)
    expect(await linked()).toBe(true)
    await changeAccount(app.ctx, shop.accountId, { apiAccess: 'suspended' })
    expect(await linked()).toBe(false)
  })

  it('an unknown path below the API is 404 in the envelope, signed in or not', async () => {
    for (const client of [member, app.anyone]) {
      const { status, body } = await client.get('/dashboard/api/nothing')
      expect(status).toBe(404)
      expect(body.error.type).toBe('not_found')
    }
  })

  it('a session that ended, in any process, is refused at once', async () => {
    const { cookie, get, memberId } = await app.member(member.accountId)
    expect((await get(ME)).status).toBe(200)
    await endSession(app.ctx, cookie.slice(cookie.indexOf('=') + 1))
    expect((await get(ME)).status).toBe(401)
    expect(await listSessions(app.ctx, memberId)).toEqual([])
  })

  it('the session of a deleted member and of a deleted account is refused', async () => {
    const gone = await app.member()
    await app.ctx.db`delete from members where id = ${gone.memberId}`
    expect((await gone.get(ME)).status).toBe(401)
    const closed = await app.member()
    await app.ctx.db`delete from accounts where id = ${closed.accountId}`
    expect((await closed.get(ME)).status).toBe(401)
  })

  it('an expired session is refused', async () => {
    const { get, memberId } = await app.member()
    await app.ctx.db`
      update member_sessions set expires_at = clock_timestamp() where member_id = ${memberId}
    `
    expect((await get(ME)).status).toBe(401)
  })

  it('suspended API access leaves the dashboard open', async () => {
    const { get, accountId } = await app.member()
    await changeAccount(app.ctx, accountId, { apiAccess: 'suspended' })
    expect((await get(ME)).body.data.account.api_access).toBe('suspended')
  })

  it('each member has limits of their own', async () => {
    const limited = await startTestApp({
      settings: { RATE_LIMIT_READ: '2' },
      rateLimitTime: () => 0,
    })
    const first = await limited.member()
    const second = await limited.member(first.accountId)
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await first.get(ME)).status)
    expect(statuses).toEqual([200, 200, 429])
    expect((await second.get(ME)).status).toBe(200)
  })
})
