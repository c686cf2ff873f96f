import { readFile } from 'node:fs/promises'
import { createConfig, lint } from '@redocly/openapi-core'
import Fastify from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { guardSellerRoutes } from './authenticate.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

// biome-ignore lint/suspicious/noExplicitAny: a whole OpenAPI document, walked freely
type Document = any

const committed = async (name: string): Promise<Document> =>
  JSON.parse(await readFile(new URL(`../../openapi/${name}.json`, import.meta.url), 'utf8'))

const operations = (document: Document): [name: string, operation: Document][] =>
  Object.entries(document.paths as Record<string, object>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Document] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )

describe('the seller API’s description', () => {
  it('has exactly the operations there are, in version 1.0.0 of OpenAPI 3.1', async () => {
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
      'GET /me',
    ])
  })

  it('and the operator’s are valid for an independent linter', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] })
    for (const name of ['seller', 'operator']) {
      const ref = new URL(`../../openapi/${name}.json`, import.meta.url).pathname
      const problems = await lint({ ref, config })
      expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
    }
  })

  it('names, explains and exemplifies every operation, and every error it can answer with', async () => {
    for (const [name, { operationId, summary, responses }] of operations(
      await committed('seller'),
    )) {
      expect(operationId, name).toMatch(/^[a-z][A-Za-z]+$/)
      expect(summary, name).toMatch(/\w/)
      for (const status of ['401', '403', '429', '500']) {
        expect(Object.keys(responses), name).toContain(status)
      }
      // Only what has been deleted is answered with nothing.
      if (name.startsWith('DELETE')) expect(Object.keys(responses)).toContain('204')
      else expect(responses[200].content['application/json'].example, name).toBeTruthy()
    }
  })

  it('has only descriptions that say something', async () => {
    expect(JSON.stringify(await committed('seller'))).not.toContain('Default Response')
    expect(JSON.stringify(await committed('operator'))).not.toContain('Default Response')
  })

  it('names every schema once, and keeps the words of the house to the house', async () => {
    const text = JSON.stringify(await committed('seller'))
    expect(text).not.toMatch(/"storable"|"clamped"|"x-items"|"x-errors"|"x-example"|"def-\d/)
  })
})

describe('a seller route', () => {
  it('that declares no scope can’t be registered: it would be open to every key', async () => {
    const bare = Fastify()
    bare.addHook('onRoute', guardSellerRoutes(app.ctx))
    expect(() => bare.get('/open', () => '')).toThrow('GET /open declares no scope')
    bare.get('/me', { config: { scope: null } }, () => '')
    bare.get('/cards', { config: { scope: 'catalog:read' } }, () => '')
  })

  it('says in its description which scope it needs', async () => {
    for (const [name, { description }] of operations(await committed('seller'))) {
      expect(description, name).toMatch(/Scope: `[a-z]+:[a-z]+`\.|Needs no scope/)
    }
  })
})

describe('the reference page', () => {
  it('loads nothing from elsewhere', async () => {
    for (const address of ['/docs', '/docs/']) {
      const { status, headers, text } = await app.anyone.get(address)
      expect(status).toBe(200)
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
      expect(headers['content-security-policy']).toMatch(/^default-src 'self'/)
      expect(text).not.toMatch(/https?:\/\//)
      const script = text.match(/src="([^"]+)"/)?.[1] ?? ''
      const { pathname } = new URL(script, `https://cards.example${address}`)
      expect(pathname).toBe('/docs/scalar.js')
    }
    const script = await app.anyone.get('/docs/scalar.js')
    expect(script.status).toBe(200)
    expect(script.text).toContain('createApiReference')
  })
})
