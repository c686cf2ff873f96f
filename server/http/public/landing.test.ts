import { beforeAll, describe, expect, it } from 'vitest'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../../test/app.ts'
import { DESCRIPTIONS } from '../../test/descriptions.ts'

let sandbox: TestApp
let production: TestApp
beforeAll(async () => {
  sandbox = await startTestApp()
  production = await startTestApp({ settings: { SANDBOX: 'false', OPERATOR_TOKEN: '' } })
})

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const page = async (app: TestApp) =>
  (await app.anyone.get('/', { headers: { accept: BROWSER } })).text

describe('GET /', () => {
  it.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/json', 'application/json'],
    ['application/json, text/html;q=0.5', 'application/json'],
    ['image/png', 'application/json'],
    [';;,/,', 'application/json'],
    ['text/html', 'text/html'],
    [BROWSER, 'text/html'],
  ])('GET / with Accept: %s responds with %s', async (accept, type) => {
    const { status, headers } = await sandbox.anyone.get('/', {
      headers: accept === undefined ? {} : { accept },
    })
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': `${type}; charset=utf-8`,
      'cache-control': 'no-cache',
      vary: 'accept, accept-encoding',
    })
  })

  it('GET / as JSON has the name, the version and links to everything', async () => {
    const { body } = await sandbox.anyone.get('/')
    expect(body).toEqual({
      name: 'Cardstall',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      description: expect.stringContaining('marketplace'),
      sandbox: true,
      links: {
        seller_api: 'https://cards.example/v1',
        tools_api: 'https://cards.example/tools/v1',
        operator_api: 'https://cards.example/operator/v1',
        reference: 'https://cards.example/docs',
        guides: 'https://cards.example/docs/guides/',
        openapi: 'https://cards.example/openapi.json',
        tools_openapi: 'https://cards.example/tools/openapi.json',
        operator_openapi: 'https://cards.example/operator/openapi.json',
        health: 'https://cards.example/health/ready',
      },
    })
  })

  it('the landing page says that it is a sandbox, where the console and the e-mail are, and shows no secret', async () => {
    const html = await page(sandbox)
    expect(html).toContain('This is a sandbox')
    expect(html).toContain('https://cards.example/console')
    expect(html).toContain('https://cards.example/operator/v1/sandbox/mail')
    expect(html).not.toContain(OPERATOR_TOKEN)
    expect(html).not.toMatch(/svc_live_\w/)
  })

  it('the landing page mentions the operator API and the sandbox only where they exist', async () => {
    const html = await page(production)
    expect(html).not.toMatch(/operator|sandbox/i)
    const { body } = await production.anyone.get('/')
    expect(body.sandbox).toBe(false)
    expect(Object.keys(body.links)).toEqual([
      'seller_api',
      'tools_api',
      'reference',
      'guides',
      'openapi',
      'tools_openapi',
      'health',
    ])
  })

  it('GET / is in no API description', async () => {
    for (const { path } of DESCRIPTIONS) {
      expect(Object.keys((await sandbox.anyone.get(path)).body.paths)).not.toContain('/')
    }
  })
})
