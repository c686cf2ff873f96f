import { beforeAll, describe, expect, it } from 'vitest'
import { failedCsv, guessMapping, readCsv, readRow } from '../../../sdk/src/csv.ts'
import { raiseVersion } from '../../catalog/import/save-records.ts'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { importRecords } from '../../test/catalog-fixture.ts'
import {
  cardItem,
  gradedItem,
  items,
  list,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'
import { buy, SHIPS } from '../../test/fixtures/orders.ts'

const LISTINGS = '/dashboard/api/listings'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

/** A seller with a key, and the member who is signed in. */
async function openShop() {
  const seller = await app.seller({ account: SHIPS })
  return { seller, member: await app.member(seller.accountId) }
}

const idsIn = ({ body }: { body: { data: { id: number }[] } }) => body.data.map(({ id }) => id)

describe('GET /dashboard/api/listings', () => {
  it('a search finds the newest 10,000 listings, in whatever way each matches', async () => {
    const { seller, member } = await openShop()
    const [card] = await list(seller, cardItem())
    const reference = 'obsidian'
    await member.patch(`${LISTINGS}/${card}`, { payload: { reference } })
    await insertListings(seller.accountId, 10_000)
    const newest = await member.get(`${LISTINGS}?q=${reference}&per_page=1`)
    expect(newest.body.meta.total).toBe(10_000)
    const past = await member.get(`${LISTINGS}?q=${reference}&per_page=1&page=10001`)
    expect(past.body.data).toEqual([])
  })

  it('the search finds a reference with the blanks that a spreadsheet has copied around it', async () => {
    const { seller, member } = await openShop()
    const [id] = await list(seller, cardItem(), cardItem())
    await member.patch(`${LISTINGS}/${id}`, { payload: { reference: 'QXZ 77' } })
    expect(idsIn(await member.get(`${LISTINGS}?q=%20QXZ%2077%09`))).toEqual([id])
  })

  it('the search finds names of cards and products and whole references, with a status', async () => {
    const { seller, member } = await openShop()
    const [charizard, box, hidden] = (await list(
      seller,
      cardItem(),
      productItem(),
      cardItem(),
    )) as [number, number, number]
    await member.patch(`${LISTINGS}/${hidden}`, { payload: { status: 'hidden', reference: 'A 1' } })
    const search = async (query: string) => idsIn(await member.get(`${LISTINGS}?${query}`))
    expect(await search('')).toEqual([hidden, box, charizard])
    expect(await search('q=charizard')).toEqual([hidden, charizard])
    expect(await search('q=charizard&status=hidden')).toEqual([hidden])
    expect(await search('q=booster box')).toEqual([box])
    expect(await search('q=A 1')).toContain(hidden)
    expect(await search('q=nothing')).toEqual([])
    expect(await search('q=charizard&per_page=1&page=2')).toEqual([charizard])

    // The search over everything.
    const buyer = { name: 'Misty Waterflower', email: 'misty@mail.example' }
    const order = (await buy(app, [[charizard, 1]], { buyer })).orderIds[0]!
    const everything = async (q: string, who = member) => {
      const { orders, listings, items } = (await who.get(`/dashboard/api/search?q=${q}`)).body.data
      const idsOf = (rows: object[], name: string) => rows.map((row) => row[name as keyof object])
      return [idsOf(orders, 'order_id'), idsOf(listings, 'id'), items.length > 0]
    }
    expect(await everything('water')).toEqual([[order], [], expect.any(Boolean)])
    expect(await everything(String(order))).toEqual([
      [order],
      expect.any(Array),
      expect.any(Boolean),
    ])
    expect(await everything('charizard')).toEqual([[], [hidden, charizard], true])
    expect((await everything(String(hidden)))[1]).toContain(hidden)
    expect((await everything('A 1'))[1]).toContain(hidden)
    const { member: stranger } = await openShop()
    for (const q of ['water', String(order), String(hidden), 'A 1', 'charizard']) {
      expect((await everything(q, stranger)).slice(0, 2)).toEqual([[], []])
    }
    expect((await stranger.get(`${LISTINGS}/${hidden}`)).status).toBe(404)
    expect((await member.get(`${LISTINGS}/${hidden}`)).body.data.id).toBe(hidden)

    const { body } = await member.get(`${LISTINGS}?q=charizard&per_page=1`)
    expect(body.meta).toMatchObject({ total: 2, last_page: 2 })
    expect(body.data[0].item).toMatchObject({ card: 'sv3-125', details: expect.any(String) })
  })

  it('a member never reads or changes the listings of another account', async () => {
    const [{ seller }, { member: other }] = [await openShop(), await openShop()]
    const ids = await list(seller, ...items(2))
    expect(idsIn(await other.get(LISTINGS))).toEqual([])
    expect(idsIn(await other.get(`${LISTINGS}?q=charizard`))).toEqual([])
    const { status } = await other.patch(`${LISTINGS}/${ids[0]}`, { payload: { price: 1 } })
    expect(status).toBe(404)
    for (const action of [{ action: 'price', percent: 10 }, { action: 'delete' }]) {
      const { body } = await other.post(`${LISTINGS}/bulk`, { payload: { ids, ...action } })
      expect(body.data).toMatchObject({ changed: 0, failed: 2 })
    }
    expect((await other.get(`${LISTINGS}/export`)).text.trim().split('\n')).toHaveLength(1)
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(2)
  })

  it('a change of prices by a percentage rounds half a cent up: €50 and 33.33 % are €66.67', async () => {
    const { seller, member } = await openShop()
    const ids = await list(seller, productItem({ price: 50 }))
    const payload = { ids, action: 'price', percent: 33.33 }
    expect((await member.post(`${LISTINGS}/bulk`, { payload })).body.data.changed).toBe(1)
    expect((await seller.get('/v1/listings')).body.data[0].price).toBe(66.67)
  })

  it('a listing says whether the marketplace hides its card or product, itself or with its set', async () => {
    const { seller, member } = await openShop()
    const names = { name: 'Seen', series: 'Seen', language: 'EN', region: 'int' }
    await importRecords(app.operator, [
      { type: 'set', id: 'seen', ...names },
      { type: 'card', id: 'seen-1', set_id: 'seen', number: '1', name: 'Seen' },
      { type: 'card', id: 'seen-2', set_id: 'seen', number: '2', name: 'Seen' },
      { type: 'product', slug: 'seen-tin', category: 'tin', name: 'Seen' },
    ])
    const ids = await list(
      seller,
      cardItem({ card: 'seen-1' }),
      cardItem({ card: 'seen-2' }),
      productItem({ product: 'seen-tin' }),
    )
    const hide = (records: object) =>
      app.operator.put('/operator/v1/catalog/visibility', { payload: records })
    const marks = async () => {
      const { data } = (await member.get(LISTINGS)).body
      return data.toReversed().map(({ item_hidden }: { item_hidden: boolean }) => item_hidden)
    }
    expect(await marks()).toEqual([false, false, false])
    await hide({ cards: { 'seen-1': false }, products: { 'seen-tin': false } })
    expect(await marks()).toEqual([true, false, true])
    await hide({ sets: { seen: false }, products: { 'seen-tin': true } })
    expect(await marks()).toEqual([true, true, false])
    const { body } = await member.get(`${LISTINGS}/${ids[1]}`)
    expect(body.data).toMatchObject({ item_hidden: true, item: { name: 'Seen' } })
    await hide({ sets: { seen: true } })
    expect(await marks()).toEqual([true, false, false])
  })

  it('the search finds the only listing of a card that a thousand others are named like', async () => {
    const { seller, member } = await openShop()
    const cards = Array.from({ length: 1_100 }, (_, i) => ({
      type: 'card',
      id: `sv3-ditto${i}`,
      set_id: 'sv3',
      number: `D${i}`,
      name: 'Ditto',
    }))
    await importRecords(app.operator, cards)
    const found = (await seller.get('/v1/cards?q=ditto&per_page=100&page=11')).body.data
    expect(found).toHaveLength(100)
    const ids = await list(seller, cardItem({ card: found.at(-1).id }))
    expect(idsIn(await member.get(`${LISTINGS}?q=ditto`))).toEqual(ids)
  })
})

describe('changes in the dashboard', () => {
  it('a change follows the rules of the seller API, and shows messages for its fields', async () => {
    const { seller, member } = await openShop()
    const [id, other] = (await list(seller, cardItem(), cardItem())) as [number, number]
    const change = (payload: object) => member.patch(`${LISTINGS}/${id}`, { payload })
    const { body } = await change({ price: 7.5, quantity: 0, reference: 'R', description: 'x' })
    expect(body.data).toMatchObject({ price: 7.5, status: 'sold', reference: 'R' })
    expect(body.data.item.name).toContain('Charizard')
    await member.patch(`${LISTINGS}/${other}`, { payload: { reference: 'S' } })
    for (const [payload, field] of [
      [{ price: 0 }, 'price'],
      [{ quantity: 1000 }, 'quantity'],
      [{ reference: 'S' }, 'reference'],
    ] as const) {
      const refused = await change(payload)
      expect(refused.status).toBe(422)
      expect(Object.keys(refused.body.error.fields)).toEqual([field])
    }
  })

  it('a bulk edit by search reaches every listing in calls of a thousand, and a repeated call has no effect', async () => {
    const { seller, member } = await openShop()
    const [listing] = await list(seller, productItem({ price: 100 }))
    const now = app.ctx.now()
    await app.ctx.db`
      insert into listings (account_id, product_slug, price_cents, quantity, language, created_at, updated_at)
      select account_id, product_slug, 1005, 1, 'EN', ${now}, ${now}
      from listings
      cross join generate_series(1, 1200)
      where id = ${listing!}
    `
    const edit = async (payload: object, key: string) =>
      (await member.post(`${LISTINGS}/bulk`, { payload, headers: { 'idempotency-key': key } })).body
        .data
    const action = { search: { q: 'booster box' }, action: 'price', percent: 10 }
    const first = await edit(action, 'run-0')
    expect(first).toMatchObject({ changed: 1_000, failed: 0, next: expect.any(Number) })
    expect(await edit(action, 'run-0')).toEqual(first)
    const second = await edit({ ...action, before: first.next }, 'run-1')
    expect(second).toMatchObject({ changed: 201, failed: 0, next: null })
    const prices = await app.ctx.db<{ cents: number; count: number }[]>`
      select price_cents as cents, count(*) as count
      from listings
      where account_id = ${seller.accountId}
      group by 1
      order by 1
    `
    expect([...prices]).toEqual([
      { cents: 1106, count: 1_200 },
      { cents: 11_000, count: 1 },
    ])
    const hidden = await edit({ search: {}, action: 'status', status: 'hidden' }, 'run-2')
    expect(hidden.changed).toBe(1_000)
    expect((await member.get(`${LISTINGS}?status=hidden`)).body.meta.total).toBe(1_000)
    expect((await member.post(`${LISTINGS}/bulk`, { payload: { action: 'delete' } })).status).toBe(
      422,
    )
  })

  it('a bulk edit of a search by text fails if an import has changed the catalog since the search was shown, and a repeated call has its first response', async () => {
    const { seller, member } = await openShop()
    const card = (id: string, name: string) => {
      const names = { name, number: id }
      return { type: 'card', id, set_id: 'sv3', ...names }
    }
    await importRecords(app.operator, [card('found', 'Smeargle'), card('other', 'Kecleon')])
    const [found, other] = await list(
      seller,
      cardItem({ card: 'found' }),
      cardItem({ card: 'other' }),
    )
    const path = `${LISTINGS}?q=smeargle`
    const shown = await member.get(path)
    expect(idsIn(shown)).toEqual([found])
    const edit = (catalog_version: number, key: string, search: object = { q: 'smeargle' }) =>
      member.post(`${LISTINGS}/bulk`, {
        payload: { search, catalog_version, action: 'status', status: 'hidden' },
        headers: { 'idempotency-key': key },
      })
    const { catalog_version: version } = shown.body
    const first = await edit(version, 'shown')
    expect(first.body.data).toMatchObject({ changed: 1, failed: 0 })

    await importRecords(app.operator, [card('other', 'Smeargle (reprint)')])
    const refused = await edit(version, 'changed')
    expect([refused.status, refused.body.error.type]).toEqual([409, 'conflict'])
    expect(idsIn(await member.get(`${LISTINGS}?status=hidden`))).toEqual([found])
    expect((await edit(version, 'shown')).body).toEqual(first.body)
    const everything = await edit(version, 'everything', { status: 'active' })
    expect(everything.body.data.changed).toBe(1)

    const again = await member.get(path)
    expect(idsIn(again)).toEqual([other, found])
    expect((await edit(again.body.catalog_version, 'again')).body.data.changed).toBe(2)

    // Another process raises the version, and its signal has not arrived here.
    await raiseVersion(app.ctx.db, [])
    const newer = await edit(again.body.catalog_version + 1, 'newer')
    expect(newer.body.data).toMatchObject({ changed: 2 })
    expect((await edit(again.body.catalog_version, 'older')).status).toBe(409)
    expect((await edit(again.body.catalog_version + 2, 'unknown')).status).toBe(409)
  })

  it('many bulk edits with a newer catalog than this process has do not keep each other from loading it', async () => {
    const { member } = await openShop()
    const edits = await Promise.all(
      Array.from({ length: 30 }, () =>
        member.post(`${LISTINGS}/bulk`, {
          payload: {
            search: { q: 'charizard' },
            catalog_version: 2_000_000_000,
            action: 'status',
            status: 'hidden',
          },
        }),
      ),
    )
    expect(new Set(edits.map(({ status }) => status))).toEqual(new Set([409]))
  })

  it('a bulk edit counts as one write for each 100 listings, and one beyond the limit has no effect', async () => {
    const limited = await startTestApp({
      template: 'fixture',
      settings: { RATE_LIMIT_WRITE: '12' },
      rateLimitTime: () => 0,
    })
    const seller = await limited.seller()
    const member = await limited.member(seller.accountId)
    const [id] = (await list(seller, cardItem())) as [number]
    const edit = (count: number, status: string) =>
      member.post(`${LISTINGS}/bulk`, {
        payload: { ids: Array(count).fill(id), action: 'status', status },
      })
    expect((await edit(100, 'hidden')).headers['x-ratelimit-remaining']).toBe('11')
    expect((await edit(201, 'hidden')).headers['x-ratelimit-remaining']).toBe('8')
    const refused = await edit(1_000, 'active')
    expect([refused.status, refused.body.error.type]).toEqual([429, 'rate_limited'])
    expect(idsIn(await member.get(`${LISTINGS}?status=hidden`))).toEqual([id])
  })

  it('a bulk edit counts its failures by reason', async () => {
    const { seller, member } = await openShop()
    const ids = await list(seller, ...items(3))
    await buy(app, [[ids[0]!, 1]])
    const { body } = await member.post(`${LISTINGS}/bulk`, { payload: { ids, action: 'delete' } })
    expect(body.data).toEqual({
      changed: 2,
      failed: 1,
      reasons: [{ message: expect.stringContaining('open order'), count: 1 }],
      next: null,
    })
  })
})

describe('import and export', () => {
  it('the check of an import reports errors, candidates and items, and writes nothing', async () => {
    const { seller, member } = await openShop()
    const { body } = await member.post(`${LISTINGS}/check`, {
      payload: { items: [cardItem(), productItem(), cardItem({ card: 'nothing', price: 0 }), 7] },
    })
    expect(body.data).toEqual([
      { item: expect.objectContaining({ card: 'sv3-125' }) },
      { item: expect.objectContaining({ product: 'obsidian-flames-booster-box' }) },
      {
        errors: {
          card: [expect.stringContaining('nothing')],
          price: ['The price field must be at least 0.01.'],
        },
      },
      { errors: { item: ['The item must be an object.'] } },
    ])
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(0)
  })

  it('a repeated chunk of an import lists its rows once', async () => {
    const { seller, member } = await openShop()
    const send = () =>
      member.post(LISTINGS, {
        payload: { items: items(3) },
        headers: { 'idempotency-key': 'import-1-0' },
      })
    const [first, second] = await Promise.all([send(), send()])
    expect(first.body.created).toBe(3)
    expect(second.text).toBe(first.text)
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(3)
  })

  it('an unverified account can check an import, but list nothing', async () => {
    const seller = await app.seller({ account: { payoutVerified: false } })
    const member = await app.member(seller.accountId)
    const payload = { items: [cardItem()] }
    expect((await member.post(`${LISTINGS}/check`, { payload })).status).toBe(200)
    expect((await member.post(LISTINGS, { payload })).status).toBe(403)
  })

  it('the export has a line for each listing, newest first, with quoted texts', async () => {
    const { seller, member } = await openShop()
    const description = 'a "b", c\nd'
    const [first, second] = (await list(
      seller,
      gradedItem({ description, price: 1234.5 }),
      productItem(),
    )) as [number, number]
    const { text, headers } = await member.get(`${LISTINGS}/export`)
    expect(headers['content-disposition']).toBe('attachment; filename="listings.csv"')
    const box = 'Obsidian Flames Booster Box'
    expect(text).toBe(
      `\ufeffreference,card,product,condition,language,printing,price,quantity,grading_company,grading_grade,description,photo_urls,name,status,id\r
,,obsidian-flames-booster-box,,EN,standard,129.99,2,,,,,${box},active,${second}\r
,sv3-125,,G,EN,standard,1234.5,3,PSA,9.5,"a ""b"", c\nd",,Charizard ex,active,${first}\r
`,
    )
    const product = await member.get(`${LISTINGS}/export?q=booster box`)
    expect(product.text.match(/\r\n/g)).toHaveLength(2)
  })

  it('an exported text that a spreadsheet takes for a formula begins with an apostrophe, which an import removes', async () => {
    const { seller, member } = await openShop()
    const texts = ['=1+1', '+1-1', '-NM', '@home', "'=1", "'n", '-1.5']
    await list(seller, ...texts.map((text) => cardItem({ description: text })))
    const { text } = await member.get(`${LISTINGS}/export`)
    const written = ["'=1+1", "'+1-1", "'-NM", "'@home", "''=1", "'n", '-1.5']
    for (const one of written) expect(text).toContain(`,${one},,Charizard ex,`)
    const csv = readCsv(Buffer.from(text))
    const { columns, rows } = csv
    const read = rows.map(({ values }) => readRow(values, guessMapping(columns), csv).item)
    expect(read.map(({ description }) => description)).toEqual(texts.toReversed())
    const failed = failedCsv(
      columns,
      rows.map(({ values }) => ({ row: values, reason: '' })),
    )
    expect(failed).toContain(`,"'=1+1",`)
    expect(failed).toContain(',-1.5,')
    expect(readCsv(Buffer.from(failed)).rows.map(({ values }) => values.slice(0, -1))).toEqual(
      rows.map(({ values }) => values),
    )
  })

  it('an export that fails in the middle is logged, and its connection ends before the last line', async () => {
    const { seller, member } = await openShop()
    await insertListings(seller.accountId, 1)
    const { db } = app.ctx
    await db`alter table listings rename column reference to renamed`
    try {
      await expect(member.get(`${LISTINGS}/export`)).rejects.toThrow()
    } finally {
      await db`alter table listings rename column renamed to reference`
    }
    const error = app.logged.findLast(({ level }) => level === 'error')
    expect(error).toMatchObject({ message: 'an export of listings failed', err: { code: '42703' } })
  })
})

const insertListings = (accountId: number, count: number) => app.ctx.db`
  insert into listings (
    account_id, product_slug, price_cents, quantity, language, created_at, updated_at
  )
  select ${accountId}, 'obsidian-flames-booster-box', 500, 1, 'EN', now(), now()
  from generate_series(1, ${count})
`
