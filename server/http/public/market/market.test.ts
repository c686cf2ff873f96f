import { beforeAll, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp, type TestResponse } from '../../../test/app.ts'
import { CARDS, importRecords, SETS } from '../../../test/catalog-fixture.ts'
import {
  advance,
  cardItem,
  changeAccount,
  gradedItem,
  hold,
  list,
  NO_LIMITS,
  productItem,
} from '../../../test/fixtures/listings.ts'
import { untilLockWaiters } from '../../../test/lock-waiters.ts'

const PUBLIC_URL = 'https://cards.example'
const CARD = '/cards/sv3-125'

let app: TestApp
let shop: Seller
let otherShop: typeof shop
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  shop = await app.seller({ account: { shopName: 'Kanto Cards', slug: 'kanto' } })
  otherShop = await app.seller({
    account: { shopName: 'Johto', slug: 'johto', rating: 4.25, reviews: 8 },
  })
})

const open = (path: string, headers = {}) => app.anyone.get(path, { headers })
const pathOf = (url: string) => url.slice(PUBLIC_URL.length)

/** The text of a page as people read it. */
const readable = ({ text }: TestResponse) =>
  text
    .replace(/<(head|script)[\s\S]*?<\/\1>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')

/** The rows of the table of offers. */
const offersIn = ({ text }: TestResponse) =>
  [...text.matchAll(/<tr>\n<th scope="row">([\s\S]*?)<\/tr>/g)].map(([, row]) =>
    row!
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  )

const linksIn = ({ text }: TestResponse) =>
  [...text.matchAll(/ href="([^"]+)"/g)].map(([, href]) => href!.replaceAll('&amp;', '&'))

describe('the pages behind the urls of the API', () => {
  it('every url of every card, product and shop opens', async () => {
    await list(shop, cardItem(), productItem())
    const urls: string[] = []
    for (const path of ['/v1/cards?per_page=100', '/v1/products?per_page=100']) {
      const { body } = await shop.get(path)
      urls.push(...body.data.map(({ url }: { url: string }) => url))
    }
    const { body } = await shop.get('/v1/cards/sv3-125?include=listings')
    urls.push(...body.data.listings.map(({ seller }: { seller: { url: string } }) => seller.url))
    expect(urls.length).toBeGreaterThan(CARDS.length)
    for (const url of urls) {
      const { status, headers } = await open(pathOf(url))
      expect([url, status, headers['content-type']]).toEqual([url, 200, 'text/html; charset=utf-8'])
    }
  })

  it('every link of a page opens, under any path prefix of a proxy', async () => {
    for (const path of [
      '/',
      '/search?q=charizard',
      '/sets',
      ...SETS.map(({ id }) => `/sets/${encodeURIComponent(id)}`),
      CARD,
      '/shops/kanto',
    ]) {
      const page = await open(path, { accept: 'text/html' })
      expect([path, page.status]).toEqual([path, 200])
      for (const href of new Set(linksIn(page))) {
        if (/^(data:|https:)/.test(href)) continue
        expect(href).not.toMatch(/^\//)
        const target = new URL(href, PUBLIC_URL + path)
        const { status } = await open(target.pathname + target.search)
        expect([path, href, status < 400]).toEqual([path, href, true])
      }
    }
  })

  it('a friendly id leads to the page of its card, and an unknown or ambiguous one to a page that says so', async () => {
    const { status, headers } = await open('/cards/obf_125')
    expect([status, headers.location]).toEqual([302, '../cards/sv3-125'])
    const unknown = await open('/cards/nothing-1')
    expect([unknown.status, unknown.headers['cache-control']]).toEqual([404, 'no-store'])
    expect(readable(unknown)).toContain('There is no card')
    for (const path of ['/sets/nothing', '/products/nothing', '/shops/nothing']) {
      expect((await open(path)).headers['content-type']).toBe('text/html; charset=utf-8')
    }
  })

  it('the address that a friendly id leads to keeps the filters and the page, and no cache keeps the way there', async () => {
    for (const [path, canonical] of [
      ['/cards/obf_125?condition=NM&language=DE&page=2', 'sv3-125?condition=NM&language=DE&page=2'],
      ['/cards/brs_1?language=DE&page=1&condition=NM&utm=x', 'swsh9-de-1?condition=NM'],
      ['/sets/obf?page=2&language=DE', 'sv3?page=2'],
    ] as const) {
      const { status, headers } = await open(path)
      const [, location] = /^\.\.\/\w+\/(.+)/.exec(headers.location!)!
      expect([path, status, location]).toEqual([path, 302, canonical])
      expect(headers['cache-control'] ?? 'no-store').toBe('no-store')
    }
  })

  it('language and region narrow an ambiguous card or set, as in the API', async () => {
    for (const [path, canonical] of [
      ['/cards/brs_1?language=DE', '../cards/swsh9-de-1'],
      ['/cards/csv9.5c_001?region=tw', '../cards/csv9.5c-tw-001'],
      ['/sets/brs?language=DE', '../sets/swsh9-de'],
      ['/sets/csv9.5c?language=CN&region=cn', '../sets/csv9.5c-cn'],
      ['/sets/sv3?language=JP', '../sets/sv3-jp'],
    ] as const) {
      const { status, headers } = await open(path)
      expect([path, status, headers.location]).toEqual([path, 302, canonical])
    }
    // At a canonical address the language is that of the offers.
    expect((await open(`${CARD}?language=DE`)).status).toBe(200)
    const none = await open('/cards/brs_1?language=FR')
    expect(none.status).toBe(404)
    expect(readable(none)).toContain('has the language')
  })

  it('the page of an ambiguous card or set links to its candidates, with their language and set', async () => {
    for (const [path, candidates] of [
      [
        '/cards/brs_1',
        [
          ['../cards/swsh9-1', 'Exeggcute, Brilliant Stars 1, English'],
          ['../cards/swsh9-de-1', 'Owei, Strahlende Sterne 1, German'],
        ],
      ],
      [
        '/sets/brs?language=EN',
        [
          ['../sets/swsh9', 'Brilliant Stars, Sword &amp; Shield, English'],
          ['../sets/swsh9tg', 'Brilliant Stars Trainer Gallery, Sword &amp; Shield, English'],
        ],
      ],
      [
        '/sets/csv9.5c',
        [
          ['../sets/csv9.5c-cn', '太晶璀璨, Scarlet &amp; Violet, Chinese'],
          ['../sets/csv9.5c-tw', '太晶慶典, Scarlet &amp; Violet, Chinese TW'],
        ],
      ],
    ] as const) {
      const page = await open(path)
      expect([path, page.status, page.headers['cache-control']]).toEqual([path, 409, 'no-store'])
      expect(readable(page)).not.toContain('canonical')
      const shown = [...page.text.matchAll(/<li><a href="([^"]+)">(.*?)<\/li>/g)]
      const texts = shown.map(([, href, text]) => [href, text!.replace(/<[^>]+>/g, '')])
      expect(texts.sort()).toEqual(candidates)
      for (const [href] of candidates) expect((await open(href.slice(2))).status).toBe(200)
    }
  })

  it('no page has a script, and its policy admits none', async () => {
    for (const path of [
      '/',
      CARD,
      '/search?q=a',
      '/shops/kanto',
      '/sets/sv3',
      '/cards/nothing-1',
    ]) {
      const { headers, text } = await open(path, { accept: 'text/html' })
      const policy = headers['content-security-policy']
      expect(policy).toMatch(/default-src 'none'.*script-src 'none'.*style-src 'self';/)
      expect(text.replaceAll('<script type="application/ld+json">', '')).not.toMatch(
        /<script|\son\w+=|style=/,
      )
    }
  })
})

describe('a card’s page', () => {
  it('offers are in the order of their prices, with condition, language, stock and shop', async () => {
    const seller = await app.seller({ account: { shopName: 'Hoenn', rating: 4.5, reviews: 2 } })
    const card = 'swsh9-1'
    const [dear] = await list(
      seller,
      cardItem({ card, price: 1234.5, quantity: 4 }),
      gradedItem({ card, price: 20, quantity: 1 }),
      cardItem({
        card,
        price: 3.05,
        language: 'JP',
        condition: 'HP',
        printing: 'reverse_holo',
        description: 'A <b>crease</b>',
      }),
    )
    await hold(app.operator, dear!, 3)
    const page = await open(`/cards/${card}`)
    expect(readable(page)).toContain('3 offers from €3.05')
    expect(offersIn(page)).toEqual([
      'Hoenn Bronze ★ 4.5 (2 reviews) Heavily played Japanese, reverse holo A &lt;b&gt;crease&lt;/b&gt; 3 €3.05',
      'Hoenn Bronze ★ 4.5 (2 reviews) Graded PSA 9.5 English 1 €20.00',
      'Hoenn Bronze ★ 4.5 (2 reviews) Near mint English 1 €1,234.50',
    ])
    await advance(app.operator, 7_200)
    expect(offersIn(await open(`/cards/${card}`))[2]).toMatch(/ 4 €1,234\.50$/)
  })

  it('filters select offers, and unknown values and pages are ignored', async () => {
    const card = 'swsh9-2'
    await list(
      shop,
      cardItem({ card, condition: 'LP' }),
      cardItem({ card, language: 'DE' }),
      cardItem({ card }),
    )
    const rows = async (query: string) => offersIn(await open(`/cards/${card}?${query}`)).length
    expect(await rows('condition=LP')).toBe(1)
    expect(await rows('language=DE')).toBe(1)
    expect(await rows('condition=LP&language=DE')).toBe(0)
    for (const query of [
      'condition=new',
      'language=xx',
      'page=0',
      'page=-1',
      'page=2e9',
      'page=x',
      'page=7',
    ]) {
      expect([query, await rows(query)]).toEqual([query, 3])
    }
  })

  it('the offers of a sealed product have no condition to filter by', async () => {
    const product = 'obsidian-flames-etb'
    await list(shop, productItem({ product }), productItem({ product, language: 'DE' }))
    const page = await open(`/products/${product}?condition=NM`)
    expect(offersIn(page)).toHaveLength(2)
    expect(page.text).not.toContain('name="condition"')
    expect(offersIn(await open(`/products/${product}?language=DE`))).toHaveLength(1)
  })

  it('more than 48 offers are divided into pages that together show each once', async () => {
    const card = 'swsh9-10'
    await list(shop, ...Array.from({ length: 100 }, (_, i) => cardItem({ card, price: 1 + i })))
    const seen: string[] = []
    let path: string | undefined = `/cards/${card}`
    while (path) {
      const page: TestResponse = await open(path)
      seen.push(...offersIn(page))
      const next = /href="([^"]+)" rel="next"/.exec(page.text)?.[1]
      path = next && `/cards/${card}${next}`
    }
    expect(seen.map((row) => row.split('€')[1])).toEqual(
      Array.from({ length: 100 }, (_, i) => `${1 + i}.00`),
    )
    const { text } = await open('/shops/kanto?condition=NM&page=2')
    expect(text).toContain(`rel="canonical" href="${PUBLIC_URL}/shops/kanto?page=2"`)
  })

  it('pages show the cheapest 10,000 offers of an item, and lists the lowest price of the cheapest 1,000', async () => {
    const card = 'swsh9-de-9'
    const seller = await app.seller()
    const [first] = await list(seller, cardItem({ card, price: 1, quantity: 5, language: 'DE' }))
    await app.ctx.db`
      insert into listings (
        account_id, card_id, price_cents, quantity, condition, language, created_at, updated_at
      )
      select account_id, card_id, 100 + n, 1, condition, 'EN', created_at, updated_at
      from listings, generate_series(1, 10049) n
      where id = ${first!}
    `
    await app.ctx.signal('offers')
    await hold(app.operator, first!, 2)
    const page = await open(`/cards/${card}`)
    expect(readable(page)).toContain('10,000+ offers from €1.00')
    expect(offersIn(page)[0]).toMatch(/ 3 €1\.00$/)
    const last = await open(`/cards/${card}?page=1000`)
    expect(readable(last)).toContain('Page 209 of 209')
    expect(offersIn(last).map((row) => row.split('€')[1])).toEqual(
      Array.from({ length: 16 }, (_, i) => ((100 + 9_984 + i) / 100).toFixed(2)),
    )
    expect(readable(await open(`/cards/${card}?language=DE`))).toContain('1+ offers from €1.00')

    const tile = async () =>
      /<a class="tile" href="[^"]*swsh9-de-9">.*?<\/a>/.exec(
        (await open('/sets/swsh9-de')).text,
      )![0]
    expect(await tile()).toContain('from €1.00')
    await list(shop, cardItem({ card, price: 500 }))
    await changeAccount(app, seller.accountId, { api_access: 'suspended' })
    expect(await tile()).not.toContain('from')
    const closed = readable(await open(`/cards/${card}`))
    expect(closed).toContain('The shops with the cheapest offers are closed at the moment.')
    expect(closed).not.toContain('No shop has this in stock.')
    await app.ctx.db`
      delete from listings where account_id = ${seller.accountId} and price_cents > 1098
    `
    expect(await tile()).toContain('from €500.00')
  })

  it('a suspended shop has no page and no offers', async () => {
    const card = 'cel25-2'
    const seller = await app.seller({ account: { shopName: 'Gone', slug: 'gone' } })
    await list(seller, cardItem({ card }))
    expect(offersIn(await open(`/cards/${card}`))).toHaveLength(1)
    await changeAccount(app, seller.accountId, { api_access: 'suspended' })
    expect(readable(await open(`/cards/${card}`))).toContain('No offers now')
    expect((await open('/shops/gone')).status).toBe(404)
  })

  it('text of sellers and catalogs never becomes markup', async () => {
    const evil = '</script><script>alert(1)</script>"\'<img src=x onerror=alert(1)>'
    const seller = await app.seller({ account: { shopName: evil, slug: 'evil' } })
    await list(seller, cardItem({ description: evil }))
    for (const path of [CARD, '/shops/evil', `/search?q=${encodeURIComponent(evil)}`]) {
      const { text } = await open(path)
      expect(text).not.toMatch(/<script>|<img src=x/)
      expect(text).toContain('alert(1)')
    }
  })

  it('a stored name of a shop cannot reverse its tier and rating', async () => {
    const card = 'swsh9tg-TG2'
    const seller = await app.seller({ account: { shopName: 'Unova\u202e' } })
    await list(seller, cardItem({ card }))
    const { text } = await open(`/cards/${card}`)
    expect(text).toContain('<bdi>Unova\u202e</bdi></a> <span class="tier">')
  })

  it('search engines get the same prices as the API, as schema.org data', async () => {
    const { text } = await open(CARD)
    const data = JSON.parse(/ld\+json">(.*?)<\/script>/.exec(text)![1]!)
    const { body } = await shop.get('/v1/cards/sv3-125?include=listings')
    expect(data).toMatchObject({ '@type': 'Product', name: body.data.name, url: body.data.url })
    expect(data.offers.offers.map(({ price }: { price: number }) => price)).toEqual(
      body.data.listings.map(({ price }: { price: number }) => price),
    )
    expect(text).toContain(`<link rel="canonical" href="${body.data.url}">`)
    // A product without offers is invalid data.
    for (const path of ['/cards/np-2', '/products/poke-ball-tin']) {
      const without = await open(path)
      expect([path, without.status]).toEqual([path, 200])
      expect(without.text).not.toContain('ld+json')
    }
  })

  it('a chat that shows a link to a card or set shows its picture', async () => {
    const { body } = await shop.get('/v1/cards/sv3-125')
    const picture = (url: string) => `<meta property="og:image" content="${url}">`
    expect((await open(CARD)).text).toContain(picture(body.data.image_large))
    await importRecords(app.operator, [{ ...SETS[0], logo_url: 'https://images.example/logo.png' }])
    expect((await open(`/sets/${SETS[0]!.id}`)).text).toContain(
      picture('https://images.example/logo.png'),
    )
    expect((await open('/products/poke-ball-tin')).text).not.toContain('og:')
  })

  it('a page is revalidated by its ETag, which changes with an offer', async () => {
    const card = 'gym1-1'
    const { headers } = await open(`/cards/${card}`)
    expect(headers['cache-control']).toBe('public, max-age=60')
    const again = await open(`/cards/${card}`, { 'if-none-match': headers.etag })
    expect([again.status, again.text]).toEqual([304, ''])
    await list(shop, cardItem({ card }))
    expect((await open(`/cards/${card}`, { 'if-none-match': headers.etag })).status).toBe(200)
  })
})

describe('the other pages', () => {
  it('a shop’s page shows its offers, newest first, with rating and filters', async () => {
    await list(
      otherShop,
      cardItem({ price: 1 }),
      productItem({ price: 2 }),
      cardItem({ price: 3, condition: 'MP' }),
    )
    const page = await open('/shops/johto')
    expect(readable(page)).toContain('★ 4.3 (8 reviews)')
    expect(offersIn(page).map((row) => row.split('€')[1])).toEqual(['3.00', '2.00', '1.00'])
    expect(offersIn(await open('/shops/johto?condition=MP'))).toHaveLength(1)
    const second = await open('/shops/johto?page=2')
    expect(offersIn(second)).toEqual([])
    expect(second.text).toContain(`rel="canonical" href="${PUBLIC_URL}/shops/johto"`)
    expect(readable(await open('/shops/johto?condition=DMG'))).toContain('no such offers now')
    await app.seller({ account: { slug: 'empty' } })
    const empty = readable(await open('/shops/empty'))
    expect(empty).toContain('This shop has no offers now.')
    expect(empty).toContain('no reviews yet')
    // Reviews from elsewhere, without a rating.
    await app.seller({ account: { slug: 'imported', reviews: 12 } })
    expect(readable(await open('/shops/imported'))).toContain('Bronze seller (12 reviews)')
  })

  it('the pages of a shop together show each offer once, newest first, without the units that carts hold', async () => {
    const seller = await app.seller({ account: { slug: 'hundred' } })
    const ids = await list(
      seller,
      ...Array.from({ length: 100 }, (_, i) =>
        cardItem({ card: 'g1-1', price: 1 + i, language: i % 2 ? 'DE' : 'EN' }),
      ),
    )
    await hold(app.operator, ids[39]!, 2)
    const rowsOf = async (page: number, filter = '') =>
      offersIn(await open(`/shops/hundred?page=${page}${filter}`))
    const pricesOf = async (filter?: string) => {
      const pages = await Promise.all([1, 2, 3, 4].map((page) => rowsOf(page, filter)))
      return pages.flat().map((row) => row.split('€')[1])
    }
    const prices = Array.from({ length: 100 }, (_, i) => `${100 - i}.00`)
    expect(await pricesOf()).toEqual(prices)
    expect(await pricesOf('&language=DE')).toEqual(prices.filter((_, i) => i % 2 === 0))
    expect((await rowsOf(2))[12]).toMatch(/ 1 €40\.00$/)
    expect((await rowsOf(2))[13]).toMatch(/ 3 €39\.00$/)
  })

  it('titles and tiles name the language of a set that is not English', async () => {
    const titleOf = ({ text }: TestResponse) => /<title>(.*?)<\/title>/.exec(text)![1]
    for (const [path, title] of [
      ['/cards/np-2', 'Pikachu · Nintendo Black Star Promos 2 · Cardstall'],
      ['/cards/np-fr-2', 'Pikachu · Nintendo Black Star Promos (French) 2 · Cardstall'],
      ['/sets/np', 'Nintendo Black Star Promos · Cardstall'],
      ['/sets/np-fr', 'Nintendo Black Star Promos (French) · Cardstall'],
      ['/sets/csv9.5c-tw', '太晶慶典 (Chinese TW) · Cardstall'],
      ['/products/kokuen-no-shihaisha-pack', '黒炎の支配者 拡張パック (Japanese) · Cardstall'],
      ['/products/poke-ball-tin', 'Poké Ball Tin · Cardstall'],
    ] as const) {
      const page = await open(path)
      expect(titleOf(page)).toBe(title)
      const heading = /<h1[^>]*>(.*?)(<\/h1>| <span class="collector)/.exec(page.text)![1]!
      expect(heading.replace(/<[^>]+>/g, '')).toBe(
        path.startsWith('/cards') ? 'Pikachu' : title.split(' · ')[0],
      )
    }
    await list(otherShop, cardItem({ card: 'np-fr-2' }))
    for (const path of ['/search?q=nintendo+black+star+promos', '/cards/np-2', '/shops/johto']) {
      expect(readable(await open(path)), path).toContain('Nintendo Black Star Promos (French)')
    }
    expect(readable(await open('/search?q=拡張パック'))).toContain('拡張パック (Japanese)')
  })

  it('the list of sets leads to every set, and shows those of one language', async () => {
    const setsIn = (page: TestResponse) =>
      linksIn(page).flatMap((href) => /^\.\/sets\/([^?]+)$/.exec(href)?.[1] ?? [])
    const idsOf = (sets: typeof SETS) => sets.map(({ id }) => encodeURIComponent(id)).sort()
    expect(setsIn(await open('/sets')).sort()).toEqual(idsOf(SETS))
    const german = SETS.filter(({ language }) => language === 'DE')
    expect(setsIn(await open('/sets?language=DE')).sort()).toEqual(idsOf(german))
    expect(linksIn(await open('/', { accept: 'text/html' }))).toContain('./sets')
  })

  it('a set’s page shows its cards with their lowest prices', async () => {
    await list(shop, cardItem({ price: 0.5 }))
    const page = await open('/sets/sv3')
    const tile = /<a class="tile" href="\.\.\/cards\/sv3-125">.*?<\/a>/.exec(page.text)![0]
    expect(tile).toContain('from €0.50')
  })

  it('a search finds cards, sets and products, and says when there are none', async () => {
    expect(readable(await open('/search?q=obsidian+flames'))).toMatch(
      /\d sets? .*\d sealed product/,
    )
    expect(linksIn(await open('/search?q=charizard'))).toContain('./cards/sv3-125')
    expect(readable(await open('/search?q=xqzwv'))).toContain('Nothing matches “xqzwv”')
    expect((await open('/search')).headers.location).toBe('./')
    for (const q of ['%00', '%ED%A0%80', '%F0%9F%94%A5'.repeat(300), "a'--", '%25']) {
      expect((await open(`/search?q=${q}`)).status).toBeLessThan(500)
    }
  })

  it('the names of a card and its set have their language, by which browsers select glyphs and voices', async () => {
    for (const [id, lang, edition] of [
      ['sv3-jp-125', ' lang="ja"', 'Japanese'],
      ['csv9.5c-tw-001', ' lang="zh-TW"', 'Chinese TW'],
      ['swsh9-de-9', ' lang="de"', 'German'],
      ['sv3-125', '', undefined],
    ] as const) {
      const { body } = await shop.get(`/v1/cards/${id}`)
      const { name, set } = body.data
      const setName = edition ? `<span${lang}>${set.name}</span> (${edition})` : set.name
      const card = (await open(`/cards/${id}`)).text
      expect(card).toContain(`<h1${lang}>${name} `)
      expect(card).toContain(`/sets/${encodeURIComponent(set.id)}">${setName}</a>`)
      expect(card).toContain(`<dt>Set</dt><dd>${setName}</dd>`)
      expect(card).toMatch(
        new RegExp(`<(img|span) class="picture[^>]*?(alt="|hidden="true")[^>]*${lang}`),
      )
      const page = (await open(`/sets/${set.id}`)).text
      expect(page).toContain(`<strong${lang}>${name}<`)
      expect(page).toContain(`<h1>${setName}</h1>`)
      expect((await open(`/sets?language=${set.language}`)).text).toContain(
        `<strong>${setName}</strong>`,
      )
    }
  })

  it('a rarity that its source writes as one word is shown in words', async () => {
    const other = await startTestApp({ template: 'fixture' })
    const rarity = 'SpecialIllustrationRare'
    const card = { ...CARDS[0], id: 'sv3-999', set_id: 'sv3', number: '999', rarity }
    await importRecords(other.operator, [card])
    for (const path of ['/cards/sv3-999', '/sets/sv3']) {
      const { text } = await other.anyone.get(path)
      expect(text).toContain('Special Illustration Rare')
      expect(text).not.toContain('SpecialIllustrationRare')
    }
  })

  it('a set of which the catalog has nothing says so, and is not among the newest sets', async () => {
    const other = await startTestApp({ template: 'fixture' })
    const empty = {
      ...SETS[0],
      id: 'void',
      shortcut: null,
      name: 'Void',
      release_date: '2099-01-01',
    }
    await importRecords(other.operator, [empty])
    const headers = { accept: 'text/html' }
    expect(linksIn(await other.anyone.get('/', { headers }))).not.toContain('./sets/void')
    const page = readable(await other.anyone.get('/sets/void'))
    expect(page).toContain('The catalog has no cards of this set yet.')
    expect(linksIn(await other.anyone.get('/sets'))).toContain('./sets/void')
  })

  it('a search leads to every set and sealed product that it finds, with their number and lowest prices', async () => {
    const other = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
    const crates = Array.from({ length: 60 }, (_, i) => `crate-${i}`)
    await importRecords(other.operator, [
      ...crates.slice(0, 7).map((id) => ({ ...SETS[0], id, name: id, shortcut: null })),
      ...crates.map((slug) => ({ type: 'product', slug, name: slug, category: 'other' })),
    ])
    await list(await other.seller(), productItem({ product: 'crate-3', price: 19.5 }))
    const search = (parameters: string) => other.anyone.get(`/search${parameters}`)
    const first = await search('?q=crate')
    expect(readable(first)).toMatch(/ 7 sets .* All 7 sets 60 sealed products .* All 60 sealed /)
    const tile = /<a class="tile" href="[^"]*products\/crate-3">.*?<\/a>/
    expect(tile.exec(first.text)![0]).toContain('from €19.50')
    for (const [kind, total] of [
      ['sets', 7],
      ['products', 60],
    ] as const) {
      const found: string[] = []
      let parameters = linksIn(first).find((href) => href.endsWith(`kind=${kind}`))
      while (parameters) {
        const { text } = await search(parameters)
        found.push(...[...text.matchAll(/\/crate-\d+"/g)].map(([link]) => link))
        parameters = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
      }
      expect([kind, found.length, new Set(found).size]).toEqual([kind, total, total])
    }
    expect(readable(await search('?q=charizard&kind=products'))).toContain('Nothing matches')
    expect(readable(await search('?q=charizard&kind=x'))).toMatch(/\d card/)
  })

  it('the sitemap lists every set, product, card and shop, and robots.txt names it', async () => {
    const locations = async (path: string) =>
      [...(await open(path)).text.matchAll(/<loc>(.*?)<\/loc>/g)].map(([, url]) => pathOf(url!))
    const parts = await locations('/sitemap.xml')
    const paths = (await Promise.all(parts.map(locations))).flat()
    expect(paths).toEqual(expect.arrayContaining(['/shops/kanto', '/sets/sv3', CARD]))
    expect(paths.filter((path) => path.startsWith('/cards/'))).toHaveLength(CARDS.length)
    expect((await open('/robots.txt')).text).toContain(`Sitemap: ${PUBLIC_URL}/sitemap.xml`)
    expect((await open('/sitemaps/catalog-2.xml')).status).toBe(404)
  })

  it('a page shows the same offers from memory and from the database', async () => {
    const id = (await list(shop, gradedItem(), cardItem({ price: 7, quantity: 5 })))[1]!
    await hold(app.operator, id, 2)
    const small = await open(CARD)
    const noMemory = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
    noMemory.ctx.offers.read = async () => undefined
    const { text } = await noMemory.anyone.get(CARD)
    expect(offersIn(small).length).toBeGreaterThan(1)
    expect(text).toBe(small.text)
  })

  it('visitors whose pages wait for the database leave connections for the APIs', async () => {
    const pages = await app.ctx.begin(async (db) => {
      await db`lock table listings in access exclusive mode`
      const pages = Array.from({ length: 20 }, (_, i) =>
        open(`/shops/${i % 2 ? 'kanto' : 'johto'}`),
      )
      await untilLockWaiters(app.ctx.db)
      expect((await app.operator.get('/operator/v1/accounts')).status).toBe(200)
      return { pages }
    })
    for (const page of await Promise.all(pages.pages)) expect(page.status).toBe(200)
  })

  it('at most 100 public pages of a client address wait for the database, and its further ones get 503', async () => {
    const pages = await app.ctx.begin(async (db) => {
      await db`lock table listings in access exclusive mode`
      const pages = Array.from({ length: 100 }, () => open('/shops/kanto'))
      const { status, headers, text } = await open('/shops/kanto')
      expect([status, headers['retry-after']]).toEqual([503, '2'])
      expect(text).toContain('Too many pages are requested.')
      return { pages }
    })
    for (const page of await Promise.all(pages.pages)) expect(page.status).toBe(200)
    expect((await open('/shops/kanto')).status).toBe(200)
  })

  it('one client address can’t take the places of all visitors, and the style sheet, robots.txt and the sitemap wait for no page', async () => {
    const proxied = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { TRUST_PROXY: '127.0.0.1' },
    })
    const visit = (address: string, path = '/shops/kanto') =>
      proxied.anyone.get(path, { headers: { 'x-forwarded-for': address } })
    const pages = await app.ctx.begin(async (db) => {
      await db`lock table listings in access exclusive mode`
      const pages = Array.from({ length: 100 }, () => visit('192.0.2.1'))
      pages.push(...Array.from({ length: 8 }, () => visit('192.0.2.2')))
      for (const busy of ['192.0.2.1', '192.0.2.2']) expect((await visit(busy)).status).toBe(503)
      pages.push(...Array.from({ length: 42 }, (_, i) => visit(`198.51.100.${i}`)))
      expect((await visit('203.0.113.1')).status).toBe(503)
      for (const path of ['/market.css', '/robots.txt', '/sitemap.xml']) {
        expect([path, (await visit('203.0.113.1', path)).status]).toEqual([path, 200])
      }
      return { pages }
    })
    for (const page of await Promise.all(pages.pages)) expect(page.status).toBe(200)
    expect((await visit('203.0.113.1')).status).toBe(200)
  })

  it('if MARKETPLACE_URL is on another host, the links to the sign-in lead to PUBLIC_URL', async () => {
    const other = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { MARKETPLACE_URL: 'https://market.example' },
    })
    const signIn = `${PUBLIC_URL}/signin`
    for (const path of ['/', '/sets', CARD, '/cards/brs_1', '/cards/nothing-1', '/docs/guides/']) {
      const page = await other.anyone.get(path, { headers: { accept: 'text/html' } })
      const found = linksIn(page).filter((href) => href.endsWith('/signin'))
      expect([path, found]).toEqual([path, [signIn]])
    }
    const headers = { origin: 'https://market.example' }
    const refused = await other.anyone.post('/signin?next=/dashboard/orders', { headers })
    expect(refused.status).toBe(403)
    expect(linksIn(refused)).toContain(`${signIn}?next=%2Fdashboard%2Forders`)
    expect(linksIn(await open('/sets'))).toContain('./signin')
  })

  it('photos are at the address of the page, or at PUBLIC_URL if MARKETPLACE_URL is elsewhere', async () => {
    const card = 'ru1-1'
    const [id] = await list(shop, cardItem({ card }))
    const name = 'a'.repeat(22)
    await app.ctx.db`update listings set photos = ${[name]}::text[] where id = ${id!}`
    await app.ctx.signal('offers')
    const other = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { MARKETPLACE_URL: 'https://market.example' },
    })
    for (const [{ anyone }, root] of [
      [app, '..'],
      [other, PUBLIC_URL],
    ] as const) {
      for (const path of [`/cards/${card}`, '/shops/kanto']) {
        const page = await anyone.get(path)
        expect(linksIn(page)).toContain(`${root}/photos/${name}.jpg`)
        expect(page.text).toContain(`src="${root}/photos/${name}-thumb.jpg"`)
      }
    }
  })

  it('with BUY_URL each offer has a link to it', async () => {
    const other = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { BUY_URL: 'https://shop.example/add?a=1&l={listing}' },
    })
    const [id] = await list(shop, cardItem({ card: 'np-1' }))
    expect(linksIn(await other.anyone.get('/cards/np-1'))).toContain(
      `https://shop.example/add?a=1&l=${id}`,
    )
  })

  it('with PUBLIC_PAGES=false there are no public pages, and / describes the service', async () => {
    const other = await startTestApp({ settings: { PUBLIC_PAGES: 'false' } })
    for (const path of [
      CARD,
      '/sets',
      '/search?q=a',
      '/sitemap.xml',
      '/robots.txt',
      '/market.css',
    ]) {
      expect((await other.anyone.get(path)).status).toBe(404)
    }
    const { text } = await other.anyone.get('/', { headers: { accept: 'text/html' } })
    expect(text).toContain('For sellers’ programs')
    expect(text).not.toContain('search')
  })
})
