import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from './fold.ts'
import { Tier } from './name-grades.ts'
import { buildNameIndex } from './name-index.ts'

// Names of real cards. The order is no order at all, so that none comes of it.
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
  it('is exact, prefix, word, inside, typo', async () => {
    const names = ['Bigblastoises', 'Blastoises', 'Dark Blastoise', 'Blastoise', 'Blastoysa']
    const { positions, tiers } = (await buildNameIndex(names)).search('blastoise')
    expect([...positions].map((position) => names[position])).toEqual([
      ...['Blastoise', 'Blastoises', 'Dark Blastoise', 'Bigblastoises', 'Blastoysa'],
    ])
    expect([...tiers]).toEqual([Tier.exact, Tier.prefix, Tier.word, Tier.inside, Tier.typo])
  })

  it('puts the name itself before longer ones', () => {
    expect(find('mew')[0]).toBe('Mew')
    expect(find('pikachu v')[0]).toBe('Pikachu V')
    expect(find('professor oak')[0]).toBe('Professor Oak')
    expect(find('nidoran ♀').slice(0, 2).sort()).toEqual(['Nidoran ♀', 'Nidoran♀'])
  })

  it('puts the spelling that was asked for first among names that fold alike', () => {
    expect(find('Mewtwo-EX')[0]).toBe('Mewtwo-EX')
    expect(find('mewtwo-ex')[0]).toBe('Mewtwo-EX')
    expect(find('mewtwo ex')[0]).toBe('Mewtwo ex')
    expect(find('Nidoran♀')[0]).toBe('Nidoran♀')
  })

  it('puts the same upper and lower case first among those', async () => {
    const index = await buildNameIndex(['Pikachu EX', 'Pikachu ex'])
    expect([...index.search('Pikachu ex').positions]).toEqual([1, 0])
  })

  it('puts the same spaces before others', () => {
    expect(find('poke ball').slice(0, 2)).toEqual(['Poké Ball', 'Pokéball'])
    expect(find('pokeball').slice(0, 2)).toEqual(['Pokéball', 'Poké Ball'])
  })

  it('puts names that go on with another word before longer words', () => {
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

  it('puts words that stand together before words that do not', () => {
    expect(findIn(Tier.word, 'ex mewtwo')).toEqual([
      ...['Mewtwo ex', 'Mewtwo-EX', 'M Mewtwo-EX', 'Mega Mewtwo X ex', "Team Rocket's Mewtwo ex"],
    ])
    expect(findIn(Tier.word, 'mewtwo ex')).toEqual([
      ...['M Mewtwo-EX', "Team Rocket's Mewtwo ex", 'Mega Mewtwo X ex'],
    ])
  })

  it('puts fewer edits first', async () => {
    const names = ['Pikachu', 'Pikachop', 'Pikachos']
    const found = (await buildNameIndex(names)).search('pikachoo')
    expect([...found.positions]).toEqual([1, 2, 0])
  })

  it('counts the fewest edits that a name allows', async () => {
    const found = (await buildNameIndex(['Pikachu', 'Pikachu Pikachop'])).search('pikachoo')
    expect([...found.positions]).toEqual([1, 0])
  })

  it('is by length, then by the folded name, then by position', async () => {
    const names = ['Abra V', 'Abra ex', 'Abra GL', 'ABRA-EX', 'Abra C']
    const found = (await buildNameIndex(names)).search('abra')
    expect([...found.positions].map((position) => names[position])).toEqual([
      ...['Abra C', 'Abra V', 'Abra ex', 'ABRA-EX', 'Abra GL'],
    ])
  })
})

describe('words', () => {
  it.each([
    ['any order', 'oak professor', 'Professor Oak'],
    ['beginnings', 'prof oak hint', "Professor Oak's Hint"],
    ['the last one unfinished', 'dark chariz', 'Dark Charizard'],
    ['a possessive without its s', 'boss orders', "Boss's Orders"],
    ['the word for &', 'pikachu and zekrom', 'Pikachu & Zekrom-GX'],
    ['the sign for &', 'pikachu & zekrom', 'Pikachu & Zekrom-GX'],
    ['neither', 'pikachu zekrom', 'Pikachu & Zekrom-GX'],
    ['a word twice', 'mewtwo mewtwo v', 'Mewtwo V'],
  ])('match in %s', (_, query, name) => {
    expect(find(query)).toContain(name)
    expect([Tier.prefix, Tier.word]).toContain(index.search(query).tiers[0])
  })

  it('must all be there', () => {
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
  ])('are the same however they are joined: %s', (query, name) => {
    expect(find(query)[0]).toBe(name)
    expect(index.search(query).tiers[0]).toBe(Tier.exact)
  })

  it('are joined within a longer name too', () => {
    expect(findIn(Tier.word, 'pokeball')).toEqual(["Rocket's Poké Ball"])
    expect(find('ball nest')).toEqual(['Nest Ball'])
    expect(find('galarian mrmime')).toEqual(['Galarian Mr. Mime'])
  })

  it('are not joined in the middle of the next', () => {
    expect(findIn(Tier.prefix, 'arcanine')).toEqual([])
    expect(find('dark rai')).not.toContain('Charizard')
    expect(findIn(Tier.prefix, 'dark r')).toEqual(['Dark Raichu'])
  })

  it('fold like the names', () => {
    expect(find('poke').slice(0, 2)).toEqual(['Poké Kid', 'Poké Ball'])
    expect(find('poke')).toContain('Pokémon Center')
    expect(find('ＰＯＫÉ')).toEqual(find('poke'))
  })
})

describe('letters inside a word', () => {
  it('are found from three on', () => {
    expect(findIn(Tier.inside, 'zard')).toContain('Charizard')
    expect(findIn(Tier.inside, 'zar')).toContain('Charizard')
    expect(findIn(Tier.inside, 'ewtwo')).toContain('Mewtwo')
    expect(find('za')).toEqual([])
  })

  it('do not run over a space', () => {
    expect(findIn(Tier.inside, 'oryrev')).toEqual([])
    expect(findIn(Tier.inside, 'kchariz')).toEqual([])
    expect(findIn(Tier.inside, 'kcharizard')).toEqual([])
  })

  it('go together with words', () => {
    expect(findIn(Tier.inside, 'ex izard')).toEqual(['Charizard ex'])
  })
})

describe('scripts without spaces', () => {
  it('find the name first, then what it begins, then what it is in', () => {
    expect(find('ピカチュウ')).toEqual([
      ...['ピカチュウ', 'ピカチュウex', 'ピカチュウVMAX', 'ひかるピカチュウ'],
    ])
    expect(find('リザ')).toEqual([
      ...['リザード', 'リザードン', 'リザードンex', 'かがやくリザードン'],
    ])
  })

  it('find a single character anywhere', () => {
    expect(find('夢')).toEqual(['超夢'])
    expect(find('몽')).toEqual(['리자몽', '리자몽 ex'])
    expect(find('호')).toEqual(['비밀의 호박'])
  })

  it('take the spaces one puts between the parts of a name', () => {
    expect(find('ロケット団 ミュウツー')).toEqual(['ロケット団のミュウツーex'])
    expect(find('索偵蟲 火箭隊')).toEqual(['<火箭隊的>索偵蟲'])
    expect(find('ピカチュウ ex')[0]).toBe('ピカチュウex')
  })

  it('leave out the signs in a name', () => {
    expect(find('的索偵蟲')).toEqual(['<火箭隊的>索偵蟲'])
    expect(findIn(Tier.prefix, 'カプコ')).toEqual(['カプ・コケコGX'])
  })

  it('forgive a slip in four characters', () => {
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
  ])('%s is %s', (query, name) => {
    expect(find(query)[0]).toBe(name)
    expect(index.search(query).tiers[0]).toBe(Tier.typo)
  })

  it.each([
    ['up to three letters none', 'mwe', 'Mew', false],
    ['from four letters one', 'meww', 'Mew', true],
    ['to seven letters no second', 'raihcuu', 'Raichu', false],
    ['from eight letters a second', 'nidorona', 'Nidoran ♀', true],
    ['but no third', 'nidoronna', 'Nidoran ♀', false],
  ])('are forgiven: %s', async (_, query, name, forgiven) => {
    const found = (await buildNameIndex([name, query])).search(query)
    expect(found.positions.includes(0)).toBe(forgiven)
  })

  it('may be two from six letters on if nothing else is found', async () => {
    const alone = await buildNameIndex(['Raichu'])
    expect(alone.search('raihcuu').positions).toHaveLength(1)
    expect(alone.search('raykhu').positions).toHaveLength(1)
    expect(alone.search('raihcuuu').positions).toHaveLength(0)
    expect((await buildNameIndex(['Entei'])).search('netie').positions).toHaveLength(0)
  })

  it('are compared with whole words', () => {
    expect(find('meww')).toContain('Mew')
    expect(find('meww')).not.toContain('Mewtwo')
  })

  it('are told apart from what is sure', () => {
    const { positions, sure } = index.search('garados')
    expect([...positions].map((position) => NAMES[position])).toEqual(['Garados', 'Gyarados'])
    expect(sure).toBe(1)
    expect(index.search('mewtwo').sure).toBe(index.search('mewtwo').positions.length)
    expect(index.search('charzard').sure).toBe(0)
  })
})

describe('odd queries', () => {
  it.each(['', ' ', '\t\n', '\u3000'])('nothing but space, %j, finds nothing', (query) => {
    expect(find(query)).toEqual([])
  })

  it('signs alone find the names that have them', () => {
    expect(find('!')).toEqual(['Unown [!]'])
    expect(find('[?]')).toEqual(['Unown [?]'])
    expect(find('_____')).toEqual(["_____'s Pikachu"])
    expect(find('§')).toEqual([])
    expect(find('😀')).toEqual([])
  })

  it('a name of signs alone finds itself first', async () => {
    const signs = await buildNameIndex(['!!!', '!!', '!', 'Sleep!!'])
    expect([...signs.search('!!').positions]).toEqual([1, 0, 3])
  })

  it.each([
    ['a hundred words of a letter', 'a b c d e f g h i j '.repeat(10)],
    ['one letter a hundred times', 'a'.repeat(100)],
    ['lone accents', '\u0301'.repeat(100)],
    ['lone voicing marks', '\u3099'.repeat(100)],
    ['half an emoji', '\ud83d'],
    ['a letter that is four words', 'ﷺ'.repeat(100)],
    ['far too much', 'charizard '.repeat(100_000)],
  ])('%s is answered', (_, query) => {
    expect(() => find(query)).not.toThrow()
  })

  it('what comes after two hundred characters is not read', () => {
    expect(find(`mew${' '.repeat(200)}zzz`)).toEqual(find('mew'))
  })

  it('an empty index finds nothing', async () => {
    const empty = await buildNameIndex([])
    expect(empty.size).toBe(0)
    expect(empty.search('mew').positions).toHaveLength(0)
    expect(empty.search('!').positions).toHaveLength(0)
  })
})

describe('whatever is asked', () => {
  const pieces = fc.constantFrom(...NAMES.flatMap((name) => [...name]), ' ', '-', '&', '♀')
  const anyQuery = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.string({ unit: pieces, maxLength: 100 }),
    fc.array(fc.constantFrom(...NAMES.flatMap((name) => name.split(' ')))).map((a) => a.join(' ')),
  )

  it('the positions are distinct and the tiers in order', () => {
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

  it('the answer does not depend on what was asked before', () => {
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

  it('every name finds itself or one that folds alike first, whatever names there are', async () => {
    const anyName = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
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

  it('every beginning of a name finds it, as exact or prefix', () => {
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
  it('pauses between slices, and comes to the same', async () => {
    const many = Array.from({ length: 5000 }, (_, i) => `${NAMES[i % NAMES.length]} ${i}`)
    let pauses = 0
    const paused = await buildNameIndex(many, async () => {
      pauses++
    })
    const straight = await buildNameIndex(many)
    expect(pauses).toBeGreaterThan(20)
    expect(paused.search('mew 1')).toEqual(straight.search('mew 1'))
  })

  it('knows how many names it has', () => {
    expect(index.size).toBe(NAMES.length)
  })
})
