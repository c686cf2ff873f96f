import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { type BuildState, dashboardBuild } from '../../dashboard/build.ts'
import { startTestApp } from '../../test/app.ts'
import { newDirectory } from '../../test/new-directory.ts'
import { builtPages } from './app.ts'

const SCRIPT = 'console.log("dashboard")'.repeat(100)

const MANIFEST = {
  'index.html': { file: 'assets/a-1.js', imports: ['_frame-1.js'] },
  'console.html': { file: 'assets/c-1.js', imports: ['_frame-1.js'] },
  '_frame-1.js': { file: 'assets/frame-1.js', css: ['assets/frame-1.css'] },
  '_table-1.js': { file: 'assets/table-1.js', imports: ['_frame-1.js'] },
  'src/overview/page.tsx': { file: 'assets/overview-1.js', imports: ['index.html'] },
  'src/orders/page.tsx': {
    file: 'assets/orders-1.js',
    css: ['assets/orders-1.css'],
    imports: ['_frame-1.js', '_table-1.js'],
  },
  'src/listings/page.tsx': { file: 'assets/listings-1.js' },
  'src/listings/import.tsx': { file: 'assets/import-1.js' },
  'src/console/orders.tsx': { file: 'assets/all-orders-1.js', imports: ['_table-1.js'] },
}

/** @param states one after the other; the last one stays */
async function serve(...states: BuildState[]) {
  const root = await newDirectory()
  const directory = path.join(root, 'dist')
  await mkdir(path.join(directory, 'assets'), { recursive: true })
  await mkdir(path.join(directory, '.vite'))
  await writeFile(path.join(directory, '.vite/manifest.json'), JSON.stringify(MANIFEST))
  for (const page of ['index', 'console']) {
    await writeFile(
      path.join(directory, `${page}.html`),
      `<head><title>${page}</title><script type="module" src="./assets/a-1.js"></script></head>`,
    )
  }
  await writeFile(path.join(directory, 'assets/a-1.js'), SCRIPT)
  await writeFile(path.join(root, 'secret.js'), 'secret')
  const app = Fastify()
  const pages = builtPages({
    ...dashboardBuild(root),
    state: async () => (states.length > 1 ? states.shift()! : states[0]!),
  })
  app.register(pages.dashboard)
  app.register(pages.console)
  return app
}

it('every address of the dashboard and the console gets its page, with relative addresses of the files', async () => {
  const app = await serve('ready')
  for (const [url, page, root] of [
    ['/dashboard', 'index', '.'],
    ['/dashboard/', 'index', '..'],
    ['/dashboard/orders', 'index', '..'],
    ['/dashboard/orders/12?tab=rows', 'index', '../..'],
    ['/console', 'console', '.'],
    ['/console/', 'console', '..'],
    ['/console/orders/slc_1?q=a/b', 'console', '../..'],
  ]) {
    const { statusCode, headers, body } = await app.inject(url!)
    expect({ url, statusCode, body }).toMatchObject({ url, statusCode: 200 })
    expect(body).toContain(`<title>${page}</title>`)
    expect(body).toContain(`src="${root}/dashboard/assets/a-1.js"`)
    expect(headers['cache-control']).toBe('no-cache')
    expect(headers['content-security-policy']).toContain("script-src 'self';")
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['referrer-policy']).toBe('same-origin')
  }
})

it('a page names the files of its address that the first script would load later, and the read of the account', async () => {
  const app = await serve('ready')
  const me = 'preload" as="fetch /dashboard/api/me'
  for (const [url, ...expected] of [
    ['/dashboard', 'modulepreload /dashboard/assets/overview-1.js', me],
    ['/dashboard/', 'modulepreload /dashboard/assets/overview-1.js', me],
    [
      '/dashboard/orders/12?q=1',
      'modulepreload /dashboard/assets/orders-1.js',
      'stylesheet /dashboard/assets/orders-1.css',
      'modulepreload /dashboard/assets/table-1.js',
      me,
    ],
    [
      '/dashboard/listings/import',
      'modulepreload /dashboard/assets/listings-1.js',
      'modulepreload /dashboard/assets/import-1.js',
      me,
    ],
    ['/dashboard/constructor', me],
    ['/console'],
    [
      '/console/orders',
      'modulepreload /dashboard/assets/all-orders-1.js',
      'modulepreload /dashboard/assets/table-1.js',
    ],
  ] as [string, ...string[]][]) {
    const { body } = await app.inject(url)
    const links = [...body.matchAll(/<link rel="(.*)" crossorigin href="(.*)">/g)]
    const { href } = new URL(url, 'http://host')
    const found = links.map(([, kind, file]) => `${kind} ${new URL(file!, href).pathname}`)
    expect({ url, links: found }).toEqual({ url, links: expected })
  }
})

it('the console may reach no other host, not even for pictures', async () => {
  const app = await serve('ready')
  const policyOf = async (url: string) =>
    String((await app.inject(url)).headers['content-security-policy'])
  expect(await policyOf('/dashboard')).toContain('https:')
  expect(await policyOf('/console')).not.toMatch(/https?:|\*|unsafe/)
  expect(await policyOf('/console')).toContain("form-action 'none'")
})

it('a service without the operator API has no console', async () => {
  const { anyone } = await startTestApp({ settings: { SANDBOX: 'false', OPERATOR_TOKEN: '' } })
  for (const url of ['/console', '/console/orders']) {
    expect((await anyone.get(url)).status).toBe(404)
  }
})

it('a file of the dashboard may be cached forever, and is compressed for clients that accept it', async () => {
  const app = await serve('ready')
  const plain = await app.inject('/dashboard/assets/a-1.js')
  expect(plain.body).toBe(SCRIPT)
  expect(plain.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  })
  const compressed = await app.inject({
    url: '/dashboard/assets/a-1.js',
    headers: { 'accept-encoding': 'gzip, br' },
  })
  expect(compressed.headers['content-encoding']).toBe('gzip')
  expect(compressed.rawPayload.length).toBeLessThan(SCRIPT.length / 10)
})

it('a service goes on with the page that it has shown while another version is built in its folder', async () => {
  const app = await serve('ready', 'building')
  await app.inject('/dashboard')
  for (const url of ['/dashboard', '/console', '/dashboard/assets/a-1.js']) {
    expect((await app.inject(url)).statusCode).toBe(200)
  }
})

it('only built files of the dashboard are served', async () => {
  const app = await serve('ready')
  for (const name of ['a-2.js', '..%2f..%2fsecret.js', '..%2findex.html', '%00', '__proto__']) {
    expect((await app.inject(`/dashboard/assets/${name}`)).statusCode).toBe(404)
  }
})

it('a dashboard without built files is 503 with a sentence, and refreshes only while it is being built', async () => {
  for (const [state, sentence, refresh] of [
    ['building', 'is being built', '2'],
    ['failed', 'could not be built', undefined],
    ['missing', 'has not been built', undefined],
  ] as const) {
    const { statusCode, body, headers } = await (await serve(state)).inject('/dashboard/orders')
    expect(statusCode).toBe(503)
    expect(body).toContain(sentence)
    expect(headers.refresh?.toString()).toBe(refresh)
  }
})

it('an unknown address of the dashboard’s API is not the page', async () => {
  const { anyone } = await startTestApp()
  const { status, body } = await anyone.get('/dashboard/api/unknown/1')
  expect(status).toBe(404)
  expect(body.error.type).toBe('not_found')
})
