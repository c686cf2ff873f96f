import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { randomNumbers } from '../scripts/random.ts'
import { browseCards, browseProducts } from '../server/catalog/browse.ts'
import { assembleCatalog, type Catalog } from '../server/catalog/catalog.ts'
import {
  type CardEntry,
  type CardRow,
  type ProductRow,
  type SetRow,
  setEntry,
} from '../server/catalog/entries.ts'
import { fold } from '../server/catalog/search/fold.ts'

/**
 * Measures how often the first result of a search is the right one, over queries generated from all catalogs in catalog/.
 * Another seed generates other queries: tune with one, report another. `-v` prints the misses and the slowest queries.
 *
 *     node bench/search-precision.ts [seed] [-v]
 */

type Query = { q: string; language?: string; isRight: (card: CardEntry) => boolean }

const seed = Number(process.argv[2] ?? 1)
const perKind = 400
const catalog = await readCatalogFiles(['english', 'europe', 'asia', 'products'])
const random = randomNumbers(seed)
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!

const english = catalog.cards.filter(({ set }) => set.language === 'EN')
const latin = english.filter(({ name }) => /^[a-z]{5}/i.test(name))
const named = (name: string) => (card: CardEntry) => fold(card.name) === fold(name)
const same =
  (...allowed: CardEntry[]) =>
  (card: CardEntry) =>
    allowed.includes(card)
/** Sources write `DoubleRare`, `Double Rare` and `Rare Double`. */
const lettersOf = (rarity: string) => [...fold(rarity).replaceAll(' ', '')].sort().join('')
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const NEAR: Record<string, string> = {
  ...{ a: 'qsz', b: 'vn', c: 'xvk', d: 'sf', e: 'wri', f: 'dg', g: 'fh', h: 'gj', i: 'uoye' },
  ...{ j: 'hk', k: 'jlc', l: 'k', m: 'n', n: 'bm', o: 'ipau', p: 'o', q: 'wa', r: 'et', s: 'adz' },
  ...{ t: 'ry', u: 'yio', v: 'cb', w: 'qe', x: 'zc', y: 'tui', z: 'xs' },
}
/** The most frequent names first: people look for these. */
const popular = [...countBy(latin, ({ name }) => name.split(' ')[0]!)]
  .filter(([name]) => name.length >= 5 && latin.some((card) => card.name === name))
  .sort((a, b) => b[1] - a[1])
  .slice(0, 500)
  .map(([name]) => name)

const ALIASES: [RegExp, string[]][] = [
  [/ ★/, [' star', ' gold star']],
  [/ ◇/, [' prism star', ' prism']],
  [/ δ/, [' delta', ' delta species']],
  [/ ?♀/, [' female']],
  [/ ?♂/, [' male']],
]

const names: Record<string, () => Query> = {
  'whole name': () => {
    const { name } = pick(catalog.cards)
    return { q: name, isRight: named(name) }
  },
  'name in lower case without signs': () => {
    const { name } = pick(english)
    return { q: fold(name), isRight: named(name) }
  },
  'symbol in words': () => {
    const { name } = pick(english.filter(({ name }) => ALIASES.some(([sign]) => sign.test(name))))
    const [sign, words] = ALIASES.find(([sign]) => sign.test(name))!
    return { q: fold(name.replace(sign, pick(words))), isRight: named(name) }
  },
  'one wrong letter': () => {
    const name = pick(popular)
    return { q: slip(name.toLowerCase()), isRight: named(name) }
  },
  'one wrong letter, English': () => {
    const name = pick(popular)
    return { q: slip(name.toLowerCase()), language: 'EN', isRight: named(name) }
  },
  'wrong letter and suffix': () => {
    const card = pick(
      latin.filter(({ name }) => /^[A-Z][a-z]{4,} (V|VMAX|ex|GX|VSTAR)$/.test(name)),
    )
    const [word, suffix] = card.name.toLowerCase().split(' ') as [string, string]
    return { q: `${slip(word)} ${suffix}`, isRight: named(card.name) }
  },
  'two wrong letters': () => {
    const name = pick(popular.filter(({ length }) => length >= 8))
    return { q: slip(slip(name.toLowerCase())), isRight: named(name) }
  },
  'wrong suffix': () => {
    const card = pick(latin.filter(({ name }) => /^[A-Z][a-z]{4,} (VMAX|VSTAR)$/.test(name)))
    return {
      q: card.name.toLowerCase().replace(/v(.)(.)(.*)$/, pick(['v$2$3', 'v$1$3', 'v$1$2'])),
      isRight: named(card.name),
    }
  },
  hiragana: () => {
    const card = pick(catalog.cards.filter(({ name }) => /^[ァ-ヶー]{3,}$/.test(name)))
    const q = card.name.replace(/[ァ-ヶ]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 0x60))
    return { q, isRight: named(card.name) }
  },
}

const beyond: Record<string, () => Query> = {
  'name and number': () => {
    const card = pick(latin)
    const right = english.filter((c) => c.name === card.name && c.number === card.number)
    return { q: `${fold(card.name)} ${card.number.toLowerCase()}`, isRight: same(...right) }
  },
  'name and number of total': () => {
    const card = pick(
      latin.filter(({ set, number }) => set.printedTotal !== null && /^\d+$/.test(number)),
    )
    const total = card.set.printedTotal
    const right = english.filter(
      (c) => c.name === card.name && c.number === card.number && c.set.printedTotal === total,
    )
    return { q: `${fold(card.name)} ${card.number}/${total}`, isRight: same(...right) }
  },
  'code and number': () => {
    const card = pick(english.filter(({ set }) => set.shortcut !== null))
    const right = catalog.cards.filter(
      (c) => c.set.shortcut === card.set.shortcut && c.number === card.number,
    )
    return {
      q: `${card.set.shortcut}${pick([' ', '_'])}${card.number.toLowerCase()}`,
      isRight: same(...right),
    }
  },
  'set and name': () => {
    const card = pick(latin.filter(({ set }) => /^[A-Z]/.test(set.name)))
    const right = english.filter((c) => c.name === card.name && c.set.name === card.set.name)
    const set = fold(card.set.name)
    return {
      q: pick([`${set} ${fold(card.name)}`, `${fold(card.name)} ${set}`]),
      isRight: same(...right),
    }
  },
  'name and set code': () => {
    const card = pick(latin.filter(({ set }) => set.shortcut !== null))
    const right = catalog.cards.filter(
      (c) => c.name === card.name && c.set.shortcut === card.set.shortcut,
    )
    return { q: `${fold(card.name)} ${card.set.shortcut}`, isRight: same(...right) }
  },
  'name and rarity': () => {
    const card = pick(latin.filter(({ rarity }) => rarity !== null))
    const right = english.filter(
      (c) => c.name === card.name && lettersOf(c.rarity ?? '') === lettersOf(card.rarity!),
    )
    return { q: `${fold(card.name)} ${fold(card.rarity!)}`, isRight: same(...right) }
  },
  'name, set and number': () => {
    const card = pick(latin.filter(({ set }) => /^[A-Z1]/.test(set.name)))
    const right = english.filter((c) => c.number === card.number && c.set.name === card.set.name)
    return {
      q: `${fold(card.name)} ${fold(card.set.name)} ${card.number.toLowerCase()}`,
      isRight: same(...right),
    }
  },
  'misspelt name and number': () => {
    const card = pick(latin.filter(({ name }) => popular.includes(name)))
    const right = english.filter((c) => c.name === card.name && c.number === card.number)
    return {
      q: `${slip(card.name.toLowerCase())} ${card.number.toLowerCase()}`,
      isRight: same(...right),
    }
  },
  id: () => {
    const card = pick(catalog.cards)
    return { q: card.id, isRight: same(card) }
  },
  'name and misspelt or unfinished set': () => {
    const card = pick(latin.filter(({ set }) => /[a-z]{5}$/i.test(set.name)))
    const right = english.filter((c) => c.name === card.name && c.set.name === card.set.name)
    const words = fold(card.set.name).split(' ')
    const last = words.pop()!
    const set = [...words, pick([slip(last), last.slice(0, -2)])].join(' ')
    return { q: `${fold(card.name)} ${set}`, isRight: same(...right) }
  },
  'name, series and set': () => {
    const card = pick(latin.filter(({ set }) => /^[A-Z]/.test(set.name)))
    const right = english.filter((c) => c.name === card.name && c.set.name === card.set.name)
    const q = `${card.name} ${card.set.series} ${card.set.name}`
    return { q: fold(q), isRight: same(...right) }
  },
  'title of another marketplace': () => {
    const card = pick(
      latin.filter(({ set, number }) => set.printedTotal !== null && /^\d+$/.test(number)),
    )
    const number = `${card.number}/${card.set.printedTotal}`
    const right = english.filter(
      (c) =>
        c.name === card.name &&
        c.number === card.number &&
        c.set.printedTotal === card.set.printedTotal,
    )
    return {
      q: `Pokemon TCG ${card.name} ${number} ${card.set.name} NM English`.slice(0, 100),
      isRight: same(...right),
    }
  },
  'title of a graded or played copy': () => {
    const card = pick(latin.filter(({ set }) => /^[A-Z]/.test(set.name)))
    const right = english.filter((c) => c.number === card.number && c.set.name === card.set.name)
    const copy = pick(['PSA 10', 'CGC 9.5', 'Reverse Holo', '1st Edition', 'Lightly Played'])
    return {
      q: `${card.name} #${card.number} ${card.set.name} ${copy} Pokemon Card`.slice(0, 100),
      isRight: same(...right),
    }
  },
}

const FIXED: [string, (card: CardEntry) => boolean][] = [
  ['umbreon star', named('Umbreon ★')],
  ['umbreon gold star', named('Umbreon ★')],
  ['giratina prism star', named('Giratina ◇')],
  ['gardevoir ex delta', named('Gardevoir ex δ')],
  ['nidoran female', named('Nidoran ♀')],
  ['pikchu', named('Pikachu')],
  ['gyrados', named('Gyarados')],
  ['umbreon vmx', named('Umbreon VMAX')],
  ['alolan vulpicks', named('Alolan Vulpix')],
  ['charizard 4', (c) => c.id === 'base1-4' || (c.name === 'Charizard' && c.number === '4')],
  ['pikachu 58/102', (c) => c.id === 'base1-58'],
  ['brs 18', (c) => c.set.shortcut === 'brs' && c.number === '18'],
  ['mew ex 151', (c) => c.set.name === '151' && c.name === 'Mew ex'],
  ['base set charizard', (c) => c.id === 'base1-4'],
  ['charizard rare holo', (c) => c.name === 'Charizard' && c.rarity === 'Rare Holo'],
  ['bs_4', (c) => c.id === 'base1-4'],
]

for (const [title, kinds] of Object.entries({ names, beyond })) {
  let right = 0
  let all = 0
  for (const [kind, make] of Object.entries(kinds)) {
    let hits = 0
    const misses: string[] = []
    for (let i = 0; i < perKind; i++) {
      const { q, language, isRight } = make()
      const [first] = browseCards(catalog, { q, ...(language && { language }) })
      if (first && isRight(first)) hits++
      else misses.push(`${q} -> ${first ? `${first.name} ${first.id} ${first.rarity}` : 'nothing'}`)
    }
    right += hits
    all += perKind
    console.log(`${((100 * hits) / perKind).toFixed(1).padStart(6)} %  ${kind}`)
    if (process.argv.includes('-v'))
      for (const miss of misses.slice(0, 12)) console.log(`            ${miss}`)
  }
  console.log(`${((100 * right) / all).toFixed(1).padStart(6)} %  ${title}, all kinds\n`)
}
for (const [q, isRight] of FIXED) {
  const [first] = browseCards(catalog, { q })
  console.log(
    first && isRight(first) ? 'ok  ' : 'MISS',
    q,
    '->',
    first ? `${first.name} ${first.id}` : 'nothing',
  )
}
for (const q of [
  'evolving skies elite trainer box',
  'evs etb',
  'brilliant stars booster box',
  'booster box evolving skies',
  'evs booster_box',
]) {
  console.log(q, '->', browseProducts(catalog, { q })[0]?.name ?? 'nothing')
}
// Each query is new to the catalog's cache of lists: spaces at its end make it another one.
const times: { q: string; ms: number }[] = []
for (let i = 0; i < 2000; i++) {
  const { q } = pick(Object.values({ ...names, ...beyond }))()
  let ms = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) {
    const before = performance.now()
    browseCards(catalog, { q: q + ' '.repeat(run + 1 + (i % 5)) })
    ms = Math.min(ms, performance.now() - before)
  }
  times.push({ q, ms })
}
times.sort((a, b) => a.ms - b.ms)
const quantile = (part: number) => times[Math.floor(part * (times.length - 1))]!.ms.toFixed(3)
console.log(`ms, best of 3: median ${quantile(0.5)}, p99 ${quantile(0.99)}, max ${quantile(1)}`)
if (process.argv.includes('-v'))
  for (const { q, ms } of times.slice(-40)) console.log(ms.toFixed(2), q)

function slip(word: string): string {
  const at = 1 + Math.floor(random() * (word.length - 1))
  const letter = word[at]!
  switch (Math.floor(random() * 4)) {
    case 0:
      return word.slice(0, at) + word.slice(at + 1)
    case 1:
      return word.slice(0, at) + pick([letter, ...(NEAR[letter] ?? LETTERS)]) + word.slice(at)
    case 2:
      return at + 1 < word.length
        ? word.slice(0, at) + word[at + 1] + letter + word.slice(at + 2)
        : word.slice(0, at)
    default:
      return word.slice(0, at) + pick([...(NEAR[letter] ?? LETTERS)]) + word.slice(at + 1)
  }
}

function countBy<T>(items: T[], key: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1)
  return counts
}

async function readCatalogFiles(files: string[]): Promise<Catalog> {
  const sets: SetRow[] = []
  const cards = new Map<string, CardRow[]>()
  const products: ProductRow[] = []
  const series = new Map<string, string | null>()
  for (const file of files) {
    const text = gunzipSync(readFileSync(new URL(`../catalog/${file}.ndjson.gz`, import.meta.url)))
    for (const line of text.toString().split('\n')) {
      if (line === '') continue
      const record = JSON.parse(line)
      if (record.type === 'series') series.set(record.name, record.shortcut)
      else if (record.type === 'set') {
        sets.push(record)
      } else if (record.type === 'product') products.push(record)
      else cards.set(record.set_id, [...(cards.get(record.set_id) ?? []), record])
    }
  }
  return assembleCatalog(
    {
      version: 1,
      series: [...series].map(([name, shortcut]) => ({ name, shortcut })),
      sets: sets.map((set) =>
        setEntry(
          { ...set, visible: true },
          (cards.get(set.id) ?? []).map((card) => ({
            ...{ ...card, rarity: card.rarity ?? null, friendly_id: null, visible: true },
            json: '{"visible":true}',
          })),
          products.filter((p) => p.set_id === set.id).map((p) => ({ ...p, visible: true })),
          'https://m.example',
        ),
      ),
      looseProducts: [],
    },
    () => undefined,
  )
}
