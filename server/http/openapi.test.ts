import { readFile } from 'node:fs/promises'
import { runInNewContext } from 'node:vm'
import { createConfig, lint } from '@redocly/openapi-core'
import Fastify from 'fastify'
import Type from 'typebox'
import { beforeAll, describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { startTestApp, type TestApp } from '../test/app.ts'
import { mismatchesOf } from '../test/described-responses.ts'
import { guardSellerRoutes } from './authenticate.ts'
import { describeRoutes } from './openapi.ts'
import { toolsApi } from './tools/description.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

// biome-ignore lint/suspicious/noExplicitAny: a whole OpenAPI document, walked freely
type Document = any

const committed = async (name: string): Promise<Document> =>
  JSON.parse(await readFile(new URL(`../../openapi/${name}.json`, import.meta.url), 'utf8'))

const FILES = ['seller', 'tools', 'operator']

const operations = (document: Document): [name: string, operation: Document][] =>
  Object.entries(document.paths as Record<string, object>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Document] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )

/** Every object in a document, with its place. */
function* objectsIn(value: Document, place = ''): Generator<[place: string, object: Document]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [place, value]
  for (const [key, inner] of Object.entries(value)) yield* objectsIn(inner, `${place}/${key}`)
}

describe('the seller API’s description', () => {
  it('the seller API’s description has exactly the API’s operations, as version 1.0.0 in OpenAPI 3.1', async () => {
    const { body } = await app.anyone.get('/openapi.json')
    expect(body.openapi).toMatch(/^3\.1\./)
    expect(body.info.version).toBe('1.0.0')
    expect(body.servers).toEqual([{ url: 'https://cards.example/v1' }])
    expect(operations(body).map(([name]) => name)).toEqual([
      'GET /series',
      'GET /sets',
      'GET /sets/{identifier}',
      'GET /cards',
      'GET /cards/{identifier}',
      'GET /products',
      'GET /products/{slug}',
      'GET /listings',
      'POST /listings',
      'PATCH /listings/{listing}',
      'DELETE /listings/{listing}',
      'GET /orders',
      'GET /orders/{order}',
      'POST /orders/{order}/ship',
      'POST /orders/{order}/label',
      'GET /webhooks',
      'POST /webhooks',
      'DELETE /webhooks/{webhookEndpoint}',
      'GET /me',
    ])
  })

  it('all descriptions pass an independent linter', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] })
    for (const name of FILES) {
      const ref = new URL(`../../openapi/${name}.json`, import.meta.url).pathname
      const problems = await lint({ ref, config })
      expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
    }
  })

  it('every operation has an id, a summary, an example and its common errors', async () => {
    for (const [name, { operationId, summary, responses }] of (
      await Promise.all(FILES.map(committed))
    ).flatMap(operations)) {
      expect(operationId, name).toMatch(/^[a-z][A-Za-z]+$/)
      expect(summary, name).toMatch(/\w/)
      for (const status of ['401', '403', '429', '500']) {
        expect(Object.keys(responses), name).toContain(status)
      }
      // Only DELETE has no response body.
      if (name.startsWith('DELETE')) expect(Object.keys(responses)).toContain('204')
      else {
        const { content } = responses[200] ?? responses[201] ?? responses[202]
        const { example, schema } = content['application/json'] ?? Object.values(content)[0]
        expect(example ?? schema.examples[0], name).toBeTruthy()
      }
    }
  })

  it('every operation documents 404, and 413, 415 and 422 where a body can cause them', async () => {
    for (const api of FILES) {
      for (const [name, { operationId, responses }] of operations(await committed(api))) {
        const statuses = Object.keys(responses)
        expect(statuses, name).toContain('404')
        if (name.startsWith('GET ')) continue
        expect(statuses, name).toContain('413')
        // Buying a label ignores its body.
        if (operationId === 'buyLabel') continue
        expect(statuses, name).toEqual(expect.arrayContaining(['415', '422']))
      }
    }
  })

  it('every free text in a query of the operator’s and the tools API has a limit of length', async () => {
    for (const file of ['operator', 'tools']) {
      for (const [name, { parameters = [] }] of operations(await committed(file))) {
        for (const { in: place, name: parameter, schema } of parameters) {
          if (place !== 'query' || schema.type !== 'string' || schema.enum) continue
          // Shared with v1, whose description stays as it is.
          if (name === 'GET /listings' && parameter === 'updated_since') continue
          expect(schema.maxLength, `${name} ${parameter}`).toBeLessThanOrEqual(1_000)
        }
      }
    }
  })

  it('every operation with pages says in which order to read them while records leave the list', async () => {
    for (const api of FILES) {
      for (const [name, { parameters = [] }] of operations(await committed(api))) {
        const page = parameters.find((parameter: Document) => parameter.name === 'page')
        if (page) expect(page.description, name).toContain('from the last page to the first')
      }
    }
  })

  it('an operationId belongs to one operation of the three descriptions', async () => {
    const all = (await Promise.all(FILES.map(committed))).flatMap(operations)
    const ids = all.map(([, { operationId }]) => operationId)
    expect(ids.filter((id, index) => ids.indexOf(id) < index)).toEqual([])
  })

  it('every number has the format int64 or double, because clients would read 32 bits without one', async () => {
    for (const file of FILES) {
      for (const [place, { type, format }] of objectsIn(await committed(file))) {
        const types = [type].flat()
        if (types.includes('integer')) expect(format, place).toBe('int64')
        else if (types.includes('number')) expect(format, place).toBe('double')
      }
    }
  })

  it('a property that has the name of a keyword is described like any other', async () => {
    const service = Fastify()
    describeRoutes(service, { ...toolsApi('https://cards.example'), prefix: '' })
    const record = Type.Object({
      type: Type.Integer(),
      default: Type.Number(),
      examples: Type.Integer(),
      format: Type.Object({ enum: Type.Integer() }),
    })
    service.get('/record', { schema: { response: { 200: record } } }, () => ({}))
    service.get('/openapi.json', { schema: { hide: true } }, service.describe)
    const { paths } = (await service.inject('/openapi.json')).json()
    const { content } = paths['/record'].get.responses[200]
    expect(content['application/json'].schema.properties).toMatchObject({
      type: { format: 'int64' },
      default: { format: 'double' },
      examples: { format: 'int64' },
      format: { properties: { enum: { format: 'int64' } } },
    })
  })

  it('no schema has the name of a type that generated clients import', async () => {
    const taken = ['Any', 'Date', 'Error', 'File', 'List', 'Map', 'Object', 'Optional', 'Set']
    for (const file of FILES) {
      const names = Object.keys((await committed(file)).components.schemas)
      expect(names.filter((name) => taken.includes(name))).toEqual([])
    }
  })

  it('alternatives that differ in the value of a field are discriminated by it', async () => {
    for (const file of FILES) {
      const document = await committed(file)
      const resolved = ({ $ref, ...schema }: Document) =>
        $ref ? document.components.schemas[$ref.split('/').at(-1)] : schema
      for (const [place, { oneOf, anyOf, discriminator }] of objectsIn(document)) {
        const records = (oneOf ?? anyOf ?? [])
          .map(resolved)
          .filter(({ properties }: Document) => properties)
        if (records.length < 2) continue
        const differing = (records[0].required ?? []).filter((field: string) => {
          const values = records.map(({ properties }: Document) => properties[field]?.enum)
          const all = values.flat()
          return values.every(Boolean) && new Set(all).size === all.length
        })
        if (differing.length > 0) expect(differing, place).toContain(discriminator?.propertyName)
      }
    }
  })

  it('every list has a schema for its entries', async () => {
    for (const file of FILES) {
      for (const [place, { items }] of objectsIn(await committed(file))) {
        expect(items, place).not.toEqual({})
      }
    }
  })

  it('the examples of orders and payouts have the times and amounts of their state', async () => {
    for (const file of FILES) {
      for (const [place, part] of objectsIn(await committed(file))) {
        if (part.financial && typeof part.status === 'string') {
          const { status, price, quantity, financial } = part
          const isCancelled = status === 'cancelled'
          expect(part.cancelled_at !== null, place).toBe(isCancelled)
          if (isCancelled) expect(financial.refunded_amount, place).toBe(price * quantity)
          if (['shipped', 'received', 'disputed'].includes(status)) {
            expect(part[`${status}_at`], place).not.toBeNull()
          }
        }
        if ('paid_at' in part && typeof part.state === 'string') {
          const wasSent = ['sent', 'paid', 'failed'].includes(part.state)
          expect(part.sent_at !== null, place).toBe(wasSent)
          expect(part.paid_at !== null, place).toBe(part.state === 'paid')
        }
      }
    }
  })

  it('the example of a bulk response has one result for each item of the request', async () => {
    for (const file of FILES) {
      for (const [name, { requestBody, responses }] of operations(await committed(file))) {
        const sent = requestBody?.content['application/json']?.example
        const items = sent?.items ?? sent?.orders
        if (!items) continue
        const { results, data } = responses[200].content['application/json'].example
        expect(results ?? data, name).toHaveLength(items.length)
      }
    }
  })

  it('every operation with a 304 has the parameter If-None-Match', async () => {
    const all = operations(await committed('seller'))
    const withTag = all.filter(([, { responses }]) => '304' in responses)
    expect(withTag).toHaveLength(7)
    for (const [name, { parameters }] of withTag) {
      const header = { name: 'If-None-Match', in: 'header', required: false }
      expect(parameters, name).toContainEqual(expect.objectContaining(header))
    }
  })

  it('an Idempotency-Key is described as 1 to 255 printable ASCII characters', async () => {
    for (const file of FILES) {
      const all = operations(await committed(file))
      const keys = all.flatMap(([, { parameters = [] }]) =>
        parameters.filter(({ name }: Document) => name === 'idempotency-key'),
      )
      expect(keys.length).toBeGreaterThan(0)
      for (const { schema } of keys) {
        expect(schema).toMatchObject({ minLength: 1, maxLength: 255, pattern: '^[ -~]+$' })
      }
    }
  })

  it('a text that must not have line breaks is described as one line', async () => {
    const { paths } = await committed('operator')
    const { schema } = paths['/staff'].post.requestBody.content['application/json']
    expect(schema.properties.name.description).toContain('One line')
  })

  it('the operation that creates a key asks for the token of a device login, others for a key', async () => {
    const { paths, security } = await committed('tools')
    expect(security).toEqual([{ apiKey: [] }])
    expect(paths['/key'].post.security).toEqual([{ deviceToken: [] }])
    expect(paths['/key'].delete.security).toBeUndefined()
  })

  it('no response has the placeholder description', async () => {
    expect(JSON.stringify(await committed('seller'))).not.toContain('Default Response')
    expect(JSON.stringify(await committed('operator'))).not.toContain('Default Response')
  })

  it('the seller API’s description contains no internal keyword and no generated schema name', async () => {
    const text = JSON.stringify(await committed('seller'))
    expect(text).not.toMatch(
      /"storable"|"publicUrl"|"clamped"|"x-items"|"x-errors"|"x-example"|"def-\d/,
    )
  })
})

describe('the description of webhooks', () => {
  const EVENTS = ['order.created', 'order.cancelled', 'order.label_ready', 'listing.sold']

  let seller: Document
  let mismatch: ReturnType<typeof mismatchesOf>
  let webhooks: { event: string; operation: Document; schemaRef: string; example: Document }[]
  beforeAll(async () => {
    seller = (await app.anyone.get('/openapi.json')).body
    mismatch = mismatchesOf(seller)
    webhooks = Object.entries(seller.webhooks as Document).map(([event, { post }]: Document) => {
      const { schema, example } = post.requestBody.content['application/json']
      return { event, operation: post, schemaRef: schema.$ref, example }
    })
  })

  it('the seller API’s description has one POST for each of the four webhook events; the operator’s has none', async () => {
    expect(operations({ paths: seller.webhooks }).map(([name]) => name)).toEqual(
      EVENTS.map((event) => `POST ${event}`),
    )
    const { body } = await app.anyone.get('/operator/openapi.json')
    expect(body.paths).toHaveProperty('/accounts')
    expect(body).not.toHaveProperty('webhooks')
  })

  it('each webhook has an example that matches its schema, with its keys in order', () => {
    for (const { event, operation, schemaRef, example } of webhooks) {
      expect(mismatch(schemaRef, example), event).toBeNull()
      expect(Object.keys(example)).toEqual(['event', 'delivery_id', 'created_at', 'data'])
      const headers = Object.fromEntries(
        operation.parameters.map((header: Document) => [header.name, header.example]),
      )
      expect(headers).toMatchObject({
        'X-Service-Event': event,
        'X-Service-Delivery': example.delivery_id,
      })
    }
  })

  it('a webhook example with a missing key, an additional key or another event does not match', () => {
    for (const { event, schemaRef, example } of webhooks) {
      for (const key of Object.keys(example.data)) {
        const { [key]: _, ...less } = example.data
        expect(mismatch(schemaRef, { ...example, data: less }), event).toContain(`'${key}'`)
      }
      const more = { ...example.data, more: 1 }
      expect(mismatch(schemaRef, { ...example, data: more }), event).toContain(
        'additional properties',
      )
      for (const other of EVENTS.filter((other) => other !== event)) {
        expect(mismatch(schemaRef, { ...example, event: other }), event).toContain('/event')
      }
    }
  })

  it('each webhook documents its four headers and that of a rotation, no security, the success status and the retries', () => {
    const tags = seller.tags.map(({ name }: Document) => name)
    for (const { event, operation } of webhooks) {
      const headers = operation.parameters.filter((header: Document) => header.in === 'header')
      expect(headers.map((header: Document) => [header.name, header.required])).toEqual([
        ['X-Service-Signature', true],
        ['X-Service-Timestamp', true],
        ['X-Service-Event', true],
        ['X-Service-Delivery', true],
        ['X-Service-Signature-Previous', false],
      ])
      expect(operation.security, event).toEqual([])
      expect(Object.keys(operation.responses)).toEqual(['2XX', 'default'])
      expect(operation.responses.default.description).toContain(
        '1 minute, 10 minutes, 1 hour and 6 hours after the first attempt',
      )
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/)
      expect(operation.summary).toMatch(/\w/)
      expect(operation.description).toMatch(/\w/)
      expect(tags).toEqual(expect.arrayContaining(operation.tags))
    }
  })
})

describe('scopes of seller routes', () => {
  it('a seller route without a scope cannot be registered: every key could use it', async () => {
    const bare = Fastify()
    bare.addHook('onRoute', guardSellerRoutes(app.ctx))
    expect(() => bare.get('/open', () => '')).toThrow('GET /open declares no scope')
    bare.get('/me', { config: { scope: null } }, () => '')
    bare.get('/cards', { config: { scope: 'catalog:read' } }, () => '')
  })

  it('every seller operation’s description names its scope', async () => {
    for (const [name, { description }] of operations(await committed('seller'))) {
      expect(description, name).toMatch(/Scope: `[a-z]+:[a-z]+`\.|Needs no scope/)
    }
  })
})

describe('the reference page', () => {
  it('the reference page loads nothing from other origins and forbids inline scripts and eval', async () => {
    for (const path of ['/docs', '/docs/']) {
      const { status, headers, text } = await app.anyone.get(path)
      expect(status).toBe(200)
      expect(headers).toMatchObject(PAGE_HEADERS)
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/)
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
      expect(text).not.toMatch(/https?:\/\/|<script>|\son[a-z]+=/)
      const scripts = [...text.matchAll(/<script src="([^"]+)"/g)].map(
        ([, script]) => new URL(script!, `https://cards.example${path}`),
      )
      expect(scripts.map(({ pathname }) => pathname)).toEqual([
        '/docs/scalar.js',
        '/docs/reference.js',
      ])
      // A cache of an earlier version has other addresses.
      for (const { search } of scripts) expect(search).toBe(`?v=${manifest.version}`)
    }
    expect((await app.anyone.get('/docs/scalar.js')).text).toContain('createApiReference')
  })

  it('without its scripts, or until they are loaded, the reference page leads to the guides and the OpenAPI file', async () => {
    for (const path of ['/docs', '/docs/']) {
      const { text } = await app.anyone.get(path)
      const [, notice] = text.match(/<div id="reference".*?>(.*)<\/div>/s) ?? []
      const links = [...(notice ?? '').matchAll(/href="([^"]+)"/g)].map(
        ([, link]) => new URL(link!, `https://cards.example${path}`).pathname,
      )
      expect(links).toEqual(['/docs/guides/', '/openapi.json'])
    }
  })

  it('the reference page sends its trial requests to its own origin, whatever PUBLIC_URL', async () => {
    const { text } = await app.anyone.get('/docs/reference.js')
    for (const address of [
      'http://localhost:3000',
      'http://127.0.0.1:3000',
      'https://x.example/market',
    ]) {
      const [seller, tools, operator] = referenceSources(text, `${address}/docs/reference.js`)
      expect(seller).toMatchObject({
        url: `${address}/openapi.json`,
        servers: [{ url: `${address}/v1` }],
      })
      expect(tools).toMatchObject({
        url: `${address}/tools/openapi.json`,
        servers: [{ url: `${address}/tools/v1` }],
      })
      expect(operator).toMatchObject({
        url: `${address}/operator/openapi.json`,
        servers: [{ url: `${address}/operator/v1` }],
      })
    }
  })
})

it('without its script, the reference page says how to build it', async () => {
  const { text } = await app.anyone.get('/docs/reference.js')
  const element = { dataset: {}, textContent: '' }
  runInNewContext(text, {
    URL,
    document: { currentScript: { src: 'https://x.example/docs' }, getElementById: () => element },
  })
  expect(element.textContent).toContain('npm run build')
})

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': expect.stringContaining('camera=()'),
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** The APIs that the page's script passes to Scalar when it is loaded from `src`. */
function referenceSources(script: string, src: string): unknown[] {
  let sources: unknown[] = []
  runInNewContext(script, {
    URL,
    document: {
      currentScript: { src },
      getElementById: () => ({ dataset: { operator: '' } }),
    },
    Scalar: {
      createApiReference: (_element: unknown, options: { sources: unknown[] }) => {
        sources = options.sources
      },
    },
  })
  return sources
}
