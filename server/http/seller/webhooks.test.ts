import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { fakeNetwork } from '../../test/fakes/network.ts'
import { deliveriesIn, endpointOf, sendSampleEvent, subscribe } from '../../test/fakes/receiver.ts'
import { NO_LIMITS } from '../../test/fixtures/listings.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  const internet = fakeNetwork()
  internet.names.set('dead.example', ['10.0.0.1'])
  app = await startTestApp({ network: internet, settings: NO_LIMITS })
})
beforeEach(async () => {
  seller = await app.seller()
})

const WEBHOOKS = '/v1/webhooks'
const HOOK = 'https://shop.example/hooks'
const CONTROL_CHARACTERS = 'The url field must not contain line breaks or other control characters.'
const PRIVATE = 'The url field must not point to a private or reserved address.'
const INVALID_URL = 'The url field must be a public http or https URL.'
const TOO_MANY = 'There are 16 webhook endpoints already: delete one of them first.'

/** Sends a registration, valid unless `more` says otherwise. */
const register = (more: object = {}, by = seller) =>
  by.post(WEBHOOKS, { payload: { url: HOOK, events: ['order.created'], ...more } })

const list = async (by = seller) => (await by.get(WEBHOOKS)).body.data
const urlsOf = async (by = seller) => (await list(by)).map(({ url }: { url: string }) => url)
const fill = async (count: number, by = seller) => {
  const ids: number[] = []
  for (let i = 1; i <= count; i++) ids.push((await subscribe(by, `${HOOK}/${i}`)).id)
  return ids
}

/** Disables an endpoint by ten failed deliveries: its name resolves to a private address. */
const disable = async (id: number) => {
  for (let failure = 0; failure < 10; failure++) await sendSampleEvent(app, seller.accountId)
  await app.runDeliveries()
  expect(await endpointOf(seller, id)).toMatchObject({ active: false })
}

describe('POST /v1/webhooks', () => {
  it('POST /v1/webhooks returns 201 with the endpoint, its fields in order, and the secret', async () => {
    const before = Math.floor(app.ctx.now().getTime() / 1000) * 1000
    const { status, body, headers } = await register({ events: ['listing.sold', 'order.created'] })
    expect(status).toBe(201)
    expect(headers['content-type']).toMatch(/^application\/json/)
    expect(Object.keys(body)).toEqual(['data', 'secret'])
    expect(Object.entries(body.data)).toEqual([
      ['id', expect.any(Number)],
      ['url', HOOK],
      ['events', ['listing.sold', 'order.created']],
      ['active', true],
      ['disabled_at', null],
      ['consecutive_failures', 0],
      ['created_at', expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)],
    ])
    expect(Date.parse(body.data.created_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(body.data.created_at)).toBeLessThanOrEqual(app.ctx.now().getTime())
    expect(await list()).toEqual([body.data])
  })

  it('every webhook endpoint gets its own secret: svc_whsec_ and 40 letters and digits', async () => {
    const secrets = new Set<string>()
    for (let i = 0; i < 5; i++) secrets.add((await register()).body.secret)
    expect(secrets.size).toBe(5)
    for (const secret of secrets) expect(secret).toMatch(/^svc_whsec_[A-Za-z0-9]{40}$/)
  })

  it('a webhook secret is in no later response, not in the log, and not in plain text in the database', async () => {
    const { id, secret } = await subscribe(seller, 'https://dead.example/hooks')
    const random = secret.slice('svc_whsec_'.length)
    await sendSampleEvent(app, seller.accountId)
    await app.runDeliveries()
    const { operator } = app
    const endpoint = `/operator/v1/accounts/${seller.accountId}/webhooks/${id}`
    const [delivery] = await deliveriesIn(app, `endpoint_id=${id}`)
    for (const response of [
      await seller.get(WEBHOOKS),
      await register(),
      await operator.get(`/operator/v1/accounts/${seller.accountId}/webhooks`),
      await operator.get(`/operator/v1/accounts/${seller.accountId}`),
      await operator.get('/operator/v1/deliveries'),
      await operator.post(`/operator/v1/deliveries/${delivery.id}/resend`),
      await operator.post(`${endpoint}/enable`),
      await operator.post(`${endpoint}/resend`, {
        payload: { from: '2020-01-01', to: '2090-01-01' },
      }),
      await operator.get('/operator/v1/sandbox/mail'),
    ]) {
      expect(response.status).toBeLessThan(300)
      expect(response.text).not.toContain(random)
    }
    expect(app.logged.some(({ delivery: id }) => id === delivery.id)).toBe(true)
    expect(JSON.stringify(app.logged)).not.toContain(random)
    expect(await tablesContaining(random)).toEqual([])
    // Proof that the search works.
    expect(await tablesContaining('https://dead.example/hooks')).toContain('webhook_endpoints')
  })

  it('an endpoint lists each event once, in the seller’s order', async () => {
    const { body } = await register({
      events: ['listing.sold', 'order.created', 'listing.sold', 'order.created', 'order.cancelled'],
    })
    expect(body.data.events).toEqual(['listing.sold', 'order.created', 'order.cancelled'])
    expect((await register({ events: WEBHOOK_EVENTS.toReversed() })).body.data.events).toEqual(
      WEBHOOK_EVENTS.toReversed(),
    )
    expect(
      (await register({ events: Array(1_000).fill('order.created') })).body.data.events,
    ).toEqual(['order.created'])
  })

  it('POST /v1/webhooks ignores unknown fields', async () => {
    const { status, body } = await register({ secret: 'mine', active: false, id: 1 })
    expect(status).toBe(201)
    expect(body.data.active).toBe(true)
    expect(body.secret).not.toBe('mine')
  })

  it('two webhook endpoints may have the same URL', async () => {
    expect([(await register()).status, (await register()).status]).toEqual([201, 201])
    expect(await urlsOf()).toEqual([HOOK, HOOK])
  })

  it.each([
    ['url', undefined, 'The url field is required.'],
    ['url', null, 'The url field must be a string.'],
    ['url', 5, 'The url field must be a string.'],
    ['url', [HOOK], 'The url field must be a string.'],
    ['url', {}, 'The url field must be a string.'],
    ['url', '', INVALID_URL],
    ['url', 'shop.example/hooks', INVALID_URL],
    ['url', '//shop.example/hooks', INVALID_URL],
    ['url', 'https://', INVALID_URL],
    ['url', 'http://[::1/', INVALID_URL],
    ['url', 'http://256.1.1.1/', INVALID_URL],
    ['url', 'ftp://shop.example/hooks', INVALID_URL],
    ['url', 'ws://shop.example/hooks', INVALID_URL],
    ['url', 'file:///etc/passwd', INVALID_URL],
    ['url', 'javascript:alert(1)', INVALID_URL],
    ['url', 'mailto:kanto@shop.example', INVALID_URL],
    ['url', `${HOOK}/\0`, 'The url field contains characters that cannot be stored.'],
    ['url', `${HOOK}/\ud800`, 'The url field contains characters that cannot be stored.'],
    ...['\n', '\r', '\t', '\v', '\x1b', '\x7f', '\x85', '\u2028', '\u2029'].flatMap(
      (character): [string, string, string][] => [
        ['url', `${HOOK}/a${character}b`, CONTROL_CHARACTERS],
        ['url', `${HOOK}${character}`, CONTROL_CHARACTERS],
      ],
    ),
    ['events', undefined, 'The events field is required.'],
    ['events', null, 'The events field must be an array.'],
    ['events', 'order.created', 'The events field must be an array.'],
    ['events', { 0: 'order.created' }, 'The events field must be an array.'],
    ['events', [], 'The events field must have at least 1 entry.'],
  ])(
    'POST /v1/webhooks refuses the %s %j with a 422 on that field',
    async (field, value, message) => {
      const { status, body } = await register({ [field]: value })
      expect([status, body.error.type]).toEqual([422, 'validation_error'])
      expect(body.error.fields).toEqual({ [field]: [message] })
      expect(await list()).toEqual([])
    },
  )

  it.each([
    ['order.shipped'],
    ['Order.created'],
    ['order.created '],
    [''],
    ['*'],
    ['order.created\0'],
  ])('POST /v1/webhooks refuses the unknown event %j at its index', async (event) => {
    const { status, body } = await register({ events: ['order.created', event] })
    expect(status).toBe(422)
    expect(body.error.fields).toEqual({
      'events.1': [`The selected events.1 is not valid. Possible: ${WEBHOOK_EVENTS.join(', ')}.`],
    })
  })

  it.each([[null], [5], [['order.created']], [{}]])(
    'POST /v1/webhooks refuses the event %j, which is not a string, at its index',
    async (event) => {
      const { status, body } = await register({ events: [event] })
      expect([status, Object.keys(body.error.fields)]).toEqual([422, ['events.0']])
    },
  )

  it('POST /v1/webhooks reports errors in both fields at once', async () => {
    expect((await seller.post(WEBHOOKS, { payload: {} })).body.error.fields).toEqual({
      url: ['The url field is required.'],
      events: ['The events field is required.'],
    })
    expect((await register({ url: 'http://10.0.0.1/', events: [] })).body.error.fields).toEqual({
      url: [PRIVATE],
      events: ['The events field must have at least 1 entry.'],
    })
  })

  it('POST /v1/webhooks requires a JSON object as its body', async () => {
    const headers = { 'content-type': 'application/json' }
    for (const payload of ['{', '[]', '"x"', 'null']) {
      const { status, body } = await seller.post(WEBHOOKS, { payload, headers })
      expect([status, Object.keys(body.error.fields)], payload).toEqual([422, ['body']])
    }
    const { status, body } = await seller.post(WEBHOOKS)
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
  })

  it('an endpoint’s URL may have 2048 characters, not 2049, however many bytes they take', async () => {
    for (const [letter, length] of [
      ['a', 2048],
      ['🂡', 2048],
    ] as const) {
      const longest = `${HOOK}/${letter.repeat(length - HOOK.length - 1)}`
      expect([...longest]).toHaveLength(2048)
      expect((await register({ url: longest })).body.data.url).toBe(longest)
      const { status, body } = await register({ url: longest + letter })
      expect(status).toBe(422)
      expect(body.error.fields).toEqual({
        url: ['The url field must not be longer than 2048 characters.'],
      })
    }
  })

  it.each([
    // All blocks and spellings: server/outbound/public-address.test.ts.
    ['IPv4', 'http://10.0.0.1/'],
    ['another spelling', 'http://0x7f.1/'],
    ['spaces around', ' http://127.0.0.1 '],
    ['IPv6', 'http://[::ffff:10.0.0.1]/'],
  ])('POST /v1/webhooks refuses a literal address that is not public (%s): %s', async (_, url) => {
    const { status, body } = await register({ url })
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(body.error.fields).toEqual({ url: [PRIVATE] })
    expect(await list()).toEqual([])
  })

  it.each([
    // A name, which is resolved before each attempt and never here.
    'http://localhost',
    // Public addresses.
    'http://134744072/',
    'https://[2606:4700::1111]:8443/hooks',
    // Every part that a URL can have.
    'https://ash:pika%20chu@shop.example/hooks',
    'https://shop.example:65535/hooks',
    'https://shop.example/a/b/../c//d?x=1&x=2&y=%C3%A9#part',
    'https://shop.example?x',
    'https://münchen.example/käse?größe=ü',
    'https://ポケモン.example/',
    'HTTPS://Shop.Example/Hooks',
    'https://shop.example./hooks',
  ])('POST /v1/webhooks accepts %s and stores it unchanged', async (url) => {
    const { status, body } = await register({ url })
    expect(status).toBe(201)
    expect(body.data.url).toBe(url)
    expect(await urlsOf()).toEqual([url])
  })
})

describe('the limit of sixteen endpoints', () => {
  it('a seller’s 17th webhook endpoint is refused until another one is deleted', async () => {
    const ids = await fill(16)
    const { status, body } = await register()
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(body.error.fields).toEqual({ url: [TOO_MANY] })
    expect(await list()).toHaveLength(16)
    await seller.delete(`${WEBHOOKS}/${ids[7]}`)
    const { id } = await subscribe(seller, HOOK)
    expect((await list()).map(({ id }: { id: number }) => id)).toEqual([
      ...ids.slice(0, 7),
      ...ids.slice(8),
      id,
    ])
    expect((await register()).status).toBe(422)
  })

  it('the limit of sixteen webhook endpoints applies to each seller', async () => {
    await fill(16)
    const neighbour = await app.seller()
    expect((await register({}, neighbour)).status).toBe(201)
  })

  it('disabled webhook endpoints count towards the limit', async () => {
    const { id } = await subscribe(seller, 'https://dead.example/')
    await disable(id)
    await fill(15)
    expect((await register()).body.error.fields).toEqual({ url: [TOO_MANY] })
  })

  it('thirty concurrent registrations in two processes create sixteen endpoints', async () => {
    const other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
    const elsewhere = { ...seller, ...other.withKey(seller.key) }
    const responses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => register({}, i % 2 ? elsewhere : seller)),
    )
    const made = responses.filter(({ status }) => status === 201)
    expect(made).toHaveLength(16)
    for (const { status, body } of responses) {
      if (status !== 201) expect([status, body.error.fields]).toEqual([422, { url: [TOO_MANY] }])
    }
    const ids = made.map(({ body }) => body.data.id).toSorted((a, b) => a - b)
    expect((await list()).map(({ id }: { id: number }) => id)).toEqual(ids)
    expect(await list(elsewhere)).toEqual(await list())
  })
})

describe('GET /v1/webhooks', () => {
  it('GET /v1/webhooks lists the endpoints, oldest first, without their secrets', async () => {
    expect((await seller.get(WEBHOOKS)).body).toEqual({ data: [] })
    const ids = await fill(3)
    const { status, body, text } = await seller.get(WEBHOOKS)
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['data'])
    expect(body.data.map(({ id }: { id: number }) => id)).toEqual(ids)
    for (const endpoint of body.data) {
      expect(Object.keys(endpoint)).toEqual([
        ...['id', 'url', 'events', 'active', 'disabled_at', 'consecutive_failures', 'created_at'],
      ])
    }
    expect(text).not.toContain('whsec')
  })

  it('GET /v1/webhooks has no pages: it always lists all sixteen endpoints', async () => {
    await fill(16)
    for (const query of ['', '?per_page=5', '?page=2', '?page=0']) {
      const { status, body } = await seller.get(WEBHOOKS + query)
      expect([status, body.data.length], query).toEqual([200, 16])
    }
  })

  it('GET /v1/webhooks lists no endpoints of other sellers', async () => {
    await fill(2)
    expect(await list(await app.seller())).toEqual([])
  })

  it('GET /v1/webhooks shows an endpoint’s consecutive failures and when it was disabled', async () => {
    const { id } = await subscribe(seller, 'https://dead.example/')
    await sendSampleEvent(app, seller.accountId)
    await app.runDeliveries()
    expect(await endpointOf(seller, id)).toMatchObject({
      active: true,
      disabled_at: null,
      consecutive_failures: 1,
    })
    await disable(id)
    expect(await endpointOf(seller, id)).toMatchObject({
      active: false,
      disabled_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      consecutive_failures: 10,
    })
  })
})

describe('DELETE /v1/webhooks/{webhookEndpoint}', () => {
  it('DELETE /v1/webhooks/{webhookEndpoint} returns 204 and erases the endpoint and its secret', async () => {
    const [gone, kept] = await fill(2)
    const { status, text, headers } = await seller.delete(`${WEBHOOKS}/${gone}`)
    expect([status, text]).toEqual([204, ''])
    expect(headers).not.toHaveProperty('content-type')
    expect((await list()).map(({ id }: { id: number }) => id)).toEqual([kept])
    const [row] = await app.ctx.db`select secret from webhook_endpoints where id = ${gone!}`
    expect(row).toEqual({ secret: null })
  })

  it('deleting a deleted webhook endpoint returns 404', async () => {
    const [id] = await fill(1)
    await seller.delete(`${WEBHOOKS}/${id}`)
    const { status, body } = await seller.delete(`${WEBHOOKS}/${id}`)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('concurrent deletions of one webhook endpoint give one 204 and otherwise 404', async () => {
    const [id] = await fill(1)
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => seller.delete(`${WEBHOOKS}/${id}`)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(404)])
  })

  it('deleting another seller’s webhook endpoint gets the same 404 as an unknown one', async () => {
    const [id] = await fill(1)
    const stranger = await app.seller()
    const theirs = await stranger.delete(`${WEBHOOKS}/${id}`)
    expect([theirs.status, theirs.body.error.type]).toEqual([404, 'not_found'])
    expect(theirs.text).toBe((await stranger.delete(`${WEBHOOKS}/999999`)).text)
    expect(await endpointOf(seller, id!)).toMatchObject({ active: true })
  })

  it('DELETE /v1/webhooks/{webhookEndpoint} returns 404 for an unknown endpoint', async () => {
    const { status, body } = await seller.delete(`${WEBHOOKS}/999999`)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('DELETE /v1/webhooks/{webhookEndpoint} accepts an empty JSON body', async () => {
    const [id] = await fill(1)
    const headers = { 'content-type': 'application/json' }
    expect((await seller.delete(`${WEBHOOKS}/${id}`, { headers })).status).toBe(204)
  })

  it('a disabled webhook endpoint can be deleted', async () => {
    const { id } = await subscribe(seller, 'https://dead.example/')
    await disable(id)
    expect((await seller.delete(`${WEBHOOKS}/${id}`)).status).toBe(204)
    expect(await list()).toEqual([])
  })

  it('deleting a webhook endpoint skips its pending deliveries', async () => {
    const { id } = await subscribe(seller, 'https://dead.example/')
    await sendSampleEvent(app, seller.accountId)
    await seller.delete(`${WEBHOOKS}/${id}`)
    await app.runDeliveries()
    expect(await deliveriesIn(app, `endpoint_id=${id}`)).toMatchObject([
      { status: 'skipped', attempts: [], next_attempt_at: null },
    ])
  })
})

describe('access to /v1/webhooks', () => {
  const anywhere = (id: number | string = 999_999) =>
    [
      ['get', WEBHOOKS],
      ['post', WEBHOOKS],
      ['delete', `${WEBHOOKS}/${id}`],
    ] as const

  it('/v1/webhooks without a key returns 401', async () => {
    for (const [method, path] of anywhere()) {
      const { status, body } = await app.anyone[method](path)
      expect([status, body.error.type]).toEqual([401, 'authentication_error'])
    }
  })

  it('/v1/webhooks without the scope webhooks:manage returns 403 before any other check', async () => {
    const narrow = await app.seller({
      scopes: ['catalog:read', 'listings:read', 'listings:write', 'orders:read', 'orders:write'],
    })
    const headers = { 'content-type': 'application/json' }
    for (const [method, path] of [...anywhere(), ...anywhere('x')]) {
      for (const payload of method === 'get' ? [undefined] : ['{', '{"url":5}']) {
        const { status, body } = await narrow[method](path, payload ? { payload, headers } : {})
        expect([status, body.error]).toEqual([
          403,
          { type: 'authorization_error', message: 'The API key lacks the scope webhooks:manage.' },
        ])
      }
    }
  })

  it('a key with only the scope webhooks:manage can manage webhook endpoints', async () => {
    const by = await app.seller({ scopes: ['webhooks:manage'] })
    const { id } = await subscribe(by, HOOK)
    expect(await list(by)).toMatchObject([{ id }])
    expect((await by.delete(`${WEBHOOKS}/${id}`)).status).toBe(204)
  })

  it.each(['suspended', 'disabled'] as const)(
    '/v1/webhooks returns 403 for a %s account',
    async (apiAccess) => {
      const by = await app.seller({ account: { apiAccess } })
      for (const [method, path] of anywhere()) {
        const { status, body } = await by[method](path)
        expect([status, body.error.type]).toEqual([403, 'authorization_error'])
      }
    },
  )

  it('an account without verified payouts can register a webhook endpoint', async () => {
    const by = await app.seller({ account: { payoutVerified: false } })
    expect((await register({}, by)).status).toBe(201)
  })
})

/** The tables that contain a text, as plain text or hex. */
async function tablesContaining(text: string): Promise<string[]> {
  const { db } = app.ctx
  const tables = await db<{ name: string }[]>`
    select table_name as name
    from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
  `
  const found: string[] = []
  const asHex = Buffer.from(text).toString('hex')
  for (const { name } of tables) {
    const hits = await db`
      select from ${db(name)} as t
      where strpos(t::text, ${text}) > 0 or strpos(t::text, ${asHex}) > 0
      limit 1
    `
    if (hits.length > 0) found.push(name)
  }
  return found
}
