import { readFile, writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { PDFDocument } from '@pdfme/pdf-lib'
import { beforeAll, expect, it } from 'vitest'
import { Cardstall } from '../sdk/src/index.ts'
import { SCOPES } from '../server/keys/scopes.ts'
import { cardItem } from '../server/test/fixtures/listings.ts'
import { form } from '../server/test/fixtures/members.ts'
import { allowing } from '../server/test/fixtures/oauth.ts'
import { act, buy, LABEL } from '../server/test/fixtures/orders.ts'
import { until } from '../server/test/until.ts'
import { app, file, folder, seller, start, startShop, url } from './test/packed.ts'

const ROWS = 2_000
/** Every hundredth row of the file has a mistake. */
const MISTAKES = 20

beforeAll(startShop)

it('a seller’s day: sign in, import with mistakes, reprice, follow, sell, label, ship, reconcile', async () => {
  const env = { CARDSTALL_URL: '', CARDSTALL_KEY: '', XDG_CONFIG_HOME: folder }
  const cardstall = (...args: string[]) => start(args, { env }).ended

  // The member opens the address that the terminal shows, and allows the code.
  const login = start(['login', '--no-browser', '--url', url], { env })
  let shown = ''
  login.child.stderr.on('data', (text) => {
    shown += text
  })
  const [, page, code] = await until('a code', () =>
    /Open (\S+) and enter the code (\S+)\n/.exec(shown),
  )
  const member = await app.member(seller.accountId)
  const { pathname } = new URL(page!)
  expect((await member.get(`${pathname}?user_code=${code}`)).text).toContain(code)
  await member.post(pathname, form({ user_code: code!, ...allowing(SCOPES) }, {}, url))
  expect((await login.ended).code).toBe(0)
  const stored = await readFile(file('cardstall/config.json'), 'utf8')
  const { key } = JSON.parse(stored).profiles.default
  const client = new Cardstall({ key, baseUrl: `${url}/v1` })

  // A copy of the shop follows the feed while everything else happens. Long transactions of other tests on the same server
  // can delay its first cursor beyond its limit.
  const { next } = await client.tools.changes({}, { maxRetries: Infinity })
  const copy = { listing: new Map<number, unknown>(), order: new Map<number, unknown>() }
  const stop = new AbortController()
  const following = (async () => {
    for await (const { kind, id, record } of client.tools.follow(next, { signal: stop.signal })) {
      copy[kind].set(id, record)
    }
  })()
  following.catch(() => {})

  const { card } = cardItem()
  const rowOf = (n: number) => `${card},${n % 100 ? 'NM' : 'XX'},EN,1.37,3,SHELF-${n}`
  const rows = Array.from({ length: ROWS }, (_, n) => rowOf(n))
  await writeFile(
    file('stock.csv'),
    ['card,condition,language,price,quantity,reference', ...rows].join('\n'),
  )
  const imported = await cardstall(
    'listings',
    'import',
    'stock.csv',
    '--yes',
    '--failed',
    'left.csv',
  )
  const listed = ROWS - MISTAKES
  expect([imported.code, imported.stdout]).toEqual([1, `${ROWS}\t${listed}\t${MISTAKES}\n`])
  const left = (await readFile(file('left.csv'), 'utf8')).trim().split('\r\n')
  expect(left).toHaveLength(1 + MISTAKES)

  const sold = Array.from({ length: 10 }, (_, n) => n + 1)
  const prices = sold.map((n) => `SHELF-${n},${(9.99 + n / 100).toFixed(2)}`)
  await writeFile(file('prices.csv'), ['reference,price', ...prices].join('\n'))
  const repriced = await cardstall('listings', 'reprice', 'prices.csv', '--yes')
  expect([repriced.code, repriced.stdout]).toEqual([0, '10\t0\n'])

  const orders: number[] = []
  const shipping = [{ account_id: seller.accountId, option: LABEL.code }]
  for (const n of sold) {
    const { data } = await client.tools.listings.list({ reference: `SHELF-${n}` })
    orders.push(...(await buy(app, [[data[0]!.id, 1 + (n % 3)]], { shipping })).orderIds)
  }
  const parcels = orders.map(String)
  expect((await cardstall('labels', 'buy', ...parcels, '--merge', 'labels.pdf')).code).toBe(0)
  const labels = await PDFDocument.load(await readFile(file('labels.pdf')))
  expect(labels.getPageCount()).toBe(10)
  const shipped = await cardstall('orders', 'ship', ...parcels)
  expect(shipped.code).toBe(0)
  expect(shipped.stdout.trim().split('\n')).toHaveLength(10)
  await app.operator.post(`/operator/v1/orders/${orders[0]}/refund`, {
    payload: { amount: 0.33, reason: 'A scratch' },
  })
  for (const order of orders.slice(0, 5)) await act(app, order, 'receive')

  const byId = (records: { id: number }[]) => new Map(records.map((record) => [record.id, record]))
  const all = await client.tools.orders.list().all(100)
  const listings = await client.tools.listings.list().all(ROWS)
  expect(listings).toHaveLength(listed)
  await until('the copy has the last state of each order and listing', () =>
    isDeepStrictEqual([copy.order, copy.listing], [byId(all), byId(listings)]),
  )
  stop.abort()
  await following.catch(() => {})

  const month = app.ctx.now().toISOString().slice(0, 7)
  const statement = JSON.parse((await cardstall('statement', month, '--json')).stdout)
  const cents = (amount: number) => Math.round(amount * 100)
  const sum = (of: (order: (typeof all)[number]) => number) =>
    all.reduce((total, order) => total + cents(of(order)), 0)
  const { totals } = statement
  expect(all).toHaveLength(10)
  expect({
    gross: cents(totals.gross),
    commission: cents(totals.commission),
    refunds: cents(totals.refunds),
    shipping: cents(totals.shipping),
  }).toEqual({
    gross: sum(({ price, quantity }) => price * quantity),
    commission: sum(({ financial }) => financial.commission),
    refunds: sum(({ financial }) => financial.refunded_amount),
    // The marketplace sold the labels.
    shipping: 0,
  })
  expect(statement.slices).toHaveLength(10)
  expect(cents(statement.closing_balance)).toBe(
    cents(totals.gross) - cents(totals.commission) - cents(totals.refunds) - cents(totals.payout),
  )
})
