import { beforeAll, describe, expect, it } from 'vitest'
import { cardItem, list } from '../server/test/fixtures/listings.ts'
import { openShop, PARCEL, sellEach } from '../server/test/fixtures/orders.ts'
import { app, CARD, run, seller, startShop, succeed } from './test/packed.ts'

beforeAll(startShop)

describe('the catalog', () => {
  it('cards are printed as values with tabs, as JSON, or as lines of JSON', async () => {
    expect(await succeed('cards search charizard --set sv3 --limit 1')).toMatch(/^sv3-125\t/)
    const json = JSON.parse(await succeed('cards search charizard --set sv3 --limit 1 --json'))
    expect(json).toMatchObject([{ id: 'sv3-125' }])
    const lines = (await succeed('sets --ndjson')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).id)).toContain('sv3')
    expect(await succeed('sets --language en')).toMatch(/^sv3\t/m)
    expect(await succeed('cards search charizard --language en')).toMatch(/^sv3-125\t/m)
  })

  it('a list that its limit cuts says so on stderr, also as JSON, unless --quiet is given', async () => {
    const shop = await openShop(app, PARCEL)
    await sellEach(app, shop, cardItem(), cardItem())
    await sellEach(app, shop, cardItem())
    await list(shop, cardItem(), cardItem())
    const env = { CARDSTALL_KEY: shop.key }
    const sets = JSON.parse(await succeed('sets --json')).length
    const notes = {
      sets: `1 of ${sets} sets: --limit shows more.`,
      'cards search charizard': expect.stringMatching(/^1 of \d+ cards: --limit shows more\.$/),
      'listings list': '1 of 5 listings: --limit shows more.',
      'listings list --since 2020-01-01': '1 of 5 listings: --limit shows more.',
      'orders list': '1 slice, and there are more: --limit shows them.',
    }
    for (const [command, note] of Object.entries(notes)) {
      const cut = await run(`${command} --limit 1`, { env })
      expect([command, cut.code, cut.stderr.trimEnd()]).toEqual([command, 0, note])
    }
    const json = await run('sets --limit 1 --json', { env })
    expect([json.stderr.trimEnd(), JSON.parse(json.stdout).length]).toEqual([notes.sets, 1])
    expect((await run('sets --limit 1 --quiet', { env })).stderr).toBe('')
    expect((await run('sets --limit 500', { env })).stderr).toBe('')
    // A limit that is exactly reached cuts nothing.
    expect((await run('listings list --limit 5', { env })).stderr).toBe('')
    expect((await run('orders list --limit 2', { env })).stderr).toBe('')
  })

  it('offers of a card are listed with --offers', async () => {
    await list(seller, cardItem({ price: 7.5 }))
    expect(await succeed(`cards show ${CARD} --offers`)).toMatch(/^7\.50\t/m)
  })

  it('an ambiguous card is an error that names the canonical ids', async () => {
    const { code, stderr } = await run('cards show brs_1')
    expect(code).toBe(1)
    expect(stderr).toMatch(/canonical id: swsh9-1, swsh9-de-1\. \(request req_\w+\)\n$/)
  })

  it('an unknown card is an error of one sentence with the request id', async () => {
    const { code, stderr } = await run('cards show nothing-1')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^[^\n]+ \(request req_\w+\)\n$/)
  })
})
