import { beforeAll, describe, expect, it } from 'vitest'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  startBrowserApp,
} from '../../test/browser.ts'
import { advance, cardItem, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import {
  act,
  LETTER,
  openShop,
  operatorOption,
  sellEach,
  ship,
} from '../../test/fixtures/orders.ts'

describe.skipIf(!chromiumPath)('the page Overview', { timeout: 120_000 }, () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp({ template: 'fixture', settings: NO_LIMITS })
  })

  it('a new shop sees zeros, and no notice', async () => {
    const { accountId } = await openShop(app)
    const page = await app.open('/dashboard', { member: await app.member(accountId) })
    await page.getByText('Everything is shipped.').waitFor()
    expect(await page.getByRole('region', { name: 'Notices' }).count()).toBe(0)
    expect(await page.locator('.notice').count()).toBe(0)
    await expectAccessible(page)
  })

  it('a payout setup is shown as missing until it is verified, also without an order', async () => {
    const { accountId } = await app.seller({ account: { payoutVerified: false } })
    const page = await app.open('/dashboard', { member: await app.member(accountId) })
    const missing = page.getByText('Your payout setup is missing')
    await missing.waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Enter the bank account' }).click()
    await page.getByLabel('IBAN').waitFor()
    const payload = { payout_verified: true }
    await app.operator.patch(`/operator/v1/accounts/${accountId}`, { payload })
    await page.goto(`${app.address}/dashboard`)
    await page.getByText('Everything is shipped.').waitFor()
    expect(await missing.count()).toBe(0)
  })

  it('the Overview and the listings of a suspended shop say that buyers don’t see it, and lead to the orders to ship', async () => {
    const member = await app.member()
    await app.operator.patch(`/operator/v1/accounts/${member.accountId}`, {
      payload: { api_access: 'suspended' },
    })
    const page = await app.open('/dashboard', { member })
    for (const path of ['', '/listings']) {
      await page.goto(`${app.address}/dashboard${path}`)
      await page.getByText('Your shop is suspended:').waitFor()
      await expectAccessible(page)
    }
    await page.getByRole('link', { name: 'ship your orders' }).click()
    await page.waitForURL('**/dashboard/orders?status=pending')
  })

  it('the Overview and the listings say that nobody can order, until a shipping option is enabled', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard', { member })
    for (const path of ['', '/listings']) {
      await page.goto(`${app.address}/dashboard${path}`)
      await page.getByText('Nobody can order from your shop:').waitFor()
      await expectAccessible(page)
    }
    await page.getByRole('link', { name: 'Shipping options' }).click()
    await page.waitForURL('**/dashboard/settings/shipping')
    const payload = { shipping_options: [operatorOption(LETTER)] }
    await member.put('/dashboard/api/settings/shipping-options', { payload })
    await page.goto(`${app.address}/dashboard`)
    await page.getByText('Everything is shipped.').waitFor()
    expect(await page.getByText('Nobody can order').count()).toBe(0)
  })

  it('a deadline that is over is in the past tense: of the answer to a dispute, and of a former secret', async () => {
    const shop = await openShop(app)
    const [order] = await sellEach(app, shop, cardItem())
    await ship(shop, order!, { tracking_code: 'CODE' })
    await act(app, order!, 'dispute', { reason: 'damaged', message: 'A crease' })
    await app.operator.post(`/operator/v1/accounts/${shop.accountId}/keys/${shop.keyId}/rotate`)
    const page = await app.open('/dashboard', { member: await app.member(shop.accountId) })
    await page.getByText('1 dispute to answer. The first answer is due by').waitFor()
    await page.getByText('Its former secret works until').waitFor()
    await advance(app.operator, 6 * 24 * 60 * 60)
    await page.reload()
    await page.getByText('1 dispute to answer. The first answer was due by').waitFor()
    await page.getByText('Its former secret worked until').waitFor()
  })

  it('a seller sees the orders to ship and the sales of each day, also on a phone with text of twice the size, and dismisses a notice, also one that was dismissed elsewhere', async () => {
    const shop = await openShop(app)
    await sellEach(app, shop, cardItem({ price: 12.5 }), cardItem({ price: 7.5 }))
    await app.operator.post(`/operator/v1/accounts/${shop.accountId}/keys/${shop.keyId}/rotate`)
    // Its address is private, so that the service never asks it.
    const [listing] = await list(shop, cardItem({ photo_urls: ['http://localhost:1/front.jpg'] }))
    await app.runPhotos()
    const member = await app.member(shop.accountId)
    const page = await app.open('/dashboard', { member, expects: /status of 404/ })
    const toShip = page.getByRole('region', { name: 'Orders to ship' })
    await toShip.getByText('1', { exact: true }).waitFor()
    await page.getByText('€20.00').first().waitFor()
    await page.getByText('Figures by day').click()
    const figures = page.getByRole('table', { name: 'Sales and payouts by day' })
    await figures.getByRole('columnheader', { name: 'Items sold' }).waitFor()
    await figures.getByRole('row', { name: /^Total 2 €20\.00/ }).waitFor()
    await page.setViewportSize({ width: 390, height: 900 })
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    const bar = page.locator('.side-top > *')
    const heights = await bar.evaluateAll((all) => all.map(({ clientHeight }) => clientHeight))
    // One line each.
    expect(Math.max(...heights)).toBeLessThan(100)
    await page.evaluate("document.documentElement.style.fontSize = ''")
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.emulateMedia({ forcedColors: 'active' })
    // Not the colours alone tell the bars of sales and payouts apart.
    const looks = await page.evaluate(`
      [...document.querySelectorAll('.legend :is(.sold, .paid)')].map((name) => {
        const { backgroundColor, borderTopStyle } = getComputedStyle(name, '::before')
        return [backgroundColor === getComputedStyle(document.body).backgroundColor, borderTopStyle]
      })
    `)
    expect(looks).toEqual([
      [false, 'none'],
      [expect.any(Boolean), 'solid'],
    ])
    await page.emulateMedia({ forcedColors: null })
    await page.getByText('An API key was rotated').waitFor()
    await page.getByText(`The last one, of listing ${listing}:`).waitFor()
    await expectAccessible(page)
    const rotated = page.getByRole('listitem').filter({ hasText: 'An API key was rotated' })
    await rotated.getByRole('button', { name: 'Dismiss the notice' }).press('Enter')
    await rotated.waitFor({ state: 'detached' })
    // The keyboard keeps its place: the button is gone with its notice.
    await page.locator('h1:focus').waitFor()

    const [photo] = (await member.get('/dashboard/api/notices')).body.data
    await member.delete(`/dashboard/api/notices/${photo.id}`)
    const failed = page.getByRole('listitem').filter({ hasText: 'The last one, of listing' })
    await failed.getByRole('button', { name: 'Dismiss the notice' }).click()
    await failed.waitFor({ state: 'detached' })
    expect(await page.getByText('There is no such notice.').count()).toBe(0)
  })

  it('more notices than fit on a page are on the next ones', async () => {
    const member = await app.member()
    const { id } = (await member.get('/dashboard/api/me')).body.data.account
    await app.ctx.db`
      insert into notices (account_id, kind, subject_id, data, created_at)
      select
        ${id}::bigint, 'endpoint_disabled', n, jsonb_build_object('url', 'https://a.example/' || n, 'reason', 'It failed.'), ${app.ctx.now()}
      from generate_series(1, 31) n
    `
    const page = await app.open('/dashboard', { member })
    await page.getByText('1–30 of 31 notices').waitFor()
    expect(await page.getByText('https://a.example/1.').count()).toBe(0)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('https://a.example/1.').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Dismiss the notice' }).click()
    await page.getByText('https://a.example/31.').waitFor()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'detached' })

    // During an update a process of the former version may respond, whose notices have no pages.
    await page.route('**/dashboard/api/notices*', (route) => route.fulfill({ json: { data: [] } }))
    await page.reload()
    await page.getByText('Everything is shipped.').waitFor()
  })

  it('an order that was placed 47 hours ago is a day old, and is not called that of yesterday', async () => {
    const shop = await openShop(app)
    await sellEach(app, shop, cardItem())
    await advance(app.operator, 47 * 60 * 60)
    const page = await app.open('/dashboard', { member: await app.member(shop.accountId) })
    await page.getByText('The oldest was placed 1 day ago.').waitFor()
  })
})
