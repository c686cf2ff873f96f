import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { beforeAll, describe, expect, it } from 'vitest'
import { CarrierError } from '../server/carriers/carrier.ts'
import { startWebServer } from '../server/test/fakes/network.ts'
import { cardItem, list } from '../server/test/fixtures/listings.ts'
import {
  act,
  buy,
  LABEL,
  LETTER,
  openShop,
  PARCEL,
  sellEach,
  ship,
} from '../server/test/fixtures/orders.ts'
import { whileReplaced } from '../server/test/while-replaced.ts'
import { app, file, run, seller, sold, startProxy, startShop, succeed } from './test/packed.ts'

beforeAll(startShop)

describe('orders', () => {
  it('a slice is listed once, shown with its address, and shipped once whichever rows are named', async () => {
    const listings = await list(seller, cardItem(), cardItem())
    const shipping = [{ account_id: seller.accountId, option: LETTER.code }]
    const lines = listings.map((id): [number, number] => [id, 1])
    const { orderIds } = await buy(app, lines, { shipping })
    const [id, other] = orderIds as [number, number]
    const pending = (await succeed('orders list --status pending')).trim().split('\n')
    const item = '1 × Charizard ex'
    expect(pending.filter((line) => line.includes(`${item}, ${item}`))).toHaveLength(1)
    expect(await succeed(`orders show ${id}`)).toMatch(
      /Address\tCape Road 25 B, 1234 AB Cerulean City, NL/,
    )
    expect(await succeed(`orders ship ${id} ${other}`)).toMatch(/^slc_\S+\t2\n$/)
    expect((await seller.get(`/v1/orders/${id}`)).body.data.orders[0].status).toBe('shipped')
    expect((await run(`orders ship ${id} --tracking CODE`)).code).toBe(1)
  })

  it.each<[string, (response: ServerResponse) => void]>([
    ['no response', (response) => response.destroy()],
    ['the 504 of a proxy', (response) => response.writeHead(504).end()],
  ])(
    'an order whose shipping got %s is named, may have been shipped, and ends the command',
    async (_, answer) => {
      const [lost, next] = [await sold(LETTER), await sold(LETTER)]
      const address = await startProxy((request, response) => {
        if (request.method !== 'POST') return
        return ship(seller, lost).then(() => answer(response))
      })
      const env = { CARDSTALL_URL: address }
      const { code, stderr } = await run(`orders ship ${lost} ${next}`, { env })
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(
          new RegExp(
            `^${lost}: .+\\. The change may have been made: look before you repeat [^\n]+\n$`,
          ),
        ),
      ])
      expect((await seller.get(`/v1/orders/${next}`)).body.data.orders[0].status).toBe('pending')
    },
  )

  it('the net amount of a slice in a list leaves out cancelled rows', async () => {
    const shop = await openShop(app, PARCEL)
    const env = { CARDSTALL_KEY: shop.key }
    const [, other] = await sellEach(app, shop, cardItem({ price: 10 }), cardItem({ price: 20 }))
    await act(app, other!, 'cancel', { cancelled_by: 'buyer' })
    const netOf = async (options: string) =>
      (await succeed(`orders list${options}`, { env })).split('\t')[3]
    expect(await netOf('')).toBe('9.50')
    expect(await netOf(' --status pending')).toBe('9.50')
    expect(await netOf(' --status cancelled')).toBe('0.00')
  })

  it('an order is cancelled with a reason, a dispute is answered before its deadline, which has a time, and a review gets a reply', async () => {
    const id = await sold()
    await succeed(`orders cancel ${id} --reason buyer_asked --yes`)
    expect((await seller.get(`/v1/orders/${id}`)).body.data.orders[0].status).toBe('cancelled')
    const order = await sold()
    await ship(seller, order, { tracking_code: 'CODE' })
    await act(app, order, 'dispute')
    const [dispute] = JSON.parse(await succeed('disputes --json'))
    const row = `${order}\t${dispute.id}`
    const open = await succeed('disputes --state open')
    expect(open).toContain(`${row}\topen\t`)
    expect(open).toContain(`\t${dispute.answer_by}\t`)
    expect(await succeed(`disputes answer ${order} Sent. --dispute ${dispute.id}`)).toContain(
      `${row}\tanswered\t`,
    )
    const reviewed = await sold()
    await ship(seller, reviewed, { tracking_code: 'CODE' })
    await act(app, reviewed, 'receive')
    await app.operator.post(`/operator/v1/orders/${reviewed}/review`, { payload: { stars: 4 } })
    const [review] = (await succeed('reviews --stars 4')).split('\t')
    expect(await succeed(`reviews reply ${review} Thanks!`)).toContain('\tThanks!\t')
  })

  it('control characters of a buyer’s text do not reach the terminal in JSON, which has the same value', async () => {
    const order = await sold()
    await ship(seller, order, { tracking_code: 'CODE' })
    const message = 'x\u009b2J\u202e'
    await act(app, order, 'dispute', { message })
    const array = await succeed('disputes --state open --json')
    const lines = await succeed('disputes --state open --ndjson')
    expect(array + lines).not.toMatch(/[\u007f-\u009f\u202e]/)
    for (const records of [array, `[${lines.trim().replaceAll('\n', ',')}]`]) {
      const expected = expect.objectContaining({ order_id: order, message })
      expect(JSON.parse(records)).toContainEqual(expected)
    }
  })

  it.each([
    ['buyer_asked', 1],
    ['buyer_asked --no-restock', 0],
    ['out_of_stock', 0],
  ])('a row that is cancelled for %s puts %i units back on sale', async (options, restocked) => {
    const id = await sold()
    const { listing_id } = JSON.parse(await succeed(`orders list --limit 1 --json`))[0]
    await succeed(`orders cancel ${id} --reason ${options} --yes`)
    const listing = JSON.parse(await succeed(`listings show ${listing_id} --json`))
    expect(listing.quantity).toBe(cardItem().quantity - 1 + restocked)
  })

  it('an answer that names its dispute does not go to a later dispute of the order', async () => {
    const order = await sold()
    await ship(seller, order, { tracking_code: 'CODE' })
    await act(app, order, 'dispute')
    const [read] = JSON.parse(await succeed('disputes --json'))
    await act(app, order, 'resolve', { in_favour_of: 'seller' })
    await act(app, order, 'dispute')
    const { code, stderr } = await run(`disputes answer ${order} Sent. --dispute ${read.id}`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('dispute')])
    expect(JSON.parse(await succeed('disputes --json'))[0]).toMatchObject({
      order_id: order,
      state: 'open',
    })
  })

  it('the pick list names what to pick, and is written as a page to print', async () => {
    await sold()
    expect(await succeed('orders pick')).toMatch(
      /^Obsidian Flames 125\t\d+\tCharizard ex\tNM\tEN\t$/m,
    )
    await succeed('orders pick --html pick.html')
    expect(await readFile(file('pick.html'), 'utf8')).toMatch(/<html[\s\S]*Charizard ex/)
  })

  it('labels are bought once, and saved one by one or as one PDF', async () => {
    const orders = `${await sold(LABEL)} ${await sold(LABEL)}`
    const [first, second] = orders.split(' ')
    expect(await succeed(`labels buy ${orders} --out labels`)).toBe(
      `${first}\tready\tlabels/label-${first}.pdf\t\n${second}\tready\tlabels/label-${second}.pdf\t\n`,
    )
    const { code, stderr } = await run(`labels buy ${orders} --out /proc/labels`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('/proc/labels cannot be opened')])
    expect(await succeed(`labels buy ${orders} --merge all.pdf`)).toContain('\tall.pdf\t')
    for (const name of ['all.pdf', `labels/label-${first}.pdf`]) {
      expect(await readFile(file(name), 'latin1')).toMatch(/^%PDF-/)
    }
    const { body } = await seller.post(`/v1/orders/${first}/label`)
    expect(body.data.tracking_code).toMatch(/^SIM/)
  })

  it('a label that is missing in the merged PDF has no file, and the command says how to get it', async () => {
    const [first, lost] = [await sold(LABEL), await sold(LABEL)]
    await seller.post(`/v1/orders/${first}/label`)
    const { body } = await seller.post(`/v1/orders/${lost}/label`)
    await app.ctx.files.delete(new URL(body.data.label_url).pathname.slice(1))
    const fails = () => Promise.reject(new CarrierError('unknown', ''))
    const carrier = { ...app.ctx.carrier!, label: fails }
    const [merged, alone] = await whileReplaced(app.ctx, { carrier }, async () => [
      await run(`labels buy ${first} ${lost} --merge some.pdf --json`),
      await run(`labels buy ${lost}`),
    ])
    const { code, stdout, stderr } = merged
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining('its file is missing')])
    expect(JSON.parse(stdout)).toMatchObject([
      { order_id: first, file: 'some.pdf' },
      { order_id: lost, file: null },
    ])
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`run "cardstall labels buy ${lost}"`),
    ])
    expect(await succeed(`labels buy ${lost}`)).toContain(`\tlabel-${lost}.pdf\t`)
  })

  it('the label of a cancelled order is neither saved nor in the merged PDF, and its message says not to use it', async () => {
    const [kept, cancelled] = [await sold(LABEL), await sold(LABEL)]
    await seller.post(`/v1/orders/${cancelled}/label`)
    await act(app, cancelled, 'cancel', { cancelled_by: 'buyer' })
    for (const [options, name] of [
      ['--out useful', `useful/label-${kept}.pdf`],
      ['--merge useful.pdf', 'useful.pdf'],
    ]) {
      expect(await succeed(`labels buy ${kept} ${cancelled} ${options}`)).toMatch(
        new RegExp(`^${kept}\tready\t${name}\t\n${cancelled}\tready\t\t.* don’t use .*\n$`),
      )
    }
  })

  it('labels buy ends with exit code 1 if the carrier withholds a label, or if there is none to merge', async () => {
    const carrier = '/operator/v1/sandbox/carrier'
    const [withheld, cancelled] = [await sold(LABEL), await sold(LABEL)]
    await app.operator.put(carrier, { payload: { label: 'action_required' } })
    const without = await run(`labels buy ${withheld} --merge withheld.pdf`)
    await app.operator.put(carrier, { payload: { label: 'ready' } })
    expect(without).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(new RegExp(`^${withheld}\taction_required\t\t.+\n$`)),
      stderr: `1 order has no label to print (${withheld}): the message of each says why.\n`,
    })
    await seller.post(`/v1/orders/${cancelled}/label`)
    await act(app, cancelled, 'cancel', { cancelled_by: 'buyer' })
    const none = await run(`labels buy ${cancelled} --merge none.pdf`)
    expect([none.code, none.stderr]).toEqual([
      1,
      'There is no label to print: none.pdf was not written.\n',
    ])
    for (const name of ['withheld.pdf', 'none.pdf']) expect(existsSync(file(name))).toBe(false)
  })

  it('a label whose download breaks off is bought, and the command says so', async () => {
    const order = await sold(LABEL)
    const { port } = await startWebServer(async (request, response) => {
      if (request.url === '/broken') {
        response.writeHead(200, { 'content-length': 1_000 }).write('%PDF-')
        return setImmediate(() => response.destroy())
      }
      const { body } = await seller.post(`/v1/orders/${order}/label`)
      body.data.label_url = `http://127.0.0.1:${port}/broken`
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    })
    const env = { CARDSTALL_URL: `http://127.0.0.1:${port}` }
    const { code, stderr } = await run(`labels buy ${order} --out broken`, { env })
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The label is bought, but [^\n]+: run the same command again\.\n$/),
    ])
    expect(existsSync(file(`broken/label-${order}.pdf`))).toBe(false)
  })

  it('labels that were bought are printed, also if they are too many for one PDF or it cannot be written', async () => {
    const orders: number[] = []
    while (orders.length <= 50) orders.push(await sold(LABEL))
    const many = await run(`labels buy ${orders.join(' ')} --merge many.pdf`)
    expect([many.code, many.stderr]).toEqual([1, expect.stringContaining('at most 50 labels')])
    expect(many.stdout).toBe(orders.map((id) => `${id}\tready\t\t\n`).join(''))
    const unwritable = await run(`labels buy ${orders[0]} --merge missing/one.pdf`)
    expect([unwritable.code, unwritable.stdout]).toEqual([1, `${orders[0]}\tready\t\t\n`])
    expect(unwritable.stderr).toContain('missing/one.pdf cannot be opened or written')
  })
})
