import type { Client } from './app.ts'

/**
 * A small catalog for tests. Its sets, cards and products have every peculiarity of the real catalogs; comments name
 * them.
 */

const set = (id: string, shortcut: string | null, name: string, series: string, more = {}) => ({
  type: 'set',
  id,
  shortcut,
  name,
  series,
  language: 'EN',
  region: 'int',
  release_date: null as string | null,
  ...more,
})

const card = (setId: string, id: string, number: string, name: string, more = {}) => ({
  type: 'card',
  id,
  set_id: setId,
  number,
  name,
  ...more,
})

const product = (
  slug: string,
  name: string,
  category: string,
  setId: string | null,
  more = {},
) => ({
  type: 'product',
  slug,
  name,
  category,
  set_id: setId,
  ...more,
})

const DE = { language: 'DE' }
const FR = { language: 'FR' }
const JP = { language: 'JP', region: 'jp' }
const KR = { language: 'KR', region: 'kr' }
// The only language with two regions.
const CN = { language: 'CN', region: 'cn' }
const TW = { language: 'CN', region: 'tw' }

/** A slug of the maximum length, 150 characters. */
export const LONGEST_SLUG = `grand-${'9'.repeat(144)}`

/** In the order of a list response. */
export const SETS = [
  // Two regions of one language share a shortcut and a release date. The shortcut and the ids contain a dot.
  set('csv9.5c-tw', 'csv9.5c', '太晶慶典', 'Scarlet & Violet', {
    ...TW,
    release_date: '2025-01-17',
  }),
  set('csv9.5c-cn', 'csv9.5c', '太晶璀璨', 'Scarlet & Violet', {
    ...CN,
    release_date: '2025-01-17',
  }),
  set('sv3', 'obf', 'Obsidian Flames', 'Scarlet & Violet', { release_date: '2023-08-11' }),
  // Its shortcut is the canonical id of the previous set.
  set('sv3-jp', 'sv3', '黒炎の支配者', 'Scarlet & Violet', { ...JP, release_date: '2023-07-28' }),
  // Two English sets and a German one share a shortcut and a release date; their card numbers interleave.
  set('swsh9', 'brs', 'Brilliant Stars', 'Sword & Shield', {
    release_date: '2022-02-25',
    total_cards: 186,
    printed_total: 172,
    logo_url: 'https://images.example/swsh9/logo.png',
    symbol_url: 'https://images.example/swsh9/symbol.png',
  }),
  set('swsh9tg', 'brs', 'Brilliant Stars Trainer Gallery', 'Sword & Shield', {
    release_date: '2022-02-25',
  }),
  set('swsh9-de', 'brs', 'Strahlende Sterne', 'Sword & Shield', {
    ...DE,
    release_date: '2022-02-25',
  }),
  // The next two differ neither in language nor in region.
  set('cel25', 'cel', 'Celebrations', 'Sword & Shield', { release_date: '2021-10-08' }),
  set('cel25c', 'cel', 'Celebrations: Classic Collection', 'Sword & Shield', {
    release_date: '2021-10-08',
  }),
  set('swshp', 'pr-sw', 'SWSH Black Star Promos', 'Sword & Shield', {
    release_date: '2019-11-15',
  }),
  set('g1', 'gen', 'Generations', 'XY', { release_date: '2016-02-22' }),
  set('ru1', null, 'Pokémon Rumble', 'Other', { release_date: '2009-12-02' }),
  set('ex10', 'uf', 'Unseen Forces', 'EX', { release_date: '2005-08-01' }),
  // Its shortcut is the canonical id of Generations.
  set('gym1', 'g1', 'Gym Heroes', 'Gym', { release_date: '2000-08-14' }),
  // Its shortcut is the canonical id of a card in Classic Collection, up to the underscore.
  set('oddities', 'cel25c-2', 'Odds & Ends', 'Other', { release_date: '1999-01-09' }),
  // Without a release date: two with the same name, and one without cards and products.
  set('np', null, 'Nintendo Black Star Promos', 'NP'),
  set('np-fr', null, 'Nintendo Black Star Promos', 'NP', FR),
  set('s12-kr', null, '패러다임트리거', 'Sword & Shield', KR),
]

/** In the order of a list response. */
export const CARDS = [
  // Leading zeros, and an underscore in a number.
  card('csv9.5c-cn', 'csv9.5c-cn-001', '001', '妙蛙种子'),
  card('csv9.5c-tw', 'csv9.5c-tw-001', '001', '妙蛙種子'),
  card('csv9.5c-cn', 'csv9.5c-cn-10b', '10_b', '妙蛙花'),
  // A name of one character, which is also a word in other names.
  card('sv3', 'sv3-1', '1', 'N', { supertype: 'Trainer', rarity: 'Common' }),
  card('sv3', 'sv3-125', '125', 'Charizard ex', {
    rarity: 'Double Rare',
    supertype: 'Pokemon',
    hp: '330',
    types: ['Darkness', 'Fire'],
    image_small: 'https://images.example/sv3/125.png',
    image_large: 'https://images.example/sv3/125_hires.png',
  }),
  card('sv3-jp', 'sv3-jp-001', '001', 'タマタマ', { rarity: 'Common' }),
  card('sv3-jp', 'sv3-jp-125', '125', 'リザードンex', { rarity: 'Double rare' }),
  // Three sets with one release date: cards sort by number, not as text.
  card('swsh9', 'swsh9-1', '1', 'Exeggcute', { rarity: 'Common' }),
  card('swsh9-de', 'swsh9-de-1', '1', 'Owei', { rarity: 'Common' }),
  card('swsh9', 'swsh9-2', '2', 'Exeggutor', { rarity: 'Uncommon' }),
  card('swsh9-de', 'swsh9-de-9', '9', 'Bisaflor', { rarity: 'Rare Holo' }),
  card('swsh9', 'swsh9-10', '10', 'Charizard V', { rarity: 'Rare Holo V' }),
  card('swsh9tg', 'swsh9tg-TG2', 'TG2', 'Pikachu V', { rarity: 'Rare Holo V' }),
  card('swsh9tg', 'swsh9tg-TG10', 'TG10', 'Reshiram & Charizard-GX'),
  card('swsh9tg', 'swsh9tg-TG12', 'TG12', "Gardenia's Vigor"),
  // Canonical ids with an underscore that do not end with the card number.
  card('cel25', 'cel25-2', '2', 'Reshiram'),
  card('cel25c', 'cel25c-2_A', '2', 'Blastoise'),
  card('cel25c', 'cel25c-15_A1', '15', 'Venusaur'),
  card('swshp', 'swshp-SWSH001', 'SWSH001', 'Grookey', { rarity: 'Promo' }),
  card('g1', 'g1-1', '1', 'Weedle'),
  card('ru1', 'ru1-1', '1', 'Venusaur'),
  // Numbers that are punctuation; `?` has a meaning in URLs.
  card('ex10', 'ex10-!', '!', 'Unown'),
  card('ex10', 'ex10-28', '28', 'Unown'),
  card('ex10', 'ex10-?', '?', 'Unown'),
  card('gym1', 'gym1-1', '1', "Blaine's Moltres"),
  card('oddities', 'oddities-2', '2', 'Nidoran ♀'),
  card('oddities', 'oddities-3', '3', 'Flabébé'),
  // Its friendly id is the canonical id of Blastoise.
  card('oddities', 'oddities-A', 'A', "Farfetch'd"),
  card('np', 'np-1', '1', 'Kyogre ex'),
  card('np', 'np-2', '2', 'Pikachu'),
  card('np-fr', 'np-fr-2', '2', 'Pikachu'),
  card('np', 'np-10', '10', 'Pikachu'),
]

/** In the order of a list response. */
export const PRODUCTS = [
  product('obsidian-flames-booster-box', 'Obsidian Flames Booster Box', 'booster_box', 'sv3', {
    release_date: '2023-08-11',
    image_url: 'https://images.example/obsidian-flames-booster-box.png',
  }),
  product('obsidian-flames-etb', 'Obsidian Flames Elite Trainer Box', 'elite_trainer_box', 'sv3'),
  product('kokuen-no-shihaisha-pack', '黒炎の支配者 拡張パック', 'booster_pack', 'sv3-jp'),
  // Its own release date is the latest of all, but lists sort by the set's.
  product('brilliant-stars-booster-box', 'Brilliant Stars Booster Box', 'booster_box', 'swsh9', {
    release_date: '2026-01-30',
  }),
  product(
    'brilliant-stars-build-and-battle-box',
    'Brilliant Stars Build & Battle Box',
    'build_battle_box',
    'swsh9',
  ),
  // Two products with the same name.
  product('celebrations-mini-tin-1', 'Celebrations Mini Tin', 'mini_tin', 'cel25'),
  product('celebrations-mini-tin-2', 'Celebrations Mini Tin', 'mini_tin', 'cel25'),
  // Products without a set, or of a set without a release date; two have the same name.
  product(LONGEST_SLUG, 'Grand Box', 'other', null),
  product('another-promo-pack', 'Nintendo Promo Pack', 'other', null),
  product('nintendo-promo-pack', 'Nintendo Promo Pack', 'other', 'np'),
  product('poke-ball-tin', 'Poké Ball Tin', 'tin', null, { release_date: '2024-05-01' }),
]

/** A series without sets and a series without a shortcut. Importing sets creates the others. */
const SERIES = [
  { type: 'series', name: 'World Championships', shortcut: 'wc' },
  { type: 'series', name: 'Other', shortcut: null },
]

/** Every record, each kind in reverse: no order of a list may come from the order of the import. */
export const CATALOG_FIXTURE: object[] = [
  ...SERIES,
  ...SETS.toReversed(),
  ...CARDS.toReversed(),
  ...PRODUCTS.toReversed(),
]

/** Imports the whole fixture through the operator API. */
export const importCatalogFixture = (operator: Client) => importRecords(operator, CATALOG_FIXTURE)

/** Imports records through the operator API. Throws if one is rejected. */
export async function importRecords(operator: Client, records: object[]): Promise<void> {
  const { status, text, body } = await operator.post('/operator/v1/catalog/import', {
    headers: { 'content-type': 'application/x-ndjson' },
    payload: records.map((record) => JSON.stringify(record)).join('\n'),
  })
  if (status !== 200 || body.data.rejected > 0) throw new Error(`The import failed: ${text}`)
}

export const idsOf = (records: { id: string }[]) => records.map(({ id }) => id)
export const slugsOf = (records: { slug: string }[]) => records.map(({ slug }) => slug)
