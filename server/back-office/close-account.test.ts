import { beforeAll, expect, it } from 'vitest'
import { SCOPES } from '../keys/scopes.ts'
import { createGrant } from '../oauth/grants.ts'
import { PUBLIC_URL, startTestApp, type TestApp } from '../test/app.ts'
import {
  cardItem,
  changeAccount,
  createListings,
  items,
  list,
  NO_LIMITS,
} from '../test/fixtures/listings.ts'
import {
  cookieOf,
  form,
  mailedToken,
  PASSWORD,
  sellerWithPassword,
} from '../test/fixtures/members.ts'
import { register } from '../test/fixtures/oauth.ts'
import { cancel, openShop, sendCart } from '../test/fixtures/orders.ts'
import { endLockWaiters, untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'

let app: TestApp
let second: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  second = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
})

const close = ({ operator }: TestApp, accountId: number) =>
  operator.post(`/operator/v1/accounts/${accountId}/close`)

const numberOf = async (accountId: number, status: 'active' | 'removed'): Promise<number> => {
  const url = `/operator/v1/listings?account_id=${accountId}&status=${status}`
  return (await app.operator.get(url)).body.meta.total
}

const item = (reference: string) => cardItem({ reference })

it('closings that are refused because a checkout sells a listing meanwhile change nothing', async () => {
  const seller = await openShop(app)
  const account = `/operator/v1/accounts/${seller.accountId}`
  const [id] = (await list(seller, ...Array(3).fill(cardItem({ quantity: 1 })))) as [number]
  const { buying, closings } = await whileLocked(
    app.ctx,
    // Makes the checkout wait after it has locked the listing.
    (db) => db`lock table slices in share mode`,
    async () => {
      const buying = sendCart(app, [[id, 1]])
      await untilLockWaiters(app.ctx.db)
      const closings = []
      for (const [i, service] of [second, app].entries()) {
        closings.push(close(service, seller.accountId))
        await untilLockWaiters(app.ctx.db, i + 2)
      }
      return { buying, closings }
    },
  )
  const [order] = (await buying).body.data.slices[0].order_ids
  for (const { status, body } of await Promise.all(closings)) {
    expect([status, body.error.message]).toEqual([409, expect.stringContaining('open orders')])
  }
  expect(await numberOf(seller.accountId, 'active')).toBe(2)
  expect(await numberOf(seller.accountId, 'removed')).toBe(0)
  const { data } = (await app.operator.get(account)).body
  expect(data).toMatchObject({ api_access: 'enabled', closed_at: null })
  expect(await list(seller, cardItem())).toHaveLength(1)
  const entries = await app.operator.get('/operator/v1/audit?action=closeAccount')
  expect(entries.body.data).toEqual([])

  await cancel(app, order, { restock: false })
  expect((await close(second, seller.accountId)).status).toBe(200)
  expect(await numberOf(seller.accountId, 'active')).toBe(0)
})

it('after a closing that broke off, nobody can order the listings, and a repetition removes them', async () => {
  const seller = await openShop(app)
  const [id] = (await list(seller, cardItem())) as [number]
  const { closing } = await whileLocked(
    app.ctx,
    (db) => db`select from listings where id = ${id} for update`,
    async () => {
      const closing = close(second, seller.accountId)
      await untilLockWaiters(app.ctx.db)
      await endLockWaiters(app.ctx.db)
      return { closing }
    },
  )
  expect((await closing).status).toBe(503)
  const reservation = { listing_id: id, quantity: 1, cart_id: 'cart' }
  for (const ordering of [
    sendCart(app, [[id, 1]]),
    app.operator.post('/operator/v1/reservations', { payload: reservation }),
  ]) {
    const { status, body } = await ordering
    expect([status, body.error.message]).toEqual([409, expect.stringContaining('closed')])
  }
  expect((await close(app, seller.accountId)).status).toBe(200)
  expect(await numberOf(seller.accountId, 'removed')).toBe(1)
})

it.each(['seller', 'member'] as const)(
  'cards that a %s’s request wants to list are refused if the account was closed after the request was admitted',
  async (who) => {
    const seller = await app.seller()
    const client = who === 'seller' ? seller : await app.member(seller.accountId)
    const path = who === 'seller' ? '/tools/v1/listings' : '/dashboard/api/listings'
    const holding = Promise.withResolvers<void>()
    const mayGoOn = Promise.withResolvers<void>()
    // Requests that set references wait for this lock, which is taken before anything is inserted.
    const holder = app.ctx.begin(async (db) => {
      await db`
        select pg_advisory_xact_lock(hashtextextended('listing_references', ${seller.accountId}))
      `
      holding.resolve()
      await mayGoOn.promise
    })
    await holding.promise
    const listing = client.post(path, { payload: { items: [item('one'), item('two')] } })
    await untilLockWaiters(app.ctx.db)
    const closed = await close(second, seller.accountId)
    mayGoOn.resolve()
    await holder
    expect(closed.status, closed.text).toBe(200)
    const { status, body } = await listing
    expect([status, body.error.type]).toEqual([401, 'authentication_error'])
    expect(await numberOf(seller.accountId, 'active')).toBe(0)
  },
)

it('listings that are being inserted while their account is closed are removed as well', async () => {
  const seller = await app.seller()
  const holding = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  // Its reference makes the request wait. Without its foreign keys, the account isn't locked.
  const holder = app.ctx.begin(async (db) => {
    await db`set local session_replication_role = replica`
    await db`
      insert into listings (
        account_id, card_id, price_cents, quantity, condition, language, reference, created_at,
        updated_at
      )
      values (${seller.accountId}, 'sv3-125', 450, 1, 'NM', 'EN', 'one', now(), now())
    `
    holding.resolve()
    await mayEnd.promise
    throw new Error('rolled back')
  })
  await holding.promise
  const listing = seller.post('/tools/v1/listings', { payload: { items: [item('one')] } })
  await untilLockWaiters(app.ctx.db)
  const closing = close(second, seller.accountId)
  await untilLockWaiters(app.ctx.db, 2)
  mayEnd.resolve()
  await expect(holder).rejects.toThrow('rolled back')
  expect((await listing).body.created).toBe(1)
  const { status, text } = await closing
  expect(status, text).toBe(200)
  expect(await numberOf(seller.accountId, 'active')).toBe(0)
  expect(await numberOf(seller.accountId, 'removed')).toBe(1)
})

it.each(['key', 'webhook endpoint'])(
  'a member’s request to create a %s is refused if the account was closed after the request was admitted',
  async (kind) => {
    const { accountId } = await app.seller()
    const member = await app.member(accountId)
    const [path, payload] =
      kind === 'key'
        ? ['keys', { scopes: ['listings:read'] }]
        : ['webhooks', { url: 'https://tool.example/hook', events: ['order.created'] }]
    const { creating, closed } = await whileLocked(
      app.ctx,
      // Makes the request wait before its work begins.
      (db) => db`lock table idempotency_keys in share mode`,
      async () => {
        const headers = { 'idempotency-key': kind }
        const creating = member.post(`/dashboard/api/${path}`, { payload, headers })
        await untilLockWaiters(app.ctx.db)
        return { creating, closed: await close(second, accountId) }
      },
    )
    expect(closed.status, closed.text).toBe(200)
    const { status, body } = await creating
    expect([status, body.error.type]).toEqual(
      kind === 'key' ? [409, 'conflict'] : [401, 'authentication_error'],
    )
  },
)

it('a closed account gets no key until it is open again', async () => {
  const { accountId } = await app.seller()
  await close(app, accountId)
  const create = () =>
    app.operator.post(`/operator/v1/accounts/${accountId}/keys`, {
      payload: { scopes: ['listings:read'] },
    })
  const { status, body } = await create()
  expect([status, body.error.type]).toEqual([409, 'conflict'])
  await changeAccount(app, accountId, { api_access: 'enabled' })
  expect((await create()).status).toBe(201)
})

it('an invitation that is sent while the account is being closed does not open it', async () => {
  const { accountId } = await app.seller()
  const { closing } = await whileLocked(
    app.ctx,
    // Makes the closing wait between its first transaction and the others, like a request that lists cards.
    (db) => db`select from accounts where id = ${accountId} for key share`,
    async () => {
      const closing = close(second, accountId)
      await untilLockWaiters(app.ctx.db)
      const payload = { email: `late-${accountId}@mail.example` }
      const path = `/operator/v1/accounts/${accountId}/invitations`
      expect((await app.operator.post(path, { payload })).status).toBe(202)
      return { closing }
    },
  )
  expect((await closing).body.data.closed_at).toMatch(/^20/)
  const { body } = await app.operator.get(`/operator/v1/accounts/${accountId}/members`)
  expect(body.data).toEqual([])
})

it.each([
  ['account is being closed', 200, (account: string) => second.operator.post(`${account}/close`)],
  [
    'member is being removed',
    204,
    (account: string, memberId: number) => second.operator.delete(`${account}/members/${memberId}`),
  ],
])(
  'a password reset that ends the access of programs does not fail because the %s',
  async (_, done, remove) => {
    const { accountId, email } = await sellerWithPassword(app)
    const account = `/operator/v1/accounts/${accountId}`
    const memberId = (await app.operator.get(`${account}/members`)).body.data[0].id
    const clientId = await register(app)
    const grant = { clientId, clientName: 'Deck Doctor', host: null, audience: '', scopes: SCOPES }
    await createGrant(app.ctx, { memberId, ...grant }, 60)
    await app.anyone.post('/password/forgot', form({ email }))
    const token = await mailedToken(app, email)
    const { removing, choosing } = await whileLocked(
      app.ctx,
      (db) => db`select from oauth_clients where id = ${clientId} for update`,
      async () => {
        const removing = remove(account, memberId)
        await untilLockWaiters(app.ctx.db)
        const fields = { token, password: PASSWORD, end_programs: 'on' }
        const choosing = app.anyone.post('/password/reset', form(fields))
        await untilLockWaiters(app.ctx.db, 2)
        return { removing, choosing }
      },
    )
    expect([(await removing).status, (await choosing).status]).toEqual([done, 404])
  },
)

it('the confirmation of an e-mail address does not fail because the account is being closed', async () => {
  const { accountId, email } = await sellerWithPassword(app)
  const cookie = cookieOf(await app.anyone.post('/signin', form({ email, password: PASSWORD })))
  const next = `next-${email}`
  await app.anyone.put('/dashboard/api/settings/email', {
    headers: { cookie, origin: PUBLIC_URL },
    payload: { email: next, password: PASSWORD },
  })
  const token = await mailedToken(app, next)
  const { closing, confirming } = await whileLocked(
    app.ctx,
    (db) => db`select from api_keys where account_id = ${accountId} for update`,
    async () => {
      const closing = close(second, accountId)
      await untilLockWaiters(app.ctx.db)
      const confirming = app.anyone.post('/email', form({ token }))
      await untilLockWaiters(app.ctx.db, 2)
      return { closing, confirming }
    },
  )
  expect([(await closing).status, (await confirming).status]).toEqual([200, 404])
})

it('an account is closed although the seller deletes a webhook endpoint meanwhile', async () => {
  const seller = await app.seller()
  const payload = { url: 'https://tool.example/hook', events: ['order.created'] }
  const endpoint = (await seller.post('/v1/webhooks', { payload })).body.data
  const { deleting, closing } = await whileLocked(
    app.ctx,
    // Makes the deletion wait after it has locked the endpoint.
    (db) => db`lock table notices in share mode`,
    async () => {
      const deleting = seller.delete(`/v1/webhooks/${endpoint.id}`)
      await untilLockWaiters(app.ctx.db)
      const closing = close(second, seller.accountId)
      await untilLockWaiters(app.ctx.db, 2)
      return { deleting, closing }
    },
  )
  expect([(await deleting).status, (await closing).status]).toEqual([204, 200])
  expect((await seller.get('/v1/me')).status).toBe(401)
})

it('the invitation of an invited member does not fail because the account is being closed', async () => {
  const { accountId } = await app.seller()
  const payload = { email: `invited-${accountId}@mail.example` }
  const invite = () =>
    app.operator.post(`/operator/v1/accounts/${accountId}/invitations`, { payload })
  await invite()
  const { closing, inviting } = await whileLocked(
    app.ctx,
    (db) => db`select from api_keys where account_id = ${accountId} for update`,
    async () => {
      const closing = close(second, accountId)
      await untilLockWaiters(app.ctx.db)
      const inviting = invite()
      await untilLockWaiters(app.ctx.db, 2)
      return { closing, inviting }
    },
  )
  expect((await inviting).status).toBe(202)
  // The invitation opens the account again, before or after the end of the closing.
  expect([200, 409]).toContain((await closing).status)
})

it('no listing of a closed account is on sale, however many requests of two services list cards meanwhile', async () => {
  for (let round = 0; round < 5; round++) {
    const seller = await app.seller()
    let created = 0
    const listing = [seller, second.withKey(seller.key)].flatMap((client) =>
      Array.from({ length: 2 }, async () => {
        for (;;) {
          const { status, body } = await createListings(client, items(20))
          if (status !== 200) return status
          created += body.created
        }
      }),
    )
    const { status, text } = await close(round % 2 ? app : second, seller.accountId)
    expect(status, text).toBe(200)
    expect(await Promise.all(listing)).toEqual(Array(4).fill(401))
    expect(await numberOf(seller.accountId, 'active')).toBe(0)
    expect(await numberOf(seller.accountId, 'removed')).toBe(created)
  }
})

it('a closed account that opens again has no notices from before', async () => {
  const seller = await app.seller()
  await app.operator.post(`/operator/v1/accounts/${seller.accountId}/keys/${seller.keyId}/rotate`)
  const notices = async () =>
    (await (await app.member(seller.accountId)).get('/dashboard/api/notices')).body.data
  expect(await notices()).toMatchObject([{ kind: 'key_rotated' }])
  expect((await close(app, seller.accountId)).status).toBe(200)
  expect(await notices()).toEqual([])
})

it('a closed account lists cards again after the operator, who has seen that it is closed, has enabled its API access, or has given it a member', async () => {
  const seller = await app.seller()
  const closedAt = async () =>
    (await app.operator.get(`/operator/v1/accounts/${seller.accountId}`)).body.data.closed_at
  expect(await closedAt()).toBeNull()
  const { closed_at } = (await close(app, seller.accountId)).body.data
  expect(closed_at).toMatch(/^20/)
  expect(await closedAt()).toBe(closed_at)
  const enable = (seen: string | null) =>
    app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
      payload: { api_access: 'enabled', closed_at: seen },
    })
  expect(await enable(null)).toMatchObject({
    status: 409,
    body: { error: { message: 'The account was closed meanwhile.' } },
  })
  expect((await enable('yesterday')).status).toBe(422)
  expect((await enable(closed_at)).body.data.closed_at).toBeNull()
  const { body } = await app.operator.post(`/operator/v1/accounts/${seller.accountId}/keys`, {
    payload: { scopes: ['listings:read', 'listings:write'] },
  })
  expect(await list(app.withKey(body.key), cardItem())).toHaveLength(1)
  expect(await closedAt()).toBeNull()

  for (const give of [
    () => changeAccount(app, seller.accountId, { password: 'correct horse battery' }),
    () =>
      app.operator.post(`/operator/v1/accounts/${seller.accountId}/invitations`, {
        payload: { email: 'misty@mail.example' },
      }),
  ]) {
    await close(app, seller.accountId)
    expect((await give()).status).toBeLessThan(300)
    const member = await app.member(seller.accountId)
    const payload = { items: [cardItem()] }
    expect((await member.post('/dashboard/api/listings', { payload })).body.created).toBe(1)
  }
})

it('a suspended account stays suspended when it is closed, and after it has opened again', async () => {
  const { accountId } = await openShop(app)
  const account = `/operator/v1/accounts/${accountId}`
  const { slug } = (await app.operator.get(account)).body.data
  const page = async () => (await app.anyone.get(`/shops/${slug}`)).status
  expect(await page()).toBe(200)
  await changeAccount(app, accountId, { api_access: 'suspended' })
  const { body } = await close(app, accountId)
  expect(body.data).toMatchObject({ api_access: 'suspended', closed_at: expect.any(String) })
  expect(await page()).toBe(404)
  const payload = { email: `again-${accountId}@mail.example` }
  expect((await app.operator.post(`${account}/invitations`, { payload })).status).toBe(202)
  expect((await app.operator.get(account)).body.data.closed_at).toBeNull()
  const member = await app.member(accountId)
  const listing = await member.post('/dashboard/api/listings', { payload: { items: [cardItem()] } })
  expect(listing.body.created).toBe(1)
  const { error } = (await sendCart(app, [[listing.body.results[0].listing.id, 1]])).body
  expect(error.message).toContain('is on holiday, suspended or closed')
  expect(await page()).toBe(404)
})
