import { beforeAll, describe, expect, it } from 'vitest'
import { cardItem, list } from '../server/test/fixtures/listings.ts'
import { CARD, run, seller, startShop, succeed } from './test/packed.ts'

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
