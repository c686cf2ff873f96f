import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, PUBLIC_URL, startTestApp } from '../test/app.ts'
import { CARDS, idsOf, PRODUCTS, SETS, slugsOf } from '../test/catalog-fixture.ts'
import { allRecords, pathOf, walk } from '../test/walk.ts'
import { pageEnd, pageOf } from './paginate.ts'

describe('pageOf', () => {
  it.each([
    [undefined, 30],
    ['', 30],
    [' ', 30],
    ['abc', 30],
    ['10abc', 30],
    ['0x10', 30],
    ['0b1', 30],
    ['0O7', 30],
    ['1_0', 30],
    ['.', 30],
    ['7.', 7],
    ['+.7e1', 7],
    [' 7\t', 7],
    ['infinity', 30],
    ['1e1', 10],
    ['NaN', 30],
    ['99999999999999999999999', 100],
    ['Infinity', 100],
    ['-0', 1],
    ['-Infinity', 1],
    ['0.9', 1],
    ['10.7', 10],
    ['100.9', 100],
  ])('pageOf turns the per_page %j into %i', (per_page, perPage) => {
    expect(pageOf(per_page === undefined ? {} : { per_page }).perPage).toBe(perPage)
  })

  it('pageOf clamps every integer per_page to 1 to 100', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: -2, max: 103 }), fc.integer()), (wanted) => {
        const { perPage } = pageOf({ per_page: String(wanted) })
        expect(perPage).toBe(wanted < 1 ? 1 : wanted > 100 ? 100 : wanted)
      }),
    )
  })

  it.each([
    [{}, { perPage: 30, offset: 0 }],
    [{ page: '1' }, { perPage: 30, offset: 0 }],
    [{ page: '3' }, { perPage: 30, offset: 60 }],
    [
      { page: '3', per_page: '7' },
      { perPage: 7, offset: 14 },
    ],
    [
      { page: '2', per_page: '500' },
      { perPage: 100, offset: 100 },
    ],
    [
      { page: '1000000000', per_page: '100' },
      { perPage: 100, offset: 99_999_999_900 },
    ],
  ])('pageOf turns %j into %j', (query: Record<string, string>, page) => {
    expect(pageOf(query)).toEqual(page)
  })
})

describe('pageEnd', () => {
  const address = 'https://cards.example/v1/things'
  const links = (page: number, of: { perPage: number; total: number }, query = {}) => {
    const offset = (page - 1) * of.perPage
    const count = Math.max(0, Math.min(of.perPage, of.total - offset))
    return pageEnd(address, query, { perPage: of.perPage, offset }, count, of.total)
  }
  const numbers = (link: string | null) => link && Number(/page=(\d+)$/.exec(link)?.[1])

  it.each([
    // page, per page, total → from, to, last page, previous, next
    [1, 30, 0, null, null, 1, null, null],
    [1, 30, 1, 1, 1, 1, null, null],
    [1, 30, 30, 1, 30, 1, null, null],
    [1, 30, 31, 1, 30, 2, null, 2],
    [2, 30, 31, 31, 31, 2, 1, null],
    [2, 10, 35, 11, 20, 4, 1, 3],
    [4, 10, 35, 31, 35, 4, 3, null],
    [4, 10, 40, 31, 40, 4, 3, null],
    [5, 10, 40, null, null, 4, 4, null],
    [9, 10, 40, null, null, 4, 8, null],
    [2, 30, 0, null, null, 1, 1, null],
    [3, 1, 3, 3, 3, 3, 2, null],
  ])(
    'links and meta of page %i are right with per_page=%i and %i records',
    (page, perPage, total, from, to, last, prev, next) => {
      const end = links(page, { perPage, total })
      expect(end.meta).toEqual({
        current_page: page,
        from,
        last_page: last,
        path: address,
        per_page: perPage,
        to,
        total,
      })
      expect(end.links.first).toBe(`${address}?page=1`)
      expect(end.links.last).toBe(`${address}?page=${last}`)
      expect([numbers(end.links.prev), numbers(end.links.next)]).toEqual([prev, next])
    },
  )

  it('page links carry every sent parameter, percent-encoded, with page last', () => {
    const query = { page: '2', q: "Farfetch'd & ♀", 'x[]': '100%', per_page: '500', 'a=b': '?#+ /' }
    const { first } = links(2, { perPage: 100, total: 300 }, query).links
    expect(first).toBe(
      `${address}?q=Farfetch'd%20%26%20%E2%99%80&x%5B%5D=100%25&per_page=500&a%3Db=%3F%23%2B%20%2F&page=1`,
    )
    expect(Object.fromEntries(new URL(first).searchParams)).toEqual({ ...query, page: '1' })
  })

  it('page links carry a lone surrogate as a replacement character', () => {
    const { first } = links(1, { perPage: 1, total: 1 }, { odd: '\ud800' }).links
    expect(first).toBe(`${address}?odd=%EF%BF%BD&page=1`)
  })
})

let seller: Client
beforeAll(async () => {
  const market = await startTestApp({
    template: 'fixture',
    settings: { RATE_LIMIT_READ: '10000', MARKETPLACE_URL: 'https://market.example' },
  })
  seller = await market.seller()
})

const LISTS = ['/v1/sets', '/v1/cards', '/v1/products']
const keyOf = (record: { id?: string; slug?: string }) => record.id ?? record.slug

describe.each(LISTS)('pages of %s', (path) => {
  it('every page has data, links with four keys and meta with seven', async () => {
    for (const query of ['', '?page=2&per_page=3', '?page=99', '?q=zzzzzzzz']) {
      const { status, body } = await seller.get(path + query)
      expect(status).toBe(200)
      expect(Object.keys(body)).toEqual(['data', 'links', 'meta'])
      expect(Object.keys(body.links)).toEqual(['first', 'last', 'prev', 'next'])
      expect(Object.keys(body.meta)).toEqual([
        ...['current_page', 'from', 'last_page', 'path', 'per_page', 'to', 'total'],
      ])
    }
  })

  it('a page has 30 records by default', async () => {
    const { body } = await seller.get(path)
    expect(body.meta.per_page).toBe(30)
    expect(body.data.length).toBe(Math.min(30, body.meta.total))
  })

  it('every list refuses an invalid page, and clamps an invalid per_page', async () => {
    const { status, body } = await seller.get(`${path}?page=0`)
    expect([status, Object.keys(body.error.fields)]).toEqual([422, ['page']])
    expect((await seller.get(`${path}?per_page=500`)).body.meta.per_page).toBe(100)
  })

  it('a page past the end is empty and links to the page before it as prev', async () => {
    const { status, body } = await seller.get(`${path}?per_page=5&page=50`)
    const last = Math.ceil(body.meta.total / 5)
    expect(status).toBe(200)
    expect(body).toEqual({
      data: [],
      links: {
        first: `${PUBLIC_URL}${path}?per_page=5&page=1`,
        last: `${PUBLIC_URL}${path}?per_page=5&page=${last}`,
        prev: `${PUBLIC_URL}${path}?per_page=5&page=49`,
        next: null,
      },
      meta: {
        current_page: 50,
        from: null,
        last_page: last,
        path: PUBLIC_URL + path,
        per_page: 5,
        to: null,
        total: expect.any(Number),
      },
    })
  })

  it('a list without matches is one empty page', async () => {
    const { status, body } = await seller.get(`${path}?q=zzzzzzzz`)
    expect(status).toBe(200)
    expect(body).toEqual({
      data: [],
      links: {
        first: `${PUBLIC_URL}${path}?q=zzzzzzzz&page=1`,
        last: `${PUBLIC_URL}${path}?q=zzzzzzzz&page=1`,
        prev: null,
        next: null,
      },
      meta: {
        current_page: 1,
        from: null,
        last_page: 1,
        path: PUBLIC_URL + path,
        per_page: 30,
        to: null,
        total: 0,
      },
    })
  })

  it.each([1, 7])('paging with per_page=%i shows each record once', async (perPage) => {
    const whole = (await seller.get(`${path}?per_page=100`)).body
    const pages = await walk(seller, `${path}?per_page=${perPage}`)
    expect(pages).toHaveLength(Math.ceil(whole.meta.total / perPage))
    expect(pages.flatMap(({ body }) => body.data)).toEqual(whole.data)
    for (const [i, { body }] of pages.entries()) {
      expect(body.meta).toEqual({
        current_page: i + 1,
        from: i * perPage + 1,
        last_page: pages.length,
        path: PUBLIC_URL + path,
        per_page: perPage,
        to: i * perPage + body.data.length,
        total: whole.meta.total,
      })
    }
  })

  it('prev leads back from the last page to the first through the same pages', async () => {
    const { body: first } = await seller.get(`${path}?per_page=4`)
    const back = await walk(seller, pathOf(first.links.last), 'prev')
    const forth = await walk(seller, `${path}?per_page=4`)
    expect(back.toReversed().map(({ body }) => body)).toEqual(forth.map(({ body }) => body))
    expect(first.links.prev).toBeNull()
    expect(forth.at(-1)!.body.links.next).toBeNull()
  })

  it('paging through a search shows each match once', async () => {
    for (const q of ['e', 'p', 'pikachu', 'box', 'celebrations']) {
      const whole = (await seller.get(`${path}?per_page=100&q=${q}`)).body.data
      const walked = await allRecords(seller, `${path}?per_page=1&q=${q}`)
      expect(walked.map(keyOf)).toEqual(whole.map(keyOf))
    }
  })
})

describe('the parameters of a list', () => {
  const path = '/v1/cards'

  it.each(['0', '-1', 'abc', '1.5', '1000000001', '99999999999999999999', '1e3', '0x1', '١', '+1'])(
    'page=%s gets a 422',
    async (page) => {
      const { status, body } = await seller.get(`${path}?page=${encodeURIComponent(page)}`)
      expect([status, body.error.type]).toEqual([422, 'validation_error'])
      expect(Object.keys(body.error.fields)).toEqual(['page'])
      expect(body.error.fields.page).toEqual([body.error.message])
    },
  )

  it.each(['%ED%A0%80', '%00', '1%00'])(
    'page=%s, which is not valid text, gets a 422',
    async (page) => {
      const { status, body } = await seller.get(`${path}?page=${page}`)
      expect([status, Object.keys(body.error.fields)]).toEqual([422, ['page']])
    },
  )

  it('an empty page parameter means the first page', async () => {
    const { body } = await seller.get(`${path}?page=`)
    expect(body).toEqual((await seller.get(path)).body)
  })

  it('page=1000000000 is the largest valid page', async () => {
    const { status, body } = await seller.get(`${path}?page=1000000000`)
    expect([status, body.data, body.meta.current_page]).toEqual([200, [], 1_000_000_000])
    expect(body.links.prev).toBe(`${PUBLIC_URL}${path}?page=999999999`)
  })

  it.each([
    ['%00', 30],
    ['%ED%A0%80', 30],
  ])(
    'per_page=%s, which is not valid text, counts as %i and is never refused',
    async (sent, used) => {
      const { status, body } = await seller.get(`${path}?per_page=${sent}`)
      expect([status, body.meta.per_page]).toEqual([200, used])
      expect(body.data.length).toBe(Math.min(used, body.meta.total))
    },
  )

  it('path and links leave out a trailing slash; path leaves out the query', async () => {
    const { body } = await seller.get(`${path}/?page=1`)
    expect(body.meta.path).toBe(PUBLIC_URL + path)
    expect(body.links.first).toBe(`${PUBLIC_URL}${path}?page=1`)
  })

  it('path and links start with PUBLIC_URL, whatever the Host header', async () => {
    const { body } = await seller.get(path, { headers: { host: 'evil.example' } })
    expect(body.meta.path).toBe(PUBLIC_URL + path)
  })

  it('page links carry all sent parameters, also unknown ones, and per_page as sent', async () => {
    const { body } = await seller.get(
      `${path}?page=1&utm=a+b&per_page=500&x[]=1&x[]=2&q=&__proto__=p&region=&z`,
    )
    expect(body.meta.per_page).toBe(100)
    expect(body.links.first).toBe(
      `${PUBLIC_URL}${path}?utm=a%20b&per_page=500&x%5B%5D=2&__proto__=p&page=1`,
    )
  })

  it('page links carry a search with any characters', async () => {
    const q = "Farfetch'd & ♀ é 漢 + % # ="
    const { body } = await seller.get(`${path}?q=${encodeURIComponent(q)}&page=3`)
    expect(new URL(body.links.first).searchParams.get('q')).toBe(q)
    const again = await seller.get(pathOf(body.links.prev))
    expect(again.body.links.first).toBe(body.links.first)
  })
})

describe('paging through a list', () => {
  it('paging through sets, cards and products shows the whole catalog', async () => {
    expect(idsOf(await allRecords(seller, '/v1/sets?per_page=4'))).toEqual(idsOf(SETS))
    expect(idsOf(await allRecords(seller, '/v1/cards?per_page=4'))).toEqual(idsOf(CARDS))
    expect(slugsOf(await allRecords(seller, '/v1/products?per_page=4'))).toEqual(slugsOf(PRODUCTS))
  })

  it('next links keep the filters on every page', async () => {
    const pages = await walk(seller, '/v1/cards?language=EN&rarity=Common&per_page=1')
    expect(pages.flatMap(({ body }) => idsOf(body.data))).toEqual(['sv3-1', 'swsh9-1'])
    expect(pages[0]!.body.links).toEqual({
      first: `${PUBLIC_URL}/v1/cards?language=EN&rarity=Common&per_page=1&page=1`,
      last: `${PUBLIC_URL}/v1/cards?language=EN&rarity=Common&per_page=1&page=2`,
      prev: null,
      next: `${PUBLIC_URL}/v1/cards?language=EN&rarity=Common&per_page=1&page=2`,
    })
  })
})
