import { randomNumbers } from '../scripts/random.ts'
import type { Row } from './engine.ts'
import type { LoadRequest } from './load.ts'
import type { Market } from './market.ts'
import { pagesOfList } from './pages.ts'
import { shuffled } from './random.ts'

/** Reads of the catalog. */
export const reads: Row[] = [
  {
    name: 'the same 5 cards (repeated)',
    requests: ({ sellers }) =>
      ['base1-4', 'swsh9-1', 'sv3pt5-199', 'neo1-9', 'ex10-%3F'].map((id) => ({
        path: `/v1/cards/${id}`,
        key: sellers[0]!.key,
        expected: [`"id":"${decodeURIComponent(id)}"`],
      })),
    repeats: true,
    limit: 'http',
    target: { timesBare: 1.5 },
  },
  { name: 'card by id, 3 spellings', requests: cards, limit: 'http', target: { timesBare: 1.7 } },
  { name: 'page of a set', requests: pages, limit: 'http', target: { timesBare: 2.5 } },
  {
    name: 'search, 500 queries (repeated)',
    requests: async (market) => (await searches(market)).slice(-500),
    repeats: true,
    limit: 'http',
    target: { timesBare: 1.5 },
  },
  {
    name: 'search, uncached',
    requests: async (market) => (await searches(market)).slice(0, -500),
    limit: 'http',
    target: { timesBare: 4 },
  },
]

/** Gives the requests the keys of many sellers. */
const fromSellers = ({ sellers }: Market, requests: Omit<LoadRequest, 'key'>[]): LoadRequest[] =>
  requests.map((request, i) => ({ ...request, key: sellers[i % sellers.length]!.key }))

/** Each English card by its canonical id, by its friendly id, and by its percent-encoded id. */
async function cards(market: Market): Promise<LoadRequest[]> {
  const rows = await market.db<{ id: string; friendlyId: string | null }[]>`
    select
      c.id,
      case
        when
          count(*) over (partition by s.shortcut, c.number) = 1
          and not exists (select from cards o where o.id = s.shortcut || '_' || c.number)
        then s.shortcut || '_' || c.number
      end as "friendlyId"
    from cards c
    join sets s on s.id = c.set_id
    where s.language = 'EN'
    order by c.id
  `
  const requests = rows.flatMap(({ id, friendlyId }) => {
    const expected = [`"data":{"id":${JSON.stringify(id)},`]
    const first = `%${id.charCodeAt(0).toString(16).toUpperCase()}`
    return [
      { path: `/v1/cards/${encodeURIComponent(id)}`, expected },
      { path: `/v1/cards/${first}${encodeURIComponent(id.slice(1))}`, expected },
      ...(friendlyId === null
        ? []
        : [{ path: `/v1/cards/${encodeURIComponent(friendlyId)}?language=EN`, expected }]),
    ]
  })
  return fromSellers(market, shuffled(requests))
}

/** Every page of every set, with about 30 cards per page. */
async function pages(market: Market): Promise<LoadRequest[]> {
  const sets = await market.db<{ id: string; cards: number }[]>`
    select set_id as id, count(*)::int as cards from cards group by set_id order by set_id
  `
  const requests = sets.flatMap(({ id, cards }) =>
    pagesOfList(cards).map(({ page, query }) => ({
      path: `/v1/cards?set=${encodeURIComponent(id)}&${query}`,
      expected: [
        `"meta":{"current_page":${page},`,
        `"total":${cards}}`,
        `"set":{"id":${JSON.stringify(id)},`,
      ],
    })),
  )
  return fromSellers(market, shuffled(requests))
}

/** Different queries: names, their beginnings, names with a language or a rarity, and names with a typing error. */
async function searches(market: Market): Promise<LoadRequest[]> {
  const names = await market.db<{ name: string; language: string }[]>`
    select distinct c.name, s.language
    from cards c
    join sets s on s.id = c.set_id
    order by c.name, s.language
  `
  const random = randomNumbers(1)
  const queries = new Map<string, string[]>()
  const add = (query: Record<string, string>, expected = '"meta":{"current_page":1,') =>
    queries.set(`/v1/cards?${new URLSearchParams(query)}`, [expected])
  for (const { name, language } of names) {
    add({ q: name }, `"name":${JSON.stringify(name)}`)
    add({ q: name, language }, `"name":${JSON.stringify(name)}`)
    add({ q: name.toLowerCase(), per_page: '20' })
    add({ q: name.slice(0, 2 + random() * 5), language, page: '1' })
    add({ q: mistyped(name, random), language })
    add({ q: mistyped(name, random) })
    for (const rarity of RARITIES) if (random() < 0.3) add({ q: name.split(' ')[0]!, rarity })
  }
  return fromSellers(market, shuffled([...queries].map(([path, expected]) => ({ path, expected }))))
}

const RARITIES = ['Common', 'Uncommon', 'Rare', 'Rare Holo', 'Promo']

/** Drops a letter, or swaps two. */
function mistyped(name: string, random: () => number): string {
  const letters = [...name]
  const at = Math.floor(random() * (letters.length - 1))
  const [first = '', second = ''] = letters.slice(at, at + 2)
  return [
    ...letters.slice(0, at),
    second,
    random() < 0.5 ? '' : first,
    ...letters.slice(at + 2),
  ].join('')
}
