import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { mailsTo } from '../../test/fixtures/members.ts'
import { untilLockWaiters, whileLocked } from '../../test/lock-waiters.ts'

const ACCOUNTS = '/operator/v1/accounts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

let count = 0
const newAccount = (more: object = {}) => {
  count++
  return { shop_name: `Shop ${count}`, email: `shop-${count}@mail.example`, ...more }
}
const create = (payload: object, headers: Record<string, string> = {}) =>
  app.operator.post(ACCOUNTS, { payload, headers })

const OPTION = {
  code: 'x',
  name: 'X',
  fulfilment: 'platform',
  tracked: true,
  price: 1,
  enabled: true,
}

describe('POST /operator/v1/accounts', () => {
  it('POST /operator/v1/accounts opens an account with defaults for omitted fields', async () => {
    const { status, body } = await create({ shop_name: 'Pallet & Sons', email: 'ash@mail.example' })
    expect(status).toBe(201)
    expect(body).toEqual({
      data: {
        id: expect.any(Number),
        shop_name: 'Pallet & Sons',
        slug: 'pallet-and-sons',
        email: 'ash@mail.example',
        business: false,
        seller_tier: 'Bronze',
        payout_verified: false,
        api_access: 'disabled',
        rating: null,
        reviews: 0,
        shipping_options: [],
        created_at: expect.stringMatching(/Z$/),
        closed_at: null,
      },
    })
  })

  it('POST /operator/v1/accounts accepts every field, shipping options in order and with exact prices', async () => {
    const option = { fulfilment: 'self_ship', tracked: false, enabled: true }
    const wanted = newAccount({
      slug: 'misty-s-water-cards',
      password: 'starmie-starmie',
      business: true,
      seller_tier: 'Diamond',
      payout_verified: true,
      api_access: 'enabled',
      rating: 4.75,
      reviews: 12,
      shipping_options: [
        { ...option, code: 'z', name: 'Letter', price: 1.005 },
        { ...option, code: 'a', name: 'Parcel', price: 0, fulfilment: 'platform', tracked: true },
      ],
    })
    const { body } = await create(wanted)
    const { password, shipping_options: _, ...shown } = wanted as Record<string, unknown>
    expect(body.data).toMatchObject(shown)
    expect(body.data.shipping_options).toEqual([
      { ...option, code: 'z', name: 'Letter', price: 1.01 },
      { code: 'a', name: 'Parcel', price: 0, fulfilment: 'platform', tracked: true, enabled: true },
    ])
    expect(JSON.stringify(body)).not.toContain(password)
    const [row] = await app.ctx
      .db`select password_hash from members where account_id = ${body.data.id}`
    expect(row?.password_hash).toMatch(/^scrypt\$/)
  })

  it('a generated slug gets a number when it is taken, and is “shop” for a name without letters', async () => {
    const slugOf = async (shop_name: string) =>
      (await create(newAccount({ shop_name }))).body.data.slug
    expect(await slugOf('Pokémon Corner')).toBe('pokemon-corner')
    expect(await slugOf('POKEMON  CORNER!')).toBe('pokemon-corner-2')
    expect(await slugOf('カード屋')).toBe('shop')
    expect(await slugOf('Weiß’ Øl & Łódź Straße')).toBe('weiss-ol-and-lodz-strasse')
  })

  it('a name that ten slugs have gets the number after the highest one, so that thousands need not be tried', async () => {
    const open = async (more: object = {}) =>
      (await create(newAccount({ shop_name: 'Viridian', ...more }))).body.data
    for (let i = 0; i < 10; i++) await open()
    await open({ slug: 'viridian-900' })
    await open({ slug: 'viridian-forest-1000' })
    const [first, second] = [await open(), await open()]
    expect([first.slug, second.slug]).toEqual(['viridian-901', 'viridian-902'])
  })

  it.each<[string, object, string]>([
    ['a missing name', { shop_name: undefined }, 'shop_name'],
    ['an empty name', { shop_name: '' }, 'shop_name'],
    ['a name that is a number', { shop_name: 5 }, 'shop_name'],
    ['a name with NUL in it', { shop_name: 'a\0b' }, 'shop_name'],
    ['a name of blanks', { shop_name: ' \u3000' }, 'shop_name'],
    ...[0x200b, 0x3164, 0xad, 0x2060].map((codePoint): [string, object, string] => [
      `a name of invisible characters such as U+${codePoint.toString(16)}`,
      { shop_name: ` ${String.fromCodePoint(codePoint)} ` },
      'shop_name',
    ]),
    ['a name of two lines', { shop_name: 'Kanto Cards\n\nPay again: evil.example' }, 'shop_name'],
    ['a name that reverses the text behind it', { shop_name: 'Kanto\u202e' }, 'shop_name'],
    ['a name that ends an isolation', { shop_name: 'Kanto\u2069' }, 'shop_name'],
    ['a name with a lone surrogate', { shop_name: 'a\ud800' }, 'shop_name'],
    ['an invalid e-mail address', { email: 'nobody' }, 'email'],
    ['an e-mail address with a name', { email: 'Ash<ash@mail.example>' }, 'email'],
    ['a slug with capitals', { slug: 'Shop' }, 'slug'],
    ['an unknown tier', { seller_tier: 'Tin' }, 'seller_tier'],
    ['a number sent as a string', { reviews: '3' }, 'reviews'],
    ['a fractional number of reviews', { reviews: 1.5 }, 'reviews'],
    ['a rating over 5', { rating: 5.1 }, 'rating'],
    ['null for a field that is not nullable', { business: null }, 'business'],
    ...['Letter\n\nPay again', ' ', '\u200b'].map((name): [string, object, string] => [
      `an option with the name ${JSON.stringify(name)}`,
      { shipping_options: [{ ...OPTION, name }] },
      'shipping_options.0.name',
    ]),
    ['an option without a price', { shipping_options: [{}] }, 'shipping_options.0.price'],
  ])('POST /operator/v1/accounts gets a 422 for %s', async (_, change, field) => {
    const { status, body } = await create(newAccount(change))
    expect(status).toBe(422)
    expect(body.error.type).toBe('validation_error')
    expect(body.error.fields[field]).toEqual([expect.any(String)])
  })

  it('POST /operator/v1/accounts accepts an integer written as 1.0', async () => {
    const payload = JSON.stringify(newAccount()).replace('}', ',"reviews":1.0}')
    const headers = { 'content-type': 'application/json' }
    expect((await app.operator.post(ACCOUNTS, { payload, headers })).body.data.reviews).toBe(1)
  })

  it('an account cannot have two shipping options with one code', async () => {
    const { status, body } = await create(newAccount({ shipping_options: [OPTION, OPTION] }))
    expect(status).toBe(422)
    expect(Object.keys(body.error.fields)).toEqual(['shipping_options.1.code'])
  })

  it('an e-mail address (in any case) or a slug that is taken gets a 422', async () => {
    const taken = newAccount({ slug: 'taken-slug' })
    await create(taken)
    const sameMail = await create(newAccount({ email: taken.email.toUpperCase() }))
    expect(sameMail.status).toBe(422)
    expect(sameMail.body.error.fields).toEqual({ email: ['The email has already been taken.'] })
    const sameSlug = await create(newAccount({ slug: 'taken-slug' }))
    expect(sameSlug.body.error.fields).toEqual({ slug: ['The slug has already been taken.'] })
  })

  it('an account with a password gets a 422 if its e-mail address is that of another account’s member, who stays as they were', async () => {
    const { id } = (await create(newAccount())).body.data
    const email = 'gary@mail.example'
    await app.operator.post(`${ACCOUNTS}/${id}/invitations`, { payload: { email } })
    const { status, body } = await create(newAccount({ email, password: 'starmie-starmie' }))
    expect(status).toBe(422)
    expect(body.error.fields).toEqual({ email: ['The email has already been taken.'] })
    const members = (await app.operator.get(`${ACCOUNTS}/${id}/members`)).body.data
    expect(members).toMatchObject([{ email, status: 'invited' }])
  })
})

describe('an Idempotency-Key on POST /operator/v1/accounts', () => {
  it('a repeated Idempotency-Key returns the first account and opens no second one', async () => {
    const wanted = newAccount()
    const headers = { 'idempotency-key': 'open-1' }
    const first = await create(wanted, headers)
    const second = await create(wanted, headers)
    expect(first.status).toBe(201)
    expect(second.status).toBe(201)
    expect(second.text).toBe(first.text)
  })
})

describe('GET /operator/v1/accounts', () => {
  it('GET /operator/v1/accounts pages through all accounts, newest first', async () => {
    for (let i = 0; i < 3; i++) await create(newAccount())
    const first = (await app.operator.get(`${ACCOUNTS}?per_page=2`)).body
    const second = (await app.operator.get(`${ACCOUNTS}?per_page=2&page=2`)).body
    const ids = [...first.data, ...second.data].map(({ id }) => id)
    expect(ids).toEqual([...ids].sort((a, b) => b - a))
    const [row] = await app.ctx.db`select count(*)::int as count from accounts`
    expect(first.meta.total).toBe(row?.count)
    expect(first.links.next).toBe('https://cards.example/operator/v1/accounts?per_page=2&page=2')
  })
})

describe('GET /operator/v1/accounts with q', () => {
  it('accounts are found by their id and by a part of name, slug or e-mail address, in any casing', async () => {
    const wanted = {
      shop_name: 'Élan & 100% Cards',
      slug: 'size-cards',
      email: 'Erika@mail.example',
    }
    const { id } = (await create(wanted)).body.data
    const byId = (await app.operator.get(`${ACCOUNTS}?q=${id}`)).body.data
    expect(byId.map((account: { id: number }) => account.id)).toContain(id)
    for (const q of ['& 100% c', 'Élan', 'élan', 'SIZE-c', 'erika@MAIL']) {
      const { status, body } = await app.operator.get(`${ACCOUNTS}?q=${encodeURIComponent(q)}`)
      const found = body.data.map((account: { id: number }) => account.id)
      expect({ q, status, found, total: body.meta.total }).toEqual({
        q,
        status: 200,
        found: [id],
        total: 1,
      })
    }
    for (const q of ['_', 'no such shop']) {
      expect((await app.operator.get(`${ACCOUNTS}?q=${q}`)).body.meta.total).toBe(0)
    }
    const other = (await create({ ...wanted, slug: 'other', email: 'o@mail.example' })).body.data.id
    const listed = (await app.operator.get(`${ACCOUNTS}?ids=${id},${other},999999`)).body
    expect(listed.data.map((account: { id: number }) => account.id)).toEqual([other, id])
    for (const ids of ['x', '1,,2', '-1', Array.from({ length: 101 }, (_, i) => i + 1).join()]) {
      const { status, body } = await app.operator.get(`${ACCOUNTS}?ids=${ids}`)
      expect([status, Object.keys(body.error.fields)]).toEqual([422, ['ids']])
    }
  })

  it('a list of ids may repeat an id, and has the others that follow it', async () => {
    const [first, second] = [await app.seller(), await app.seller()]
    const ids = `${Array(101).fill(first.accountId).join()},0${first.accountId},${second.accountId}`
    const { data } = (await app.operator.get(`${ACCOUNTS}?ids=${ids}`)).body
    expect(data.map((account: { id: number }) => account.id)).toEqual([
      second.accountId,
      first.accountId,
    ])
  })
})

describe('the account id in the path', () => {
  it('an unknown account id gets a 404 before the body is validated', async () => {
    expect((await app.operator.get(`${ACCOUNTS}/999999`)).status).toBe(404)
    const payload = { seller_tier: 'Tin' }
    expect((await app.operator.patch(`${ACCOUNTS}/999999`, { payload })).status).toBe(404)
  })
})

describe('PATCH /operator/v1/accounts/{id}', () => {
  it('changes of passwords hold no connection while they derive keys, so that other changes pass them', async () => {
    const CHANGES = 20
    const ids = await Promise.all(
      Array.from({ length: CHANGES }, async () => (await create(newAccount())).body.data.id),
    )
    let done = 0
    const changes = ids.map(async (id) => {
      const payload = { password: 'starmie-starmie' }
      const { status } = await app.operator.patch(`${ACCOUNTS}/${id}`, { payload })
      done++
      return status
    })
    const other = await app.operator.patch(`${ACCOUNTS}/${ids[0]}`, { payload: { rating: 4 } })
    expect(other.status).toBe(200)
    // If the changes held the ten connections, the other one would wait until most of them had ended.
    expect(done).toBeLessThan(CHANGES / 2)
    expect(await Promise.all(changes)).toEqual(Array(CHANGES).fill(200))
  })

  it('concurrent changes of the password of an account without members all succeed', async () => {
    const { id } = (await create(newAccount())).body.data
    const change = (n: number) =>
      app.operator.patch(`${ACCOUNTS}/${id}`, { payload: { password: `starmie-starmie-${n}` } })
    const requests = await whileLocked(
      app.ctx,
      (db) => db`lock table members in share mode`,
      async () => {
        const sent = [1, 2, 3, 4].map(change)
        await untilLockWaiters(app.ctx.db, sent.length)
        return { sent }
      },
    )
    const responses = await Promise.all(requests.sent)
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await app.ctx.db`select from members where account_id = ${id}`).toHaveLength(1)
  })

  it('PATCH /operator/v1/accounts/{id} changes only the sent fields', async () => {
    const { body: created } = await create(newAccount({ rating: 4, reviews: 2 }))
    const { id } = created.data
    const payload = { seller_tier: 'Master', rating: null, unknown: 'ignored' }
    const { status, body } = await app.operator.patch(`${ACCOUNTS}/${id}`, { payload })
    expect(status).toBe(200)
    expect(body.data).toEqual({ ...created.data, seller_tier: 'Master', rating: null })
    expect((await app.operator.get(`${ACCOUNTS}/${id}`)).body).toEqual(body)
  })

  it('PATCH /operator/v1/accounts/{id} replaces the shipping options as a whole', async () => {
    const option = {
      code: 'a',
      name: 'A',
      fulfilment: 'platform',
      tracked: true,
      price: 1,
      enabled: true,
    }
    const { body: created } = await create(newAccount({ shipping_options: [option] }))
    const payload = { shipping_options: [{ ...option, code: 'b', price: 4.5 }] }
    const { body } = await app.operator.patch(`${ACCOUNTS}/${created.data.id}`, { payload })
    expect(body.data.shipping_options).toEqual(payload.shipping_options)
    expect((await app.operator.get(`${ACCOUNTS}/${created.data.id}`)).body).toEqual(body)
  })

  it('PATCH /operator/v1/accounts/{id} with an empty body changes nothing', async () => {
    const { body: created } = await create(newAccount())
    const url = `${ACCOUNTS}/${created.data.id}`
    expect((await app.operator.patch(url, { payload: {} })).body).toEqual(created)
  })
})

it('a shop gets an e-mail when it is suspended, and one when the suspension ends, which say what works; a closed one gets none', async () => {
  const email = 'suspended@shops.example'
  const { accountId } = await app.seller({ account: { email } })
  for (const api_access of [
    'suspended',
    'suspended',
    'enabled',
    'disabled',
    'suspended',
    'disabled',
  ]) {
    await app.operator.patch(`${ACCOUNTS}/${accountId}`, { payload: { api_access } })
  }
  expect((await app.operator.post(`${ACCOUNTS}/${accountId}/close`)).status).toBe(200)
  for (const api_access of ['suspended', 'enabled']) {
    await app.operator.patch(`${ACCOUNTS}/${accountId}`, { payload: { api_access } })
  }
  const mails = (await mailsTo(app, email)).toReversed()
  expect(mails.map(({ subject }) => subject)).toEqual([
    'Your shop is suspended',
    'Your shop is no longer suspended',
    'Your shop is suspended',
    'Your shop is no longer suspended',
  ])
  expect(mails[0]!.text).toContain('ship your open orders and answer disputes')
  expect(mails[1]!.text).toContain('programs work now')
  expect(mails[3]!.text).toContain('API access is off')
})
