import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { startTestApp } from '../../test/app.ts'
import { call } from '../../test/fixtures/mcp.ts'
import { grantAccess } from '../../test/fixtures/oauth.ts'
import { PARCEL, shipsBy } from '../../test/fixtures/orders.ts'

const CALL =
  /The agent calls `(\w+)` with\n\n```json\n([^`]+)```\n\nand gets\n\n```json\n([^`]+)```/g

it('the conversation in docs/agents.md has the results that the tools return', async () => {
  const guide = await readFile(new URL('../../../docs/agents.md', import.meta.url), 'utf8')
  const app = await startTestApp({ template: 'catalog' })
  const { accountId, ...seller } = await app.seller({ account: shipsBy(PARCEL) })
  const token = await grantAccess(app, accountId)
  const tool = async (name: string, args: object) =>
    (await call(app, '/mcp/seller', name, args, { token })).object

  const searches = [...guide.matchAll(/^\| `([^`]+)` \| (`\w+-\w+` .+) \|$/gm)]
  expect(searches).toHaveLength(10)
  for (const [, q, cards] of searches) {
    const { data } = await tool('search_cards', { q })
    const found = data.map(
      ({ id, number, set }: { id: string; number: string; set: { name: string } }) =>
        `\`${id}\` ${set.name} ${number}`,
    )
    expect(cards).toBe(found.join(', '))
  }

  const calls = [...guide.matchAll(CALL)]
  expect(calls.map(([, name]) => name)).toEqual([
    'search_cards',
    'create_listings',
    'create_listings',
  ])
  for (const [, name, args, result] of calls) {
    const withoutIds = (text: string) => text.replaceAll(/"id":\d+/g, '"id":0')
    const actual = await tool(name!, JSON.parse(args!))
    expect(JSON.parse(withoutIds(JSON.stringify(actual)))).toEqual(JSON.parse(withoutIds(result!)))
  }
  expect((await seller.get('/v1/listings')).body.meta.total).toBe(10)
})
