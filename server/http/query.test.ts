import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../test/app.ts'
import { idsOf } from '../test/catalog-fixture.ts'
import { isMalformed, parseQuery } from './query.ts'

describe('a query string', () => {
  it.each<[string, Record<string, string>]>([
    ['', {}],
    ['a=1', { a: '1' }],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&a=2', { a: '2' }],
    ['a[]=1&a[]=2&a[x]=3', { 'a[]': '2', 'a[x]': '3' }],
    ['a%5B%5D=1', { 'a[]': '1' }],
    ['a=x+y%20z%2B', { a: 'x y z+' }],
    ['a+b=1', { 'a b': '1' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=1&&b=2&', { a: '1', b: '2' }],
    ['=1', {}],
    ['=1&&=', {}],
    ['a=%C3%A9%E2%99%80', { a: 'é♀' }],
    ['a=é', { a: 'é' }],
    ['a=%3D%26%3F%23', { a: '=&?#' }],
    ['a=;b=2', { a: ';b=2' }],
    ['A=1&a=2', { A: '1', a: '2' }],
    ['a= ', { a: ' ' }],
    ['a=+', { a: ' ' }],
    ['a=%00', { a: '\0' }],
  ])('parseQuery parses %j as %j', (text, query) => {
    expect({ ...parseQuery(text) }).toEqual(query)
    expect(isMalformed(parseQuery(text))).toBe(false)
  })

  it.each(['a=', 'a', 'a=1&a=', 'a=1&a', 'a&a='])(
    'parseQuery treats the empty parameter of %j as absent',
    (text) => {
      expect(Object.keys(parseQuery(text))).toEqual([])
    },
  )

  it('the last value of a parameter counts, also after an empty one', () => {
    expect({ ...parseQuery('a=1&a=&a=2') }).toEqual({ a: '2' })
  })

  it.each(['__proto__', 'constructor', 'toString'])(
    'a query can have a parameter called %s',
    (name) => {
      expect(parseQuery(`${name}=1`)[name]).toBe('1')
      expect(parseQuery('')[name]).toBeUndefined()
    },
  )

  it.each(['a=%', 'a=%z', 'a=%1', 'a=%1g', '%=1', 'a=1&b=%e', 'a=%%20', 'a=%u0041', 'a=%C3%'])(
    'the percent-encoding of %j is malformed',
    (text) => {
      expect(isMalformed(parseQuery(text))).toBe(true)
    },
  )

  it.each(['a=%FF', 'a=%C3', 'a=%ED%A0%80', 'a=%C0%80', 'a=%F4%90%80%80'])(
    'the percent-encoding of %j is well formed, but not valid UTF-8',
    (text) => {
      const query = parseQuery(text)
      expect(isMalformed(query)).toBe(false)
      expect(query.a!.isWellFormed()).toBe(false)
    },
  )
})

describe('queries of GET /v1/sets', () => {
  let market: TestApp
  let seller: Client
  beforeAll(async () => {
    market = await startTestApp({ template: 'fixture' })
    seller = await market.seller()
  })
  const found = async (query: string) => {
    const { status, body } = await seller.get(`/v1/sets?${query}`)
    expect(status).toBe(200)
    return idsOf(body.data)
  }

  it('the last of a repeated parameter counts', async () => {
    expect(await found('language=DE&language=JP')).toEqual(['sv3-jp'])
    expect(await found('language=JP&language=XX')).toEqual([])
  })

  it('an empty parameter counts as absent, also after another value', async () => {
    expect(await found('q=&language=JP&region=')).toEqual(['sv3-jp'])
    expect(await found('language=JP&q=nothing&q=')).toEqual(['sv3-jp'])
  })

  it('brackets are part of a parameter’s name', async () => {
    expect(await found('language=JP&language[]=DE&language[0]=DE&region[]=tw')).toEqual(['sv3-jp'])
  })

  it('+ and %20 mean a space', async () => {
    expect(await found('q=obsidian+flames')).toEqual(['sv3'])
    expect(await found('q=obsidian%20flames')).toEqual(['sv3'])
  })

  it('parameter names are compared exactly', async () => {
    expect(await found('language=JP&LANGUAGE=DE&Region=tw')).toEqual(['sv3-jp'])
  })

  it('malformed percent-encoding in any parameter gets a 404 before the key is checked', async () => {
    for (const client of [seller, market.anyone]) {
      const { status, body, headers } = await client.get('/v1/sets?unknown=%zz')
      expect([status, body.error.type]).toEqual([404, 'not_found'])
      expect(headers['x-request-id']).toMatch(/^req_/)
    }
  })

  it.each(['%ED%A0%80', '%FF', '%00'])(
    '%s gets a 422 in a filter and is ignored in an unknown parameter',
    async (value) => {
      const { status, body } = await seller.get(`/v1/sets?series=${value}`)
      expect([status, Object.keys(body.error.fields)]).toEqual([422, ['series']])
      expect(await found(`language=JP&unknown=${value}&${value}=1`)).toEqual(['sv3-jp'])
    },
  )
})
