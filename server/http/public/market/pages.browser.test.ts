import { beforeAll, describe, expect, it } from 'vitest'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  startBrowserApp,
} from '../../../test/browser.ts'
import {
  cardItem,
  gradedItem,
  list,
  NO_LIMITS,
  productItem,
} from '../../../test/fixtures/listings.ts'
import { findGuides } from '../guides.ts'

const LONG_NAME = 'The Extraordinarily Well-Stocked Card Shop of Littleroot Town and Surroundings'

describe.skipIf(!chromiumPath)('pages without scripts', () => {
  let app: BrowserApp
  beforeAll(async () => {
    const settings = { ...NO_LIMITS, BUY_URL: 'https://shop.example/add?l={listing}' }
    app = await startBrowserApp({ template: 'fixture', settings })
    const reviewed = { rating: 4.5, reviews: 1_234 }
    const shop = await app.seller({ account: { shopName: LONG_NAME, slug: 'long', ...reviewed } })
    await list(shop, cardItem(), gradedItem(), productItem({ description: 'x'.repeat(200) }))
    // The card with the longest set name and number, and an amount that leaves it little room.
    const wide = { card: 'swsh9tg-TG10', condition: 'MP', price: 12_345.67 }
    await list(shop, cardItem(wide))
    await app.seller({ account: { shopName: 'Empty', slug: 'empty' } })
  })

  it('the public pages and the sign-in forms are accessible and fit a phone, with and without offers', async () => {
    const page = await app.open('/', { width: 360, expects: /status of 4/ })
    for (const path of [
      '/',
      '/search',
      '/search?q=charizard',
      '/search?q=nothing-has-this-name',
      '/sets/sv3',
      '/cards/sv3-125',
      '/cards/sv3-125?condition=MT',
      '/cards/brs_1',
      '/sets/brs',
      '/products/obsidian-flames-booster-box',
      '/products/obsidian-flames-etb',
      '/shops/long',
      '/shops/empty',
      '/shops/unknown',
      '/signin',
      '/signin?next=%2Fdashboard%2Forders',
      '/password/forgot',
      '/password/reset?token=unknown',
      '/device',
    ]) {
      await page.goto(app.address + path)
      expect(await page.locator('h1').count(), path).toBe(1)
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      expect(overflow, `${path} is wider than the window`).toBe(0)
      await expectAccessible(page)
    }
  })

  it('pages with offers fit windows of every width, and are tables on wide ones', async () => {
    const page = await app.open('/')
    for (const path of ['/cards/swsh9tg-TG10', '/shops/long']) {
      await page.goto(app.address + path)
      for (const width of [320, 608, 700, 768, 820, 960, 1024, 1100, 1280, 1920]) {
        await page.setViewportSize({ width, height: 900 })
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        expect(overflow, `${path} at ${width} px`).toBe(0)
        const hasHeaders = await page.locator('thead').isVisible()
        if (width < 600 || width > 1200) expect([width, hasHeaders]).toEqual([width, width > 600])
      }
    }
  })

  it('names and the search keep half of the width of a phone with text of twice the size', async () => {
    const page = await app.open('/', { width: 320 })
    for (const path of ['/cards/swsh9tg-TG10', '/shops/long']) {
      await page.goto(app.address + path)
      await page.evaluate("document.documentElement.style.fontSize = '200%'")
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(320)
      const widths = await page
        .locator('tbody th, [type=search], .filters select')
        .evaluateAll((all) => all.map(({ clientWidth }) => clientWidth))
      expect(Math.min(...widths), path).toBeGreaterThan(160)
    }
  })

  it('a screen reader reads the name of a card or sealed product in a list once', async () => {
    const page = await app.open('/search?q=obsidian')
    const links = await page.locator('main').ariaSnapshot()
    expect(links).toMatch(/link "Obsidian Flames Booster Box booster box/)
    expect(links).not.toMatch(/"(.{5,}) \1/)
    await page.goto(`${app.address}/sets/sv3`)
    const tiles = await page.locator('.grid').first().ariaSnapshot()
    expect(tiles).toMatch(/link "Charizard ex 125/)
    expect(tiles).not.toMatch(/- img/)
  })

  it('no guide is wider than the window of a phone or a desktop', async () => {
    const page = await app.open('/docs', { width: 320 })
    const wide: string[] = []
    for (const [name, { type }] of await findGuides(app.ctx.config)) {
      if (type !== 'page') continue
      await page.goto(`${app.address}/docs/guides/${name}`)
      // A lazy picture has no width until it is near the window.
      await page.evaluate(
        "Promise.all([...document.images].map((i) => ((i.loading = 'eager'), i.decode())))",
      )
      for (const width of [320, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        if (overflow !== 0) wide.push(`${name} by ${overflow} px at ${width} px`)
      }
    }
    expect(wide).toEqual([])
  })

  it('code in the text of a guide stands out, and code in a block has no second frame', async () => {
    const page = await app.open('/docs/guides/webhooks')
    const isFramed = async (selector: string) =>
      (await page.evaluate(
        `getComputedStyle(document.querySelector('${selector}')).backgroundColor`,
      )) !== 'rgba(0, 0, 0, 0)'
    expect(await isFramed('p code')).toBe(true)
    expect(await isFramed('pre code')).toBe(false)
  })
})
