import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import { build, type Rolldown } from 'vite'
import { beforeAll, expect, it } from 'vitest'
import { startTestApp } from '../server/test/app.ts'
import { chromiumPath } from '../server/test/browser.ts'
import { startWebServer } from '../server/test/fakes/network.ts'
import { NO_LIMITS } from '../server/test/fixtures/listings.ts'
import { pollDevice, startDevice } from '../server/test/fixtures/oauth.ts'
import { freePort } from '../server/test/free-port.ts'
import { newDirectory } from '../server/test/new-directory.ts'
import { whenFileEnds } from '../server/test/when-file-ends.ts'
import { Cardstall } from './src/index.ts'

const run = promisify(execFile)
const SDK = import.meta.dirname
const MAX_BYTES = 6 * 1024
const MAX_WEBHOOKS_BYTES = 1.2 * 1024

/** A project with only the packed library in its `node_modules`. */
let project: string
let installed: string
beforeAll(async () => {
  project = await newDirectory()
  const source = path.join(project, 'source')
  await cp(SDK, source, { recursive: true })
  const rootConfig = path.join(project, 'tsconfig.json')
  await cp(path.join(SDK, '../tsconfig.json'), rootConfig)
  await run(process.execPath, [tscPath(), '-p', 'tsconfig.build.json'], { cwd: source })
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json'], { cwd: source })
  const packed = JSON.parse(stdout)
  const { filename } = Array.isArray(packed) ? packed[0] : Object.values(packed)[0]
  installed = path.join(project, 'node_modules/@cardstall/sdk')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', filename, '-C', installed, '--strip-components=1'], { cwd: source })
  for (const file of [source, rootConfig]) await rm(file, { recursive: true })
})

const tscPath = () => path.join(SDK, '../node_modules/typescript/bin/tsc')

const bundled = async (entry: string) => {
  await writeFile(path.join(project, 'entry.js'), `export * from '${entry}'\n`)
  const output = (await build({
    root: project,
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      rolldownOptions: {
        input: path.join(project, 'entry.js'),
        preserveEntrySignatures: 'strict',
      },
    },
  })) as Rolldown.RolldownOutput
  return gzipSync(output.output.map((chunk) => ('code' in chunk ? chunk.code : '')).join('')).length
}

it('the packed library works without anything else installed', async () => {
  await writeFile(
    path.join(project, 'use.mjs'),
    `import { Cardstall, verify, sign, NotFoundError } from '@cardstall/sdk'
import { verify as alone } from '@cardstall/sdk/webhooks'
const headers = await sign('{"event":"order.created"}', 'svc_whsec_x')
const { event } = await alone('{"event":"order.created"}', headers, 'svc_whsec_x')
const client = new Cardstall({ key: 'x', baseUrl: 'https://cards.example/v1', fetch: async (url) => new Response(JSON.stringify({ data: { id: url } }), { headers: { 'content-type': 'application/json' } }) })
console.log(event, (await client.me()).id, new NotFoundError('x').name, verify === alone)
`,
  )
  // Many projects resolve the packages of their own workspace with the condition "source".
  for (const options of [[], ['--conditions=source']]) {
    const { stdout } = await run(process.execPath, [...options, 'use.mjs'], { cwd: project })
    expect(stdout.trim()).toBe('order.created https://cards.example/v1/me NotFoundError true')
  }
})

it.skipIf(!chromiumPath)(
  'the packed library works in a page that gets the API from its own address, and a device login there gives it a key',
  async () => {
    const servicePort = await freePort()
    const service = `http://127.0.0.1:${servicePort}`
    const settings = { ...NO_LIMITS, PUBLIC_URL: service }
    const app = await startTestApp({ template: 'fixture', settings })
    await app.app.listen({ port: servicePort, host: '127.0.0.1' })
    const member = await app.member()
    const { port } = await startWebServer(async ({ url = '', method, headers }, response) => {
      if (url === '/') return response.setHeader('content-type', 'text/html').end('<!doctype html>')
      if (url.startsWith('/sdk/')) {
        const file = await readFile(path.join(installed, 'dist', path.basename(url)))
        return response.setHeader('content-type', 'text/javascript').end(file)
      }
      const { authorization = '' } = headers
      const received = await fetch(service + url, { method: method!, headers: { authorization } })
      response.writeHead(received.status, {
        'content-type': received.headers.get('content-type')!,
        'x-request-id': received.headers.get('x-request-id')!,
      })
      return response.end(Buffer.from(await received.arrayBuffer()))
    })
    const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
    whenFileEnds(() => browser.close())
    const context = await browser.newContext()
    const [name, value] = member.cookie.split('=') as [string, string]
    await context.addCookies([{ name, value, url: service }])
    const page = await context.newPage()

    // As "cardstall login" does it: the member types the code of the terminal.
    const { body: device } = await startDevice(app)
    await page.goto(`${service}/device`)
    await page.getByLabel('Code that the terminal shows').fill(device.user_code)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.locator('[name="orders:write"]').uncheck()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('The command line is signed in').waitFor()
    const token = (await pollDevice(app, device.device_code)).body.access_token
    const { key } = await new Cardstall({ key: token, baseUrl: `${service}/v1` }).tools.key.create({
      scopes: ['catalog:read', 'orders:read'],
    })

    await page.goto(`http://127.0.0.1:${port}/`)
    const seen = await page.evaluate(`(async () => {
      const { Cardstall } = await import('/sdk/index.js')
      const { sign, verify } = await import('/sdk/webhooks.js')
      const key = ${JSON.stringify(key)}
      const client = new Cardstall({ key, baseUrl: location.origin + '/v1' })
      const nameOf = (promise) => promise.then(() => 'no error', ({ name }) => name)
      const { scopes } = await client.me()
      const ids = []
      for await (const { id } of client.cards.list({ per_page: 2 })) ids.push(id)
      const body = '{"event":"order.created"}'
      const headers = new Headers(await sign(body, 'svc_whsec_x'))
      const other = new Cardstall({ key, baseUrl: ${JSON.stringify(service)} + '/v1', maxRetries: 0 })
      return {
        scopes,
        ids,
        missing: await nameOf(client.cards.get('nothing-1')),
        event: (await verify(new TextEncoder().encode(body), headers, 'svc_whsec_x')).event,
        changed: await nameOf(verify(body + ' ', headers, 'svc_whsec_x')),
        otherOrigin: await nameOf(other.me()),
      }
    })()`)
    const { body } = await app.withKey(key).get('/v1/cards?per_page=100')
    expect(seen).toEqual({
      scopes: ['catalog:read', 'orders:read'],
      ids: body.data.map(({ id }: { id: string }) => id),
      missing: 'NotFoundError',
      event: 'order.created',
      changed: 'SignatureError',
      // The API allows no other origin, because a page cannot keep a key secret.
      otherOrigin: 'ConnectionError',
    })
  },
)

it('the packed library contains only its build, its licence and the examples of its README, and has no dependencies', async () => {
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8'))
  expect(manifest.dependencies).toBeUndefined()
  const { stdout } = await run('find', ['.', '-type', 'f'], { cwd: installed })
  const files = stdout.trim().split('\n').sort()
  expect(
    files.filter(
      (file) =>
        !/^\.\/(dist\/[a-z]+\.(js|d\.ts)|examples\/[a-z-]+\.ts|package\.json|README\.md|LICENSE)$/.test(
          file,
        ),
    ),
  ).toEqual([])
  expect(files).toContain('./dist/webhooks.d.ts')
  const license = await readFile(path.join(SDK, '../LICENSE'), 'utf8')
  expect(await readFile(path.join(installed, 'LICENSE'), 'utf8')).toBe(license)
  const readme = await readFile(path.join(installed, 'README.md'), 'utf8')
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => `./${link}`)
  expect(links.length).toBeGreaterThan(0)
  expect(files).toEqual(expect.arrayContaining(links))
})

it('a program in TypeScript gets the types of requests, records and events', async () => {
  await writeFile(
    path.join(project, 'typed.mts'),
    `import { Cardstall, type Listing, verify } from '@cardstall/sdk'
const client = new Cardstall()
const page: { data: Listing[] } = await client.listings.list({ updated_since: new Date() })
page.data[0]!.price.toFixed(2)
const event = await verify('', {}, '')
if (event.event === 'order.cancelled') event.data.cancelled_by
// @ts-expect-error an unknown status
client.listings.list({ status: 'lost' })
// @ts-expect-error a card needs a condition and a price
client.listings.create([{ card: 'x' }])
`,
  )
  expect(await problemsIn('typed.mts')).toBe('')
})

it('an optional value may be undefined, also with exactOptionalPropertyTypes', async () => {
  await writeFile(
    path.join(project, 'optional.mts'),
    `import { Cardstall, verify } from '@cardstall/sdk'
declare const text: string | undefined, number: number | undefined, date: Date | undefined
declare const status: 'active' | 'sold' | undefined
const client = new Cardstall({ key: text, baseUrl: text, timeoutMs: number, maxRetries: number, fetch: undefined, headers: undefined, onRequest: undefined })
client.orders.list({ page: number })
client.listings.list({ status, updated_since: date })
client.cards.get('x', { include: text })
client.tools.deliveries.list({ from: date, endpoint_id: number })
await client.orders.waitForLabel(1, { untilMs: number })
client.listings.createAll([], { onProgress: undefined })
client.tools.events.follow(text, { onConnection: undefined })
await verify('', {}, '', { toleranceSeconds: number, now: undefined })
client.listings.create([{ card: 'x', condition: 'NM', language: 'EN', price: 1, quantity: 1, description: text }])
client.tools.listings.create([{ product: 'x', language: 'EN', price: 1, quantity: 1, reference: text }])
client.listings.update(1, { price: number, status })
client.tools.listings.changeMany([{ id: number, reference: text, price: number }])
`,
  )
  expect(await problemsIn('optional.mts', '--exactOptionalPropertyTypes')).toBe('')
})

const problemsIn = async (file: string, ...strict: string[]): Promise<string> => {
  const options = ['--strict', ...strict, '--noEmit', '--module', 'nodenext', '--lib', 'esnext,dom']
  return run(process.execPath, [tscPath(), ...options, file], { cwd: project }).then(
    () => '',
    ({ stdout }) => stdout,
  )
}

it('bundled and compressed, the library stays within its budget', async () => {
  expect(await bundled('@cardstall/sdk')).toBeLessThanOrEqual(MAX_BYTES)
  expect(await bundled('@cardstall/sdk/webhooks')).toBeLessThan(MAX_WEBHOOKS_BYTES)
})
