import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { codePoint } from '../../test/code-point.ts'
import { fold } from './fold.ts'
import { Tier } from './name-grades.ts'
import { buildNameIndex } from './name-index.ts'

// Names of real cards in arbitrary order, so that the order of results does not come from it.
const NAMES = [
  ...['Mewtwo', 'Mewtwo ex', 'Ancient Mew', 'Mewtwo-EX', 'Mew', 'Mew ex', 'Mewtwo V', 'Mew δ'],
  ...[
    "Team Rocket's Mewtwo ex",
    'M Mewtwo-EX',
    'Mega Mewtwo X ex',
    'Mewstle',
    'Homework',
    'Old Mewtwo',
  ],
  ...['Charizard ex', 'Dark Charizard', 'Charizard', 'Charmander', 'Charizard VMAX', 'Lizardon'],
  ...['Reshiram & Charizard-GX', 'Venusaur', 'Blastoise', 'Dark Blastoise', 'Snorlax'],
  ...['Pikachu VMAX', 'Surfing Pikachu V', 'Pikachu', 'Pikachu V', "_____'s Pikachu", 'Pikachu ★'],
  ...['Flying Pikachu V', 'Pikachu V-UNION', 'Pikachu & Zekrom-GX', 'Raichu', 'Dark Raichu'],
  ...['Darkrai', 'Darkrai V', 'Nidoran ♂', 'Nidoran ♀', 'Nidoran♀', 'Nidorina', 'Nidorino'],
  ...["Farfetch'd", "Galarian Farfetch'd", 'Mr. Mime', 'Galarian Mr. Mime', 'Mr. Mime-GX'],
  ...['Ho-Oh', 'Ho-Oh V', 'Porygon', 'Porygon2', 'Porygon-Z', 'Porygon-Z-GX', 'Type: Null'],
  ...['Poké Ball', 'Pokéball', "Rocket's Poké Ball", 'Pokémon Center', 'Poké Kid', 'Nest Ball'],
  ...["Professor Oak's New Theory", 'Professor Oak', "Impostor Professor Oak's Revenge"],
  ...["Professor Oak's Hint", "Boss's Orders (Giovanni)", "Boss's Orders", 'Ordres du Boss'],
  ...['Arcanine', 'Arcanin ex', 'Gyarados', 'Garados', 'Sœur Parasol', 'Unown [!]', 'Unown [?]'],
  ...['Miracle Sphere α', 'Miracle Sphere β', 'Miracle Sphere γ', 'Nidoran ♀ δ'],
  ...['ピカチュウVMAX', 'ひかるピカチュウ', 'ピカチュウ', 'ピカチュウex', 'かがやくリザードン'],
  ...[
    'リザードン',
    'リザード',
    'リザードンex',
    'ライチュウ',
    'ロケット団のミュウツーex',
    'カプ・コケコGX',
  ],
  ...['<火箭隊的>索偵蟲', '超夢', '洛奇亞', '리자몽', '리자몽 ex', '피카츄', '비밀의 호박'],
]

const index = await buildNameIndex(NAMES)

function find(query: string): string[] {
  return [...index.search(query).positions].map((position) => NAMES[position]!)
}

function findIn(tier: number, query: string): string[] {
  const { positions, tiers } = index.search(query)
  return [...positions].filter((_, i) => tiers[i] === tier).map((position) => NAMES[position]!)
}

describe('the order of matches', () => {
  it('matches are ranked exact, prefix, word, inside, typo', async () => {
    const names = ['Bigblastoises', 'Blastoises', 'Dark Blastoise', 'Blastoise', 'Blastoysa']
    const { positions, tiers } = (await buildNameIndex(names)).search('blastoise')
    expect([...positions].map((position) => names[position])).toEqual([
      ...['Blastoise', 'Blastoises', 'Dark Blastoise', 'Bigblastoises', 'Blastoysa'],
    ])
    expect([...tiers]).toEqual([Tier.exact, Tier.prefix, Tier.word, Tier.inside, Tier.typo])
  })

  it('an exact match ranks above longer names', () => {
    expect(find('mew')[0]).toBe('Mew')
    expect(find('pikachu v')[0]).toBe('Pikachu V')
    expect(find('professor oak')[0]).toBe('Professor Oak')
    expect(find('nidoran ♀').slice(0, 2).sort()).toEqual(['Nidoran ♀', 'Nidoran♀'])
  })

  it('among names that fold alike, the spelling of the query ranks first', () => {
    expect(find('Mewtwo-EX')[0]).toBe('Mewtwo-EX')
    expect(find('mewtwo-ex')[0]).toBe('Mewtwo-EX')
    expect(find('mewtwo ex')[0]).toBe('Mewtwo ex')
    expect(find('Nidoran♀')[0]).toBe('Nidoran♀')
  })

  it('among names that fold alike, the case of the query ranks first', async () => {
    const index = await buildNameIndex(['Pikachu EX', 'Pikachu ex'])
    expect([...index.search('Pikachu ex').positions]).toEqual([1, 0])
  })

  it('among names that fold alike, the spacing of the query ranks first', () => {
    expect(find('poke ball').slice(0, 2)).toEqual(['Poké Ball', 'Pokéball'])
    expect(find('pokeball').slice(0, 2)).toEqual(['Pokéball', 'Poké Ball'])
  })

  it('names that continue with another word rank above longer words', () => {
    expect(find('mew').slice(0, 4)).toEqual(['Mew', 'Mew δ', 'Mew ex', 'Mewtwo'])
    expect(findIn(Tier.prefix, 'pikachu v')).toEqual(['Pikachu V-UNION', 'Pikachu VMAX'])
    expect(findIn(Tier.word, 'mew')).toEqual([
      ...[
        'Ancient Mew',
        'Old Mewtwo',
        'M Mewtwo-EX',
        'Mega Mewtwo X ex',
        "Team Rocket's Mewtwo ex",
      ],
    ])
  })

  it('names with adjacent query words rank above names with separated ones', () => {
    expect(findIn(Tier.word, 'ex mewtwo')).toEqual([
      ...['Mewtwo ex', 'Mewtwo-EX', 'M Mewtwo-EX', 'Mega Mewtwo X ex', "Team Rocket's Mewtwo ex"],
    ])
    expect(findIn(Tier.word, 'mewtwo ex')).toEqual([
      ...['M Mewtwo-EX', "Team Rocket's Mewtwo ex", 'Mega Mewtwo X ex'],
    ])
  })

  it('typos with fewer edits rank first', async () => {
    const names = ['Pikachu', 'Pikachop', 'Pikachos']
    const found = (await buildNameIndex(names)).search('pikachoo')
    expect([...found.positions]).toEqual([1, 2, 0])
  })

  it('the rank of a typo is the smallest number of edits in the name', async () => {
    const found = (await buildNameIndex(['Pikachu', 'Pikachu Pikachop'])).search('pikachoo')
    expect([...found.positions]).toEqual([1, 0])
  })

  it('equal matches are sorted by length, then folded name, then position', async () => {
    const names = ['Abra V', 'Abra ex', 'Abra GL', 'ABRA-EX', 'Abra C']
    const found = (await buildNameIndex(names)).search('abra')
    expect([...found.positions].map((position) => names[position])).toEqual([
      ...['Abra C', 'Abra V', 'Abra ex', 'ABRA-EX', 'Abra GL'],
    ])
  })
})

describe('words', () => {
  it.each([
    ['in any order', 'oak professor', 'Professor Oak'],
    ['as prefixes', 'prof oak hint', "Professor Oak's Hint"],
    ['with the last word unfinished', 'dark chariz', 'Dark Charizard'],
    ['a possessive without its s', 'boss orders', "Boss's Orders"],
    ['"and" for &', 'pikachu and zekrom', 'Pikachu & Zekrom-GX'],
    ['& itself', 'pikachu & zekrom', 'Pikachu & Zekrom-GX'],
    ['without &', 'pikachu zekrom', 'Pikachu & Zekrom-GX'],
    ['with a repeated word', 'mewtwo mewtwo v', 'Mewtwo V'],
  ])('query words match %s', (_, query, name) => {
    expect(find(query)).toContain(name)
    expect([Tier.prefix, Tier.word]).toContain(index.search(query).tiers[0])
  })

  it('names in which each query word is a word of its own rank above names in which one begins another', async () => {
    const names = ['Mewtwo-GX', 'Mewtwo & Mew-GX']
    const found = (await buildNameIndex(names)).search('mew mewtwo gx')
    expect([...found.positions]).toEqual([1, 0])
  })

  it('every query word must match', () => {
    expect(find('mewtwo oak')).toEqual([])
    expect(find('mew zz')).toEqual([])
  })

  it.each([
    ['mr mime', 'Mr. Mime'],
    ['mrmime', 'Mr. Mime'],
    ['porygon z', 'Porygon-Z'],
    ['porygon-z', 'Porygon-Z'],
    ['porygonz', 'Porygon-Z'],
    ['ho oh', 'Ho-Oh'],
    ['ho-oh', 'Ho-Oh'],
    ['hooh', 'Ho-Oh'],
    ['farfetch d', "Farfetch'd"],
    ['farfetchd', "Farfetch'd"],
    ['farfetch’d', "Farfetch'd"],
    ['char izard', 'Charizard'],
    ['typenull', 'Type: Null'],
    ['soeur parasol', 'Sœur Parasol'],
  ])('the query %s finds its name however the words are joined', (query, name) => {
    expect(find(query)[0]).toBe(name)
    expect(index.search(query).tiers[0]).toBe(Tier.exact)
  })

  it('joined words also match within a longer name', () => {
    expect(findIn(Tier.word, 'pokeball')).toEqual(["Rocket's Poké Ball"])
    expect(find('ball nest')).toEqual(['Nest Ball'])
    expect(find('galarian mrmime')).toEqual(['Galarian Mr. Mime'])
  })

  it('joined words do not match in the middle of the next word', () => {
    expect(findIn(Tier.prefix, 'arcanine')).toEqual([])
    expect(find('dark rai')).not.toContain('Charizard')
    expect(findIn(Tier.prefix, 'dark r')).toEqual(['Dark Raichu'])
  })

  it('queries are folded like names', () => {
    expect(find('poke').slice(0, 2)).toEqual(['Poké Kid', 'Poké Ball'])
    expect(find('poke')).toContain('Pokémon Center')
    expect(find('ＰＯＫÉ')).toEqual(find('poke'))
  })
})

describe('the names of symbols', () => {
  it.each([
    ['pikachu star', 'Pikachu ★'],
    ['pikachu gold star', 'Pikachu ★'],
    ['mew delta', 'Mew δ'],
    ['mew delta species', 'Mew δ'],
    ['miracle sphere alpha', 'Miracle Sphere α'],
    ['miracle sphere beta', 'Miracle Sphere β'],
    ['miracle sphere gamma', 'Miracle Sphere γ'],
    ['nidoran male', 'Nidoran ♂'],
    ['NIDORAN FEMALE', 'Nidoran ♀'],
    ['nidoran female delta', 'Nidoran ♀ δ'],
  ])('the name of a symbol finds it: %s', (query, name) => {
    expect(find(query)[0]).toBe(name)
    expect(index.search(query).tiers[0]).toBe(Tier.exact)
  })

  it('a word also finds the form in which names have it, after the names that have the word', async () => {
    const names = ['Master Ball', 'M Gengar-EX', 'Mega Gengar ex', 'Palkia LV.X', 'Nidoran ♀']
    const { search } = await buildNameIndex(names)
    const found = (query: string) => [...search(query).positions].map((i) => names[i])
    expect(found('mega gengar ex')).toEqual(['Mega Gengar ex', 'M Gengar-EX'])
    expect(found('mega ball')).toEqual([])
    expect(found('palkia level x')).toEqual(['Palkia LV.X'])
    expect(found('palkia lvlx')).toEqual(['Palkia LV.X'])
    expect(found('nidoran f')).toEqual(['Nidoran ♀'])
  })

  it('the name of a symbol is an ordinary word, too', async () => {
    const names = ['Starmie', 'Star Piece', 'Delta Plus']
    const { positions } = (await buildNameIndex(names)).search('star')
    expect([...positions]).toEqual([1, 0])
  })
})

describe('letters inside a word', () => {
  it('three or more letters inside a word match', () => {
    expect(findIn(Tier.inside, 'zard')).toContain('Charizard')
    expect(findIn(Tier.inside, 'zar')).toContain('Charizard')
    expect(findIn(Tier.inside, 'ewtwo')).toContain('Mewtwo')
    expect(find('za')).toEqual([])
  })

  it('letters inside a word do not match across a space', () => {
    expect(findIn(Tier.inside, 'oryrev')).toEqual([])
    expect(findIn(Tier.inside, 'kchariz')).toEqual([])
    expect(findIn(Tier.inside, 'kcharizard')).toEqual([])
  })

  it('letters inside a word combine with whole words', () => {
    expect(findIn(Tier.inside, 'ex izard')).toEqual(['Charizard ex'])
  })
})

describe('scripts without spaces', () => {
  it('a query in Japanese ranks exact names, prefixes and inner matches in this order', () => {
    expect(find('ピカチュウ')).toEqual([
      ...['ピカチュウ', 'ピカチュウex', 'ピカチュウVMAX', 'ひかるピカチュウ'],
    ])
    expect(find('リザ')).toEqual([
      ...['リザード', 'リザードン', 'リザードンex', 'かがやくリザードン'],
    ])
  })

  it('a single CJK character matches anywhere', () => {
    expect(find('夢')).toEqual(['超夢'])
    expect(find('몽')).toEqual(['리자몽', '리자몽 ex'])
    expect(find('호')).toEqual(['비밀의 호박'])
  })

  it('a CJK query may have spaces between the parts of a name', () => {
    expect(find('ロケット団 ミュウツー')).toEqual(['ロケット団のミュウツーex'])
    expect(find('索偵蟲 火箭隊')).toEqual(['<火箭隊的>索偵蟲'])
    expect(find('ピカチュウ ex')[0]).toBe('ピカチュウex')
  })

  it('a CJK query may leave out the punctuation of a name', () => {
    expect(find('的索偵蟲')).toEqual(['<火箭隊的>索偵蟲'])
    expect(findIn(Tier.prefix, 'カプコ')).toEqual(['カプ・コケコGX'])
  })

  it('one typo is tolerated in four CJK characters', () => {
    expect(findIn(Tier.typo, 'ピカチョウ')).toContain('ピカチュウ')
  })
})

describe('typos', () => {
  it.each([
    ['charzard', 'Charizard'],
    ['pikachoo', 'Pikachu'],
    ['blastoyse', 'Blastoise'],
    ['venasaur', 'Venusaur'],
    ['mewtoo', 'Mewtwo'],
    ['kikachu', 'Pikachu'],
    ['pikahcu v', 'Pikachu V'],
    ['dark blastiose', 'Dark Blastoise'],
    ['snorllax', 'Snorlax'],
    ['farfetched', "Farfetch'd"],
    ['profesor oak', 'Professor Oak'],
  ])('the typo %s finds %s', (query, name) => {
    expect(find(query)[0]).toBe(name)
    expect(index.search(query).tiers[0]).toBe(Tier.typo)
  })

  it.each([
    ['up to three letters none', 'mwe', 'Mew', false],
    ['from four letters one', 'meww', 'Mew', true],
    ['to seven letters no second', 'raihcuu', 'Raichu', false],
    ['from eight letters a second', 'nidorona', 'Nidoran ♀', true],
    ['but no third', 'nidoronna', 'Nidoran ♀', false],
  ])('tolerated typos: %s', async (_, query, name, forgiven) => {
    const found = (await buildNameIndex([name, query])).search(query)
    expect(found.positions.includes(0)).toBe(forgiven)
  })

  it('two typos are tolerated from six letters on if nothing else matches', async () => {
    const alone = await buildNameIndex(['Raichu'])
    expect(alone.search('raihcuu').positions).toHaveLength(1)
    expect(alone.search('raykhu').positions).toHaveLength(1)
    expect(alone.search('raihcuuux').positions).toHaveLength(0)
    expect((await buildNameIndex(['Entei'])).search('netie').positions).toHaveLength(0)
  })

  it('a word of three letters may have one typo, and one of eight letters three, if nothing else is found', async () => {
    const names = await buildNameIndex([
      'Umbreon V',
      'Umbreon VMAX',
      'Alolan Vulpix',
      'Alolan Raichu',
    ])
    expect([...names.search('umbreon vmx').positions]).toEqual([1])
    expect([...names.search('alolan vulpicks').positions]).toEqual([2])
    expect([...names.search('umbreon xq').positions]).toEqual([])
  })

  it('a typo means the more frequent name, the one with more letters, and the one with the same first letter', async () => {
    const first = async (query: string, ...names: string[]) =>
      names[(await buildNameIndex(names)).search(query).positions[0]!]
    expect(await first('pikchu', 'Pichu', 'Pikachu', 'Pikachu V')).toBe('Pikachu')
    expect(await first('gyrados', 'Garados', 'Gyarados')).toBe('Gyarados')
    expect(await first('drant', 'Grant', 'Durant')).toBe('Durant')
  })

  it('a name with the other words in full comes before a name with their beginnings', async () => {
    const names = await buildNameIndex(['Venusaur', 'Venusaur V'])
    expect([...names.search('veunsaur v').positions]).toEqual([1, 0])
  })

  it('typos are compared with whole words', () => {
    expect(find('meww')).toContain('Mew')
    expect(find('meww')).not.toContain('Mewtwo')
  })

  it('a search reports how many matches are certain, as opposed to typos', () => {
    const { positions, sure } = index.search('garados')
    expect([...positions].map((position) => NAMES[position])).toEqual(['Garados', 'Gyarados'])
    expect(sure).toBe(1)
    expect(index.search('mewtwo').sure).toBe(index.search('mewtwo').positions.length)
    expect(index.search('charzard').sure).toBe(0)
  })
})

describe('odd queries', () => {
  it.each(['', ' ', '\t\n', '\u3000'])('the blank query %j finds nothing', (query) => {
    expect(find(query)).toEqual([])
  })

  it('a query of punctuation finds the names that contain it', () => {
    expect(find('!')).toEqual(['Unown [!]'])
    expect(find('[?]')).toEqual(['Unown [?]'])
    expect(find('_____')).toEqual(["_____'s Pikachu"])
    expect(find('§')).toEqual([])
    expect(find('😀')).toEqual([])
  })

  it('a name of punctuation finds itself first', async () => {
    const signs = await buildNameIndex(['!!!', '!!', '!', 'Sleep!!'])
    expect([...signs.search('!!').positions]).toEqual([1, 0, 3])
  })

  it.each([
    ['a hundred words of a letter', 'a b c d e f g h i j '.repeat(10)],
    ['one letter a hundred times', 'a'.repeat(100)],
    ['lone accents', '\u0301'.repeat(100)],
    ['lone voicing marks', '\u3099'.repeat(100)],
    ['a lone surrogate', '\ud83d'],
    ['a letter that is four words', 'ﷺ'.repeat(100)],
    ['a million characters', 'charizard '.repeat(100_000)],
  ])('a search for %s does not fail', (_, query) => {
    expect(() => find(query)).not.toThrow()
  })

  it('a query is truncated after two hundred characters', () => {
    expect(find(`mew${' '.repeat(200)}zzz`)).toEqual(find('mew'))
  })

  it('an empty index finds nothing', async () => {
    const empty = await buildNameIndex([])
    expect(empty.size).toBe(0)
    expect(empty.search('mew').positions).toHaveLength(0)
    expect(empty.search('!').positions).toHaveLength(0)
  })
})

describe('properties of every query', () => {
  const pieces = fc.constantFrom(...NAMES.flatMap((name) => [...name]), ' ', '-', '&', '♀')
  const anyQuery = fc.oneof(
    fc.string({ unit: codePoint, maxLength: 100 }),
    fc.string({ unit: pieces, maxLength: 100 }),
    fc.array(fc.constantFrom(...NAMES.flatMap((name) => name.split(' ')))).map((a) => a.join(' ')),
  )

  it('positions are distinct and tiers in order for every query', () => {
    fc.assert(
      fc.property(anyQuery, (query) => {
        const { positions, tiers, sure } = index.search(query)
        expect(tiers.length).toBe(positions.length)
        expect(new Set(positions).size).toBe(positions.length)
        expect(positions.every((position) => position < NAMES.length)).toBe(true)
        expect(tiers.every((tier, i) => i === 0 || tiers[i - 1]! <= tier)).toBe(true)
        expect(tiers.every((tier, i) => (tier === Tier.typo) === i >= sure)).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })

  it('a search does not depend on earlier searches', () => {
    fc.assert(
      fc.property(anyQuery, anyQuery, (query, other) => {
        const once = index.search(query)
        index.search(other)
        expect(index.search(query)).toEqual(once)
      }),
    )
  })

  it('every name finds itself first', () => {
    for (const name of NAMES) expect(find(name)[0]).toBe(name)
  })

  it('every name finds itself, or one that folds alike, first in every index', async () => {
    const anyName = fc.oneof(
      fc.string({ unit: codePoint, maxLength: 20 }),
      fc.string({ unit: pieces, maxLength: 20 }),
    )
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(anyName, { maxLength: 30 }), async (names) => {
        const any = await buildNameIndex(names)
        for (const name of names.filter((name) => name.trim() !== '')) {
          const first = names[any.search(name).positions[0]!]!
          expect(fold(first)).toBe(fold(name))
        }
      }),
    )
  })

  it('every prefix of a name finds it as exact or prefix', () => {
    for (const [position, name] of NAMES.entries()) {
      const folded = fold(name)
      for (let length = 1; length <= folded.length; length++) {
        const { positions, tiers } = index.search(folded.slice(0, length))
        expect(tiers[positions.indexOf(position)]).toBeLessThanOrEqual(Tier.prefix)
      }
    }
  })
})

describe('building', () => {
  it('building an index in time slices gives the same index', async () => {
    const many = Array.from({ length: 5000 }, (_, i) => `${NAMES[i % NAMES.length]} ${i}`)
    let pauses = 0
    const paused = await buildNameIndex(many, async () => {
      pauses++
    })
    const straight = await buildNameIndex(many)
    expect(pauses).toBeGreaterThan(20)
    expect(paused.search('mew 1')).toEqual(straight.search('mew 1'))
  })

  it('an index knows its number of names', () => {
    expect(index.size).toBe(NAMES.length)
  })
})
