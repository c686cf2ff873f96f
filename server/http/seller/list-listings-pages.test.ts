import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, PUBLIC_URL, startTestApp, type TestApp } from '../../test/app.ts'
import { advance, cardItem, items, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { allRecords, pathOf, walk } from '../../test/walk.ts'

const LISTINGS = '/v1/listings'
const LISTINGS_URL = `${PUBLIC_URL}${LISTINGS}`

const idsIn = (data: { id: number }[]) => data.map(({ id }) => id)

let app: TestApp
/** Has 137 listings after three were deleted; every fifth is hidden. */
let seller: Client
let newestFirst: number[]
let hidden: number[]
let byChange: number[]
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller()
  const made = await list(seller, ...items(140))
  for (const at of [0, 70, 139]) await seller.delete(`${LISTINGS}/${made[at]}`)
  const kept = made.filter((_, at) => ![0, 70, 139].includes(at))
  // Hide listings in another order than their ids, some at the same time.
  await advance(app.operator, 60)
  hidden = kept.filter((_, at) => at % 5 === 2).toReversed()
  for (const id of hidden)
    await seller.patch(`${LISTINGS}/${id}`, { payload: { status: 'hidden' } })
  await app.ctx.db`
    update listings set updated_at = date_trunc('minute', updated_at) + interval '1 minute'
    where id = any(${hidden.slice(0, 8)}::bigint[])
  `
  newestFirst = kept.toReversed()
  const rows = await app.ctx.db<{ id: number }[]>`
    select id from listings where id = any(${kept}::bigint[]) order by updated_at, id
  `
  byChange = idsIn([...rows])
  // Another seller's listings, in between.
  await list(await app.seller(), ...items(20))
})

describe('a page of listings', () => {
  it('a page of listings has 30 records, with links and meta for the whole list', async () => {
    const { body } = await seller.get(LISTINGS)
    expect(Object.keys(body)).toEqual(['data', 'links', 'meta'])
    expect(idsIn(body.data)).toEqual(newestFirst.slice(0, 30))
    expect(body.links).toEqual({
      first: `${LISTINGS_URL}?page=1`,
      last: `${LISTINGS_URL}?page=5`,
      prev: null,
      next: `${LISTINGS_URL}?page=2`,
    })
    expect(body.meta).toEqual({
      current_page: 1,
      from: 1,
      last_page: 5,
      path: LISTINGS_URL,
      per_page: 30,
      to: 30,
      total: 137,
    })
  })

  it('the page links of GET /v1/listings carry all sent parameters', async () => {
    const query =
      'status=hidden&updated_since=2000-01-01T02:00:00%2B02:00&card=obf_125&utm=x&per_page=5'
    const { body } = await seller.get(`${LISTINGS}?page=2&${query}`)
    const carried = query.replace('02:00:00%2B02:00', '02%3A00%3A00%2B02%3A00')
    expect(body.links).toEqual({
      first: `${LISTINGS_URL}?${carried}&page=1`,
      last: `${LISTINGS_URL}?${carried}&page=6`,
      prev: `${LISTINGS_URL}?${carried}&page=1`,
      next: `${LISTINGS_URL}?${carried}&page=3`,
    })
    const next = await seller.get(pathOf(body.links.next))
    expect(next.body.meta).toMatchObject({ current_page: 3, per_page: 5, total: hidden.length })
  })

  it('a page of listings has at most 100 records', async () => {
    const { body } = await seller.get(`${LISTINGS}?per_page=500`)
    expect(idsIn(body.data)).toEqual(newestFirst.slice(0, 100))
    expect(body.meta).toMatchObject({ per_page: 100, last_page: 2 })
  })

  it.each([6, 7, 50, 1_000_000_000])(
    'page %i of 137 listings is past the end and empty',
    async (page) => {
      const { status, body } = await seller.get(`${LISTINGS}?page=${page}`)
      expect(status).toBe(200)
      expect(body.data).toEqual([])
      expect(body.links).toEqual({
        first: `${LISTINGS_URL}?page=1`,
        last: `${LISTINGS_URL}?page=5`,
        prev: `${LISTINGS_URL}?page=${page - 1}`,
        next: null,
      })
      expect(body.meta).toMatchObject({ current_page: page, from: null, to: null, total: 137 })
    },
  )

  it('the listings of a seller without listings are one empty page', async () => {
    const { status, body } = await (await app.seller()).get(LISTINGS)
    expect(status).toBe(200)
    expect(body).toEqual({
      data: [],
      links: {
        first: `${LISTINGS_URL}?page=1`,
        last: `${LISTINGS_URL}?page=1`,
        prev: null,
        next: null,
      },
      meta: {
        current_page: 1,
        from: null,
        last_page: 1,
        path: LISTINGS_URL,
        per_page: 30,
        to: null,
        total: 0,
      },
    })
  })

  it('deleted listings are not counted in total and last_page', async () => {
    const shop = await app.seller()
    const made = await list(shop, cardItem(), cardItem(), cardItem())
    const totals = async () => {
      const { meta } = (await shop.get(`${LISTINGS}?per_page=1`)).body
      return [meta.total, meta.last_page]
    }
    expect(await totals()).toEqual([3, 3])
    await shop.delete(`${LISTINGS}/${made[1]}`)
    expect(await totals()).toEqual([2, 2])
    expect(idsIn(await allRecords(shop, `${LISTINGS}?per_page=1`))).toEqual([made[2], made[0]])
  })
})

describe('a walk over listings', () => {
  const lists = [
    ['all', '', () => newestFirst],
    ['hidden ones', '&status=hidden', () => hidden],
    ['changed ones', '&updated_since=2000-01-01', () => byChange],
  ] as const

  it.each(lists)(
    'paging through listings shows each once and in order, with every page size: %s',
    async (_, query, all) => {
      for (const perPage of [2, 7, 30, 99, 100]) {
        const pages = await walk(seller, `${LISTINGS}?per_page=${perPage}${query}`)
        expect(pages.flatMap(({ body }) => idsIn(body.data))).toEqual(all())
        expect(pages).toHaveLength(Math.ceil(all().length / perPage))
        for (const [at, { body }] of pages.entries()) {
          expect(body.meta).toMatchObject({
            current_page: at + 1,
            from: at * perPage + 1,
            to: at * perPage + body.data.length,
            total: all().length,
          })
        }
      }
    },
  )

  it.each(lists)('paging through listings backwards shows the same pages: %s', async (_, query) => {
    for (const perPage of [3, 30]) {
      const start = `${LISTINGS}?per_page=${perPage}${query}`
      const forth = await walk(seller, start)
      const back = await walk(seller, pathOf(forth[0]!.body.links.last), 'prev')
      expect(back.toReversed().map(({ body }) => body)).toEqual(forth.map(({ body }) => body))
      expect(forth.at(-1)!.body.links.next).toBeNull()
    }
  })
})

describe('a page of the second half, which is read from the end', () => {
  it('a page in the second half stays the same while listings are added at the end', async () => {
    const shop = await app.seller()
    const made = await list(shop, ...items(12))
    const page = `${LISTINGS}?updated_since=2000-01-01&per_page=10&page=2`
    for (let round = 0; round < 25; round++) {
      const [, ...responses] = await Promise.all([
        list(shop, cardItem()),
        ...Array.from({ length: 4 }, () => shop.get(page)),
      ])
      for (const { body } of responses) {
        expect(body.data.slice(0, 2).map(({ id }: { id: number }) => id)).toEqual(made.slice(10))
      }
      if (round % 6 === 5) {
        // Keep the page in the second half.
        const { data } = (await shop.get(page)).body
        for (const { id } of data.slice(2)) await shop.delete(`${LISTINGS}/${id}`)
      }
    }
  })
})

describe('a first page while listings are written', () => {
  it.each(['updated_since=2000-01-01', 'card=sv3-125', 'status=active&card=sv3-125'])(
    'the first page of listings has the records that its own meta and links state: %s',
    async (query) => {
      const shop = await app.seller()
      const page = `${LISTINGS}?${query}&per_page=20`
      for (let round = 0; round < 12; round++) {
        const [, ...responses] = await Promise.all([
          list(shop, ...Array.from({ length: 3 }, () => cardItem({ card: 'sv3-125' }))),
          ...Array.from({ length: 8 }, () => shop.get(page)),
        ])
        for (const { body } of responses) {
          const { total } = body.meta
          expect(body.data).toHaveLength(Math.min(total, 20))
          expect(body.meta.to).toBe(total === 0 ? null : body.data.length)
          expect(body.links.next === null).toBe(total <= 20)
        }
      }
    },
  )
})
