import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../server/test/app.ts'
import { cardItem, NO_LIMITS } from '../server/test/fixtures/listings.ts'
import { buy, openShop } from '../server/test/fixtures/orders.ts'
import { newDirectory } from '../server/test/new-directory.ts'

const SDK = import.meta.dirname

let app: TestApp
let seller: Awaited<ReturnType<typeof openShop>>
let baseUrl: string
let blocks: string[]
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  await app.app.listen({ port: 0, host: '127.0.0.1' })
  baseUrl = `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}/v1`
  seller = await openShop(app)
  const readme = await readFile(path.join(SDK, 'README.md'), 'utf8')
  blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block!)
})

/** Runs a program in TypeScript that imports `@cardstall/sdk` from its sources, and returns its output. */
async function run(program: string): Promise<string> {
  const options = ['--conditions=cardstall', '--input-type=module-typescript', '--eval']
  const env = { ...process.env, CARDSTALL_KEY: seller.key, CARDSTALL_URL: baseUrl }
  const { stdout } = await promisify(execFile)(process.execPath, [...options, program], {
    cwd: SDK,
    env,
  })
  return stdout
}

it('the quickstart of the README has ten lines and works', async () => {
  const quickstart = await readFile(path.join(SDK, 'examples/quickstart.ts'), 'utf8')
  expect(blocks[0]).toBe(quickstart)
  expect(quickstart.split('\n').filter(Boolean).length).toBeLessThanOrEqual(10)
  const { body } = await seller.post('/v1/listings', { payload: { items: [cardItem()] } })
  await buy(app, [[body.results[0].listing.id, 1]])
  const program = quickstart
    .replace('svc_live_…', seller.key)
    .replace('https://cards.example/v1', baseUrl)
    .replace('brs_TG12', cardItem().card)
  expect(await run(program)).toMatch(/status: 'created'[\s\S]*Charizard ex Misty Waterflower/)
})

it('every other example of the README works', async () => {
  const program = `
    import { Cardstall, sign } from '@cardstall/sdk'
    import { verify } from '@cardstall/sdk/webhooks'
    // Long transactions of other tests on the same server can delay a first cursor beyond its limit.
    const cardstall = new Cardstall({ maxRetries: Infinity })
    const items = [${JSON.stringify(cardItem())}]
    const { next } = await cardstall.tools.changes()
    const loadCursor = async () => next
    const apply = async (...change) => console.log('changed', ...change.slice(0, 2))
    const stop = () => { throw new Error('stop') }
    const saveCursor = stop
    const codeFor = async () => 'CODE'
    process.env.WEBHOOK_SECRET = 'svc_whsec_example'
    const rawBody = '{"event":"order.created","data":{}}'
    const request = { headers: await sign(rawBody, process.env.WEBHOOK_SECRET) }
    cardstall.tools.events.follow = async function* () { yield { event: 'order.created' }; stop() }
    ${blocks
      .slice(1)
      .map(
        (block) => `
        try {
          ${block.replace(/^import .*$/m, '')}
        } catch (error) {
          if (error.message !== 'stop') throw error
        }`,
      )
      .join('\n')}
    console.log('done', ${blocks.length - 1})
  `
  const output = await run(program)
  expect(output).toMatch(/changed (order|listing) \d+/)
  expect(output).toContain(`done ${blocks.length - 1}`)
})

it('a program that follows changes as the README shows begins with all records, and misses nothing between two runs', async () => {
  const list = async () => {
    const { body } = await seller.post('/v1/listings', { payload: { items: [cardItem()] } })
    return `listing ${body.results[0].listing.id}\n`
  }
  const folder = await newDirectory()
  const file = JSON.stringify(path.join(folder, 'cursor'))
  /** Runs the program until it asks the feed for more, after it has applied something. */
  const follow = () =>
    run(`
      import { readFile, writeFile } from 'node:fs/promises'
      import { Cardstall } from '@cardstall/sdk'
      const { fetch } = globalThis
      let hasApplied = false
      globalThis.fetch = (url, options) => {
        if (hasApplied && String(url).includes('wait=')) process.exit()
        return fetch(url, options)
      }
      const cardstall = new Cardstall({ maxRetries: Infinity })
      const loadCursor = () => readFile(${file}, 'utf8').catch(() => undefined)
      const saveCursor = (cursor) => writeFile(${file}, cursor)
      const removeAll = async () => console.log('empty')
      const apply = async (kind, id) => {
        hasApplied = true
        console.log(kind, id)
      }
      ${blocks.find((block) => block.includes('tools.follow('))}
    `)
  const former = await list()
  expect(await follow()).toMatch(new RegExp(`^empty\n(.*\n)*${former}`))
  const later = await list()
  expect(await follow()).toBe(later)
})

it('the receiver of each framework accepts a genuine delivery, refuses a changed one and a missing secret with 401, and prints why; that of node:http keeps no large body', async () => {
  const output = await run(`
    import { once } from 'node:events'
    import fastify from 'fastify'
    import { sign } from '@cardstall/sdk'
    import { webhooks } from './examples/fastify.ts'
    import { receive } from './examples/hono.ts'
    import { POST } from './examples/next.ts'
    import { server } from './examples/node-http.ts'
    import worker from './examples/workers.ts'
    console.log = () => {}
    const errors = new Set()
    console.error = ({ message }) => errors.add(message)
    let WEBHOOK_SECRET = process.env.WEBHOOK_SECRET = 'svc_whsec_example'
    const app = fastify()
    await app.register(webhooks)
    const fastifyUrl = await app.listen({ port: 0, host: '127.0.0.1' })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const receivers = {
      node: (request) => fetch(new Request('http://127.0.0.1:' + server.address().port, request)),
      fastify: (request) => fetch(new Request(fastifyUrl + '/hook', request)),
      next: POST,
      hono: (request) => receive({
        req: {
          arrayBuffer: () => request.arrayBuffer(),
          header: () => Object.fromEntries(request.headers),
        },
        body: (data, status) => new Response(data, { status }),
      }),
      workers: (request) => worker.fetch(request, { WEBHOOK_SECRET }),
    }
    // Spaces and escapes that parsing and formatting would change.
    const body = '{ "event":"order.created", "data": {"name": "Pok\\\\u00e9mon", "price": 4.50} }'
    const headers = { 'content-type': 'application/json', ...(await sign(body, WEBHOOK_SECRET)) }
    const statuses = {}
    for (const [name, receiver] of Object.entries(receivers)) {
      const send = async (text) => {
        const request = { method: 'POST', headers, body: text }
        return (await receiver(new Request('http://receiver.example/hook', request))).status
      }
      statuses[name] = [await send(body), await send(body + ' ')]
      WEBHOOK_SECRET = undefined
      delete process.env.WEBHOOK_SECRET
      statuses[name].push(await send(body), ...errors)
      errors.clear()
      WEBHOOK_SECRET = process.env.WEBHOOK_SECRET = 'svc_whsec_example'
    }
    const large = JSON.stringify({ event: 'order.created', text: 'x'.repeat(2 ** 20) })
    const signed = await sign(large, WEBHOOK_SECRET)
    const request = new Request('http://receiver.example/', { method: 'POST', headers: signed, body: large })
    statuses.large = [(await receivers.node(request)).status, ...errors]
    process.stdout.write(JSON.stringify(statuses))
    process.exit()
  `)
  const outcome = [
    204,
    401,
    401,
    'The signature does not match the body.',
    'The secret is missing: is its variable set?',
  ]
  const expected = ['node', 'fastify', 'next', 'hono', 'workers'].map((name) => [name, outcome])
  const large = [401, 'The signature does not match the body.']
  expect(JSON.parse(output)).toEqual({ ...Object.fromEntries(expected), large })
})
