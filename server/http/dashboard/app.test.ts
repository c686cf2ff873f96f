import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { type BuildState, dashboardBuild } from '../../dashboard/build.ts'
import { startTestApp } from '../../test/app.ts'
import { whenFileEnds } from '../../test/when-file-ends.ts'
import { dashboardApp } from './app.ts'

const SCRIPT = 'console.log("dashboard")'.repeat(100)

async function serve(state: BuildState) {
  const root = await mkdtemp(path.join(tmpdir(), 'cardstall-dashboard-'))
  whenFileEnds(() => rm(root, { recursive: true, force: true }))
  const directory = path.join(root, 'dist')
  await mkdir(path.join(directory, 'assets'), { recursive: true })
  await writeFile(
    path.join(directory, 'index.html'),
    '<script type="module" src="./assets/a-1.js"></script>',
  )
  await writeFile(path.join(directory, 'assets/a-1.js'), SCRIPT)
  await writeFile(path.join(root, 'secret.js'), 'secret')
  const app = Fastify()
  app.register(dashboardApp({ ...dashboardBuild(root), state: async () => state }))
  return app
}

it('every address of the dashboard gets the page, with relative addresses of its files', async () => {
  const app = await serve('ready')
  for (const [url, script] of [
    ['/dashboard', './dashboard/assets/a-1.js'],
    ['/dashboard/', './assets/a-1.js'],
    ['/dashboard/orders', './assets/a-1.js'],
    ['/dashboard/orders/12?tab=rows', '../assets/a-1.js'],
  ]) {
    const { statusCode, headers, body } = await app.inject(url!)
    expect({ url, statusCode, body }).toMatchObject({ url, statusCode: 200 })
    expect(body).toContain(`src="${script}"`)
    expect(headers['cache-control']).toBe('no-cache')
    expect(headers['content-security-policy']).toContain("script-src 'self';")
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['referrer-policy']).toBe('same-origin')
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
