import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { seededRandom } from './random.ts'
import { temporaryFolder } from './temporary-folder.ts'

/**
 * `npm run screenshots`: makes the README's pictures from a sandbox of its own with a month of generated trade. It needs
 * Chromium (`CHROMIUM`, or Debian's) and, for the pictures of cards, the internet.
 */

const REPOSITORY = fileURLToPath(new URL('../', import.meta.url))
const PICTURES = join(REPOSITORY, 'docs/images')
const DAYS = 30
const DAY_SECONDS = 24 * 60 * 60
const SIZE = { width: 1280, height: 800 }

const random = seededRandom(7)
const BUYERS = [
  'Misty Waterflower',
  'Brock Harrison',
  'Erika Celadon',
  'Koga Fuchsia',
  'Janine Fuchsia',
]

const folder = await temporaryFolder('screenshots')
const port = 3_900
const address = `http://localhost:${port}`

const service = spawn(process.execPath, [join(REPOSITORY, 'cardstall.js'), 'serve'], {
  cwd: folder,
  env: {
    ...process.env,
    DATA_DIR: join(folder, 'data'),
    PORT: String(port),
    LOG_LEVEL: 'silent',
    RATE_LIMIT_WRITE: '100000',
    RATE_LIMIT_READ: '100000',
    WEBHOOK_ALLOW_PRIVATE: 'true',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
})
process.once('exit', () => service.kill())

let output = ''
const exited = once(service, 'exit').then(() => {
  throw new Error(`The service has ended. ${output}`)
})
exited.catch(() => {})
while (!output.includes('Cardstall is ready.')) {
  const [chunk] = await Promise.race([once(service.stdout, 'data'), exited])
  output += chunk
}
const printed = (name: string) => output.match(new RegExp(`${name} +(\\S+)`))![1]!
const key = printed('demo key')
const token = printed('operator token')

/** Sends a request and returns its body. Throws on any error. */
// biome-ignore lint/suspicious/noExplicitAny: the script reads a few fields of many shapes
async function call(method: string, path: string, body?: object): Promise<any> {
  const isOperator = path.startsWith('/operator')
  const response = await fetch(address + path, {
    method,
    headers: {
      authorization: `Bearer ${isOperator ? token : key}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    body: body ? JSON.stringify(body) : null,
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return response.status === 204 ? undefined : response.json()
}

const account = (await call('GET', '/v1/me')).data.id as number

/** A receiver of webhooks that is away now and then. */
const receiver = createServer((request, response) => {
  request.resume()
  response.writeHead(random.chance(0.15) ? 503 : 204).end()
}).listen(0, '127.0.0.1')
await once(receiver, 'listening')
const hook = (receiver.address() as AddressInfo).port
await call('POST', '/v1/webhooks', {
  url: `http://localhost:${hook}/hook`,
  events: ['order.created', 'order.label_ready', 'order.cancelled', 'listing.sold'],
})

await call('PATCH', `/operator/v1/accounts/${account}`, {
  shop_name: 'Pallet Town Cards',
  seller_tier: 'Gold',
})
const stock = await listCards()
for (let day = 0; day < DAYS; day++) {
  for (let sale = random.integer(1, 5); sale > 0; sale--) await sell()
  await handOver()
  await call('POST', '/operator/v1/sandbox/clock', { advance_seconds: DAY_SECONDS })
}
for (let sale = 0; sale < 3; sale++) await sell()
await takePictures()

service.kill('SIGTERM')
await once(service, 'exit')
receiver.close()
await rm(folder, { recursive: true, force: true })

/** Lists a few units of cards that people know, and returns the listings. */
async function listCards(): Promise<number[]> {
  const names = [
    'charizard',
    'pikachu',
    'umbreon',
    'gengar',
    'mewtwo',
    'eevee',
    'rayquaza',
    'lugia',
  ]
  const listings: number[] = []
  for (const name of names) {
    const { data } = await call('GET', `/v1/cards?q=${name}&per_page=12`)
    const items = data.map(({ id }: { id: string }) => ({
      card: id,
      condition: random.pick(['M', 'NM', 'LP']),
      language: 'EN',
      price: random.integer(50, 9_000) / 100,
      quantity: random.integer(3, 9),
    }))
    const { results } = await call('POST', '/v1/listings', { items })
    listings.push(...results.map((result: { listing: { id: number } }) => result.listing.id))
  }
  return listings
}

async function sell(): Promise<void> {
  const name = random.pick(BUYERS)
  const lines = [random.pick(stock), random.pick(stock)]
  await call('POST', '/operator/v1/checkouts', {
    buyer: { name, email: `${name.split(' ')[0]!.toLowerCase()}@mail.example` },
    address: {
      full_name: name,
      street: 'Cape Road',
      house_number: '25',
      zip: '1234 AB',
      city: 'Cerulean City',
      country: 'NL',
    },
    lines: [...new Set(lines)].map((listing_id) => ({ listing_id, quantity: 1 })),
  }).catch(() => {
    // The last unit is sold.
  })
}

/** Ships most orders, and lets their buyers report most parcels as received. */
async function handOver(): Promise<void> {
  const { data: pending } = await call('GET', '/v1/orders?status=pending&per_page=100')
  for (const { id } of pending) {
    if (!random.chance(0.6)) continue
    await call('POST', `/v1/orders/${id}/label`).catch(() => {})
    await call('POST', `/v1/orders/${id}/ship`).catch(() => {
      // It was shipped with another row of its slice.
    })
  }
  const { data: shipped } = await call('GET', '/v1/orders?status=shipped&per_page=100')
  for (const { id } of shipped) {
    if (random.chance(0.3)) await call('POST', `/operator/v1/orders/${id}/receive`)
  }
}

async function takePictures(): Promise<void> {
  await mkdir(PICTURES, { recursive: true })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
  const page = await browser.newPage({ viewport: SIZE, locale: 'en-GB', reducedMotion: 'reduce' })
  await page.goto(`${address}/signin`)
  await page.getByLabel('E-mail').fill(printed('demo e-mail'))
  await page.getByLabel('Password').fill(printed('demo password'))
  await page.getByRole('button', { name: 'Sign in' }).click()
  const { data: popular } = await call('GET', '/v1/listings?status=active&per_page=1')
  const pictures = [
    ['overview', '/dashboard', 'Figures by day'],
    ['deliveries', '/dashboard/webhooks/deliveries', '1 attempt'],
    ['card', `/cards/${popular[0].listable.id}`, 'Pallet Town Cards'],
  ] as const
  for (const [name, path, text] of pictures) {
    await page.goto(address + path)
    await page.getByRole('main').getByText(text).first().waitFor()
    await page.waitForLoadState('networkidle')
    const file = join(PICTURES, `${name}.png`)
    await page.screenshot({ path: file })
    console.log(file)
  }
  await browser.close()
}
