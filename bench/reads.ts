import type { Scenario } from './compare.ts'

const MIN_RATIO = 0.6

/** The most frequent reads of integrators, each with several paths in rotation. */
export const reads: Scenario[] = [
  {
    name: 'card by id',
    paths: ['base1-4', 'swsh9-1', 'sv3pt5-199', 'neo1-9', 'swshp-de-SWSH001'].map(
      (id) => `/v1/cards/${id}`,
    ),
    atLeast: MIN_RATIO,
  },
  {
    name: 'card by friendly id',
    paths: ['brs_TG12', 'bs_4', 'mew_199', 'evs_215', 'n1_9'].map(
      (id) => `/v1/cards/${id}?language=EN`,
    ),
    atLeast: MIN_RATIO,
  },
  {
    name: 'set',
    paths: ['base1', 'swsh9', 'sv3pt5', 'neo1'].map((id) => `/v1/sets/${id}`),
    atLeast: MIN_RATIO,
  },
  {
    name: 'cards of a set',
    paths: [1, 2, 3, 4, 5].map((page) => `/v1/cards?set=swsh9&page=${page}`),
    atLeast: MIN_RATIO,
  },
  { name: 'search', paths: searches(), atLeast: MIN_RATIO },
  { name: 'series', paths: ['/v1/series'], atLeast: MIN_RATIO },
]

function searches(): string[] {
  const queries: Record<string, string>[] = [
    { q: 'charizard' },
    { q: 'Pikachu' },
    { q: 'mew' },
    { q: 'umbreon vmax' },
    { q: 'charzard' },
    { q: 'prof' },
    { q: "boss's orders" },
    { q: 'poke ball' },
    { q: 'farfetchd' },
    { q: 'nidoran ♀' },
    { q: 'rayquaza', language: 'EN' },
    { q: 'blastoise', rarity: 'Rare Holo' },
    { q: 'eevee', page: '2' },
    { q: 'gardevoir', set: 'sv1' },
    { q: 'mewtoo' },
    { q: 'Glurak', language: 'DE' },
    { q: 'dracaufeu', language: 'FR' },
    { q: 'リザードン' },
    { q: '喷火龙', language: 'CN' },
    { q: '리자몽', language: 'KR' },
  ]
  return queries.map((query) => `/v1/cards?${new URLSearchParams(query)}`)
}
