import Fastify, { type RouteOptions } from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { routes } from '../routes.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../test/app.ts'
import { CARDS } from '../test/catalog-fixture.ts'
import { DESCRIPTIONS } from '../test/descriptions.ts'
import { NO_LIMITS } from '../test/fixtures/listings.ts'
import { send } from '../test/fixtures/mcp.ts'
import { grantAccess } from '../test/fixtures/oauth.ts'
import { PARCEL, shipsBy } from '../test/fixtures/orders.ts'
import {
  type HostileRequest,
  hostileOAuthRequests,
  hostileRecords,
  hostileRequests,
  hostileToolCalls,
} from '../test/hostile-requests.ts'
import { until } from '../test/until.ts'
import { IgnoredFields, knownFields } from './known-fields.ts'
import { MAX_MESSAGES, validatorCompiler } from './validate.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

type BodySchema = { properties?: Record<string, object> }

/** Each operation with a body, and the schema on its route. */
async function bodySchemas(): Promise<[name: string, schema: BodySchema][]> {
  const found: [string, BodySchema][] = []
  const collecting = Fastify()
  collecting.setValidatorCompiler(validatorCompiler)
  collecting.setSerializerCompiler(() => JSON.stringify)
  collecting.addHook('onRoute', ({ method, url, schema }: RouteOptions) => {
    const body = schema?.body as BodySchema | undefined
    // A catalog import is a stream of lines without properties.
    if (body?.properties) found.push([`${method} ${url}`, body])
  })
  routes(collecting as never, app.ctx, { add() {} })
  await collecting.ready()
  await collecting.close()
  return found
}

/** More than any array may have, and the maximum of the whole body. */
const MANY = 20_000

/** A proxy that counts how often properties of a value are read, at any depth. */
function countReads<T extends object>(value: T, reads: { count: number }): T {
  return new Proxy(value, {
    get(target, key, receiver) {
      if (typeof key === 'string') reads.count++
      const inner = Reflect.get(target, key, receiver)
      return typeof inner === 'object' && inner !== null ? countReads(inner, reads) : inner
    },
    getOwnPropertyDescriptor(target, key) {
      reads.count++
      return Reflect.getOwnPropertyDescriptor(target, key)
    },
  })
}

const unknownFields = Object.fromEntries(Array.from({ length: MANY / 10 }, (_, i) => [`f${i}`, i]))

/** A body with MANY entries in each of its fields, and many unknown fields. */
const oversized = ({ properties = {} }: BodySchema, entry: unknown) => ({
  ...Object.fromEntries(Object.keys(properties).map((name) => [name, Array(MANY).fill(entry)])),
  ...unknownFields,
})

describe('the cost of bodies', () => {
  it('validation reads a bounded part of a body, however many entries and fields it has', async () => {
    const schemas = await bodySchemas()
    expect(schemas.length).toBeGreaterThan(15)
    for (const [name, schema] of schemas) {
      const validate = validatorCompiler({ schema, httpPart: 'body' } as never) as (
        body: unknown,
      ) => { error?: { fields: Record<string, string[]> } }
      for (const entry of [0, { a: 1 }]) {
        const reads = { count: 0 }
        const ignored = new IgnoredFields()
        const body = knownFields(schema)(countReads(oversized(schema, entry), reads), ignored)
        expect(reads.count, name).toBeLessThan(MANY)
        expect(ignored.header?.length, name).toBeLessThan(2_000)
        const { fields = {} } = validate(body).error ?? {}
        expect(Object.values(fields).flat().length, name).toBeLessThanOrEqual(MAX_MESSAGES)
      }
    }
  })

  it('a body schema with an unbounded array stops the start of the service', () => {
    const tags = { type: 'array', items: { type: 'string' } }
    const schema = { properties: { more: { properties: { tags } } } }
    expect(() => knownFields(schema)).toThrow('maxItems')
    expect(() => knownFields({ properties: { tags: { ...tags, maxItems: 3 } } })).not.toThrow()
  })
})

describe('hostile requests', () => {
  it('the most expensive request of every kind gets an error of at most 64 KiB and 100 messages', async () => {
    const seller = await app.seller({ account: shipsBy(PARCEL) })
    const clientFor = (path: string) => (path.startsWith('/operator') ? app.operator : seller)
    const records = await hostileRecords(
      async (path, payload) => (await clientFor(path).post(path, { payload })).body,
      seller.accountId,
      { card: CARDS[0]!.id, set: CARDS[0]!.set_id, product: 'none' },
    )
    const requests: HostileRequest[] = []
    for (const { path, prefix } of DESCRIPTIONS) {
      const { body } = await app.anyone.get(path)
      requests.push(...hostileRequests(body, prefix, records, 1 / 32))
    }
    expect(requests.length).toBeGreaterThan(500)
    const authorizations = {
      seller: `Bearer ${seller.key}`,
      operator: `Bearer ${OPERATOR_TOKEN}`,
    }
    for (const { name, method, path, payload } of requests) {
      const url = path(1)
      const response = await until(name, async () => {
        const response = await app.app.inject({
          method: method as 'GET',
          url,
          headers: {
            authorization: authorizations[url.startsWith('/operator') ? 'operator' : 'seller'],
            ...(payload !== undefined && { 'content-type': 'application/json' }),
          },
          ...(payload !== undefined && { payload }),
        })
        // Long transactions of other tests on the same server can delay a first cursor of the feed beyond its limit.
        const isDelayed = url.startsWith('/tools/v1/changes?') && response.statusCode === 503
        return !isDelayed && response
      })
      const { statusCode, payload: text, headers } = response
      expect(statusCode, name).toBeLessThan(500)
      expect([401, 413, 429], name).not.toContain(statusCode)
      expect(String(headers['x-ignored-fields'] ?? '').length, name).toBeLessThan(2_000)
      if (statusCode < 400) continue
      expect(Buffer.byteLength(text), name).toBeLessThanOrEqual(64 * 1024)
      const { fields = {} } = JSON.parse(text).error
      expect(Object.values(fields).flat().length, name).toBeLessThanOrEqual(100)
    }
  })

  it('the most expensive request of a program that signs in gets a short error, never a failure', async () => {
    for (const { name, path, payload, type } of hostileOAuthRequests()) {
      const { statusCode, payload: text } = await app.app.inject({
        method: 'POST',
        url: path(1),
        headers: { 'content-type': type! },
        payload: payload!,
      })
      // A revocation always succeeds.
      expect([200, 400, 401, 429], name).toContain(statusCode)
      expect(Buffer.byteLength(text), name).toBeLessThan(1_024)
    }
  })

  it('the most expensive call of every tool gets a response of at most 64 KiB, never a failure', async () => {
    const seller = await app.seller({ account: shipsBy(PARCEL) })
    const newToken = () => grantAccess(app, seller.accountId)
    const { body } = await send(app, '/mcp/seller', 'tools/list', {}, { token: await newToken() })
    const records = { card: CARDS[0]!.id } as never
    const all = hostileToolCalls('/mcp/seller', body.result.tools, records, 1 / 32)
    // Each kind of hostile input reaches a third of the tools: all of them validate in the same way.
    const calls = all.filter((_, index) => index % 3 === 0)
    expect(calls.length).toBeGreaterThan(150)
    let token = ''
    for (const [index, { name, payload }] of calls.entries()) {
      // Below the limit of a grant for writes.
      if (index % 100 === 0) token = await newToken()
      const { statusCode, payload: text } = await app.app.inject({
        method: 'POST',
        url: '/mcp/seller',
        headers: {
          host: 'cards.example',
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
        },
        payload: payload!,
      })
      expect([200, 400], name).toContain(statusCode)
      expect(Buffer.byteLength(text), name).toBeLessThanOrEqual(64 * 1024)
      expect(text, name).not.toMatch(/server_error|rate_limited|-32603/)
    }
  })
})
