import { beforeAll, describe, expect, it } from 'vitest'
import { endSession } from '../../members/sessions.ts'
import type { Client } from '../../test/app.ts'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  holdRequests,
  holdResponse,
  loseResponse,
  startBrowserApp,
} from '../../test/browser.ts'
import { importRecords } from '../../test/catalog-fixture.ts'
import { cardItem, items, list, NO_LIMITS, productItem } from '../../test/fixtures/listings.ts'
import { buy, openShop } from '../../test/fixtures/orders.ts'
import { expireKeys, newShop, readAgain } from '../../test/listings-page.ts'

describe.skipIf(!chromiumPath)('bulk edits and new listings', () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp({ template: 'fixture', settings: NO_LIMITS })
  })

  it('a bulk edit changes no row that was unticked after all matches were selected', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, ...items(35))
    const page = await app.open('/dashboard/listings', { member })
    const rows = page.getByRole('checkbox', { name: 'Select all rows of this page' })
    await rows.check({ force: true })
    await page.getByRole('button', { name: 'Select all 35 that match' }).click()
    await page.getByText('35 listings selected').waitFor()
    await page.getByRole('status').getByText('Selected: 35 listings').waitFor()
    await page
      .getByRole('checkbox', { name: 'Select Charizard ex' })
      .first()
      .uncheck({ force: true })
    await page.getByText('29 listings selected').waitFor()
    await page.getByRole('button', { name: 'Hide' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Hide' }).click()
    await page.getByText('29 listings changed.').waitFor()
    const { body } = await seller.get('/v1/listings?status=hidden')
    expect(body.meta.total).toBe(29)
  })

  it('a change of the search ends the selection of all matches and of the rows that it hides', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, ...items(35), ...Array.from({ length: 31 }, () => productItem()))
    const page = await app.open('/dashboard/listings?q=charizard', { member })
    const search = page.getByRole('searchbox', { name: 'Card, product or reference' })
    const rows = page.getByRole('checkbox', { name: 'Select all rows of this page' })
    await rows.check({ force: true })
    await page.getByRole('button', { name: 'Select all 35 that match' }).click()
    await search.fill('')
    await page.getByText('1–30 of 66 listings').waitFor()
    expect(await page.getByRole('region', { name: 'Selected listings' }).count()).toBe(0)

    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('31–60 of 66 listings').waitFor()
    await rows.check({ force: true })
    await page.getByText('30 listings selected').waitFor()
    await search.fill('booster box')
    await page.getByText('1–30 of 31 listings').waitFor()
    expect(await page.getByRole('region', { name: 'Selected listings' }).count()).toBe(0)
  })

  it('the listings that a bulk edit could not change are counted by reason', async () => {
    const seller = await openShop(app)
    const member = await app.member(seller.accountId)
    const [sold] = await list(seller, cardItem(), productItem())
    await buy(app, [[sold!, 1]])
    const page = await app.open('/dashboard/listings', { member })
    await page
      .getByRole('checkbox', { name: 'Select all rows of this page' })
      .check({ force: true })
    await page.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText(/^1 listing: .*open order/).waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByText('1–1 of 1 listings').waitFor()
  })

  /** Lists a number of booster boxes for 100 euros. */
  const listMany = async (seller: Client, count: number) => {
    const [listing] = await list(seller, productItem({ price: 100 }))
    const now = app.ctx.now()
    await app.ctx.db`
      insert into listings (account_id, product_slug, price_cents, quantity, language, created_at, updated_at)
      select account_id, product_slug, 10000, 1, 'EN', ${now}, ${now}
      from listings
      cross join generate_series(2, ${count}::int)
      where id = ${listing!}
    `
  }

  it('a bulk edit goes on when the list is read again and has fewer pages', async () => {
    const { seller, member } = await newShop(app)
    await listMany(seller, 2_001)
    const page = await app.open('/dashboard/listings?page=67', { member })
    await page
      .getByRole('checkbox', { name: 'Select all rows of this page' })
      .check({ force: true })
    await page.getByRole('button', { name: 'Select all 2,001 that match' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    let calls = 0
    await page.route('**/dashboard/api/listings/bulk', async (route) => {
      const response = await route.fetch()
      if (++calls === 1) {
        await readAgain(page)
        await page.getByText(/of 1,001 listings$/).waitFor()
      }
      await route.fulfill({ response })
    })
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('2,001 listings changed.').waitFor()
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(0)
  })

  it('a search by text says that it finds the newest 10,000 listings, and a bulk edit of it changes no more', async () => {
    const { seller, member } = await newShop(app)
    await listMany(seller, 10_001)
    const page = await app.open('/dashboard/listings?q=booster box', { member })
    await page
      .getByRole('checkbox', { name: 'Select all rows of this page' })
      .check({ force: true })
    await page.getByText(/ of 10,000 newest listings$/).waitFor()
    await page.getByRole('button', { name: 'Select the newest 10,000 that match' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('This concerns 10,000 listings.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('10,000 listings changed.').waitFor()
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(1)
  })

  it('a bulk edit of all that match leaves the listings that are created after they were selected', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, ...items(3))
    const page = await app.open('/dashboard/listings', { member })
    await page.getByRole('checkbox', { name: 'Select Charizard ex' }).first().check({ force: true })
    await page.getByRole('button', { name: 'Select all 3 that match' }).click()
    await page.getByText('3 listings selected').waitFor()
    const created = await list(seller, cardItem(), cardItem())
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('3 listings changed.').waitFor()
    const { body } = await seller.get('/v1/listings')
    expect(new Set(body.data.map(({ id }: { id: number }) => id))).toEqual(new Set(created))
  })

  it('a bulk edit of all that match ends before it changes a listing that an import of the catalog has added to the search', async () => {
    const { seller, member } = await newShop(app)
    const card = (name: string) => {
      const names = { name, number: '601' }
      return { type: 'card', id: 'sv3-601', set_id: 'sv3', ...names }
    }
    await importRecords(app.operator, [card('Kecleon')])
    await list(seller, cardItem({ card: 'sv3-601' }), cardItem(), cardItem())
    const page = await app.open('/dashboard/listings?q=charizard', {
      member,
      expects: /status of 409/,
    })
    const first = page.getByRole('checkbox', { name: 'Select Charizard ex' }).first()
    await first.check({ force: true })
    await page.getByRole('button', { name: 'Select all 2 that match' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await importRecords(app.operator, [card('Charizard (reprint)')])
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('The catalog has changed').waitFor()
    await dialog.getByText('0 of 2 listings are done.').waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByText('3 listings').waitFor()
    expect(await page.getByRole('region', { name: 'Selected listings' }).count()).toBe(0)
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(3)

    await first.check({ force: true })
    await page.getByRole('button', { name: 'Select all 3 that match' }).click()
    await page.getByRole('button', { name: 'Hide' }).click()
    await dialog.getByRole('button', { name: 'Hide' }).click()
    await page.getByText('3 listings changed.').waitFor()
  })

  it('a bulk edit that was refused because of a sign-in to another shop goes on after a sign-in to its own', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, cardItem())
    const page = await app.open('/dashboard/listings', { member, expects: /status of 409/ })
    const signIn = async ({ cookie }: { cookie: string }) => {
      const [name, value] = cookie.split('=') as [string, string]
      await page.context().addCookies([{ name, value, url: app.address }])
    }
    await page.getByRole('checkbox', { name: 'Select Charizard ex' }).check({ force: true })
    await page.getByRole('button', { name: 'Hide' }).click()
    const dialog = page.getByRole('dialog')
    await signIn(await app.member())
    await dialog.getByRole('button', { name: 'Hide' }).click()
    await dialog.getByText('You have signed in as another member').waitFor()
    await signIn(member)
    await dialog.getByRole('button', { name: 'Hide' }).click()
    await page.getByText('1 listing changed.').waitFor()
  })

  /** Opens the dialog that changes the prices of 1,001 listings, which takes two calls. */
  const openBulkEdit = async () => {
    const { seller, member } = await newShop(app)
    await listMany(seller, 1_001)
    // The styles of the first page stay loaded.
    const page = await app.open('/dashboard', {
      member,
      expects: /status of (401|500)|ERR_FAILED/,
    })
    await page.getByRole('link', { name: 'Listings', exact: true }).first().click()
    await page
      .getByRole('checkbox', { name: 'Select all rows of this page' })
      .check({ force: true })
    await page.getByRole('button', { name: 'Select all 1,001 that match' }).click()
    await page.getByRole('button', { name: 'Change prices' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Change in percent').fill('100')
    const prices = async () => {
      const rows = await app.ctx.db<{ euros: number; count: number }[]>`
        select price_cents / 100 as euros, count(*)::int as count
        from listings
        where account_id = ${seller.accountId}
        group by 1
        order by 1
      `
      return rows.map(({ euros, count }) => [euros, count])
    }
    return { page, dialog, member, prices }
  }

  it('a bulk edit that has failed in the middle continues there, and changes nothing twice', async () => {
    const { page, dialog, prices } = await openBulkEdit()
    let calls = 0
    await page.route('**/dashboard/api/listings/bulk', (route) =>
      ++calls === 2 ? route.fulfill({ status: 500, json: {} }) : route.continue(),
    )
    await dialog.getByRole('button', { name: 'Change prices' }).click()
    const done = '1,000 of 1,001 listings are done: the newest ones.'
    await dialog.getByText(`${done} Up to 1 more may be changed already.`).waitFor()
    const bar = dialog.getByRole('progressbar')
    expect(await bar.evaluate((bar) => bar.scrollHeight - bar.clientHeight)).toBe(0)
    await expectAccessible(page)
    expect(await dialog.getByLabel('Change in percent').isEditable()).toBe(false)
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('1,001 listings changed.').waitFor()
    expect(await prices()).toEqual([[200, 1_001]])
    await page.getByRole('region', { name: 'Selected listings' }).waitFor({ state: 'detached' })
  })

  it('a bulk edit that was stopped continues, or leaves nothing selected', async () => {
    for (const choice of ['Continue', 'Close']) {
      const { page, dialog, prices } = await openBulkEdit()
      const response = await holdResponse(page, '**/dashboard/api/listings/bulk')
      await dialog.getByRole('button', { name: 'Change prices' }).click()
      await dialog.getByRole('button', { name: 'Stop' }).click()
      response.release()
      await dialog.getByText('1,000 of 1,001 listings are done: the newest ones.').waitFor()
      await dialog.getByRole('button', { name: choice }).last().click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('region', { name: 'Selected listings' }).waitFor({ state: 'detached' })
      const price = page.getByRole('textbox', { name: /^Price of/ }).first()
      await price.and(page.locator('[value="200.00"]')).waitFor()
      const doubled = [200, choice === 'Continue' ? 1_001 : 1_000]
      expect(await prices()).toEqual(choice === 'Continue' ? [doubled] : [[100, 1], doubled])
    }
  })

  it('a bulk edit whose response was lost is not repeated when its idempotency key has expired', async () => {
    const { page, dialog, prices } = await openBulkEdit()
    await loseResponse(page, '**/dashboard/api/listings/bulk', () => expireKeys(app, page))
    await dialog.getByRole('button', { name: 'Change prices' }).click()
    await dialog.getByText(/may be changed already/).waitFor()
    expect(await prices()).toEqual([
      [100, 1],
      [200, 1_000],
    ])
    expect(await dialog.getByRole('button', { name: 'Continue' }).count()).toBe(0)
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('region', { name: 'Selected listings' }).waitFor({ state: 'detached' })
  })

  it('a bulk edit whose response was lost before the session ended continues after a sign-in, and changes nothing twice', async () => {
    const { page, dialog, member, prices } = await openBulkEdit()
    await loseResponse(page, '**/dashboard/api/listings/bulk', () =>
      endSession(app.ctx, member.cookie.slice(member.cookie.indexOf('=') + 1)),
    )
    await dialog.getByRole('button', { name: 'Change prices' }).click()
    await dialog.getByText('Your session has ended.').waitFor()
    await dialog.getByText('0 of 1,001 listings are done. Up to 1,000 more may be').waitFor()
    const [name, value] = (await app.signInAgain(member)).cookie.split('=') as [string, string]
    await page.context().addCookies([{ name, value, url: app.address }])
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('1,001 listings changed.').waitFor()
    expect(await prices()).toEqual([[200, 1_001]])
  })

  it('a page with a bulk edit that is not complete asks before Back, and then tells how many listings were changed', async () => {
    const { page, dialog, prices } = await openBulkEdit()
    const questions: string[] = []
    let isLeft = false
    page.on('dialog', (question) => {
      questions.push(question.message())
      return isLeft ? question.accept() : question.dismiss()
    })
    const response = await holdResponse(page, '**/dashboard/api/listings/bulk')
    await dialog.getByRole('button', { name: 'Change prices' }).click()
    await dialog.getByRole('button', { name: 'Stop' }).waitFor()
    await page.evaluate('history.back()')
    await expect.poll(() => questions).toHaveLength(1)
    isLeft = true
    await page.evaluate('history.back()')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(questions).toEqual(
      Array(2).fill('Leave this page? The change of the listings would stop half-way.'),
    )
    response.release()
    await page.getByText('1,000 of 1,001 listings are done: the newest ones.').waitFor()
    expect(await prices()).toEqual([
      [100, 1],
      [200, 1_000],
    ])
  })

  it('the search for an item to list says how many the catalog has if it shows only the first ones, and the form keeps its input if the marketplace hides the item', async () => {
    const records = Array.from({ length: 8 }, (_, i) => ({
      ...{ type: 'product', slug: `crate-${i}`, name: `Crate ${i}`, category: 'other' },
    }))
    await importRecords(app.operator, records)
    const { member } = await newShop(app)
    const page = await app.open('/dashboard/listings/new?q=crate', { member, width: 360 })
    const status = page.getByRole('status').filter({ hasText: 'The first 6 of 8 items.' })
    await status.waitFor()
    const found = page.getByRole('button', { name: /^Crate/ })
    expect(await found.count()).toBe(6)
    await expectAccessible(page)
    await found.first().click()
    const price = page.getByRole('textbox', { name: 'Price' })
    await price.fill('7')
    const products = Object.fromEntries(records.map(({ slug }) => [slug, false]))
    await app.operator.put('/operator/v1/catalog/visibility', { payload: { products } })
    const read = page.waitForResponse('**/dashboard/api/listings/catalog?*')
    await readAgain(page)
    expect((await (await read).json()).meta.total).toBe(0)
    await page.evaluate('document.title')
    expect(await price.inputValue()).toBe('7')
  })

  it('a search text is no longer than the service accepts', async () => {
    const { member } = await newShop(app)
    const page = await app.open('/dashboard/listings', { member })
    for (const [path, max] of [
      ['listings', 100],
      ['listings/new', 100],
      ['orders', 200],
    ] as const) {
      await page.goto(`${app.address}/dashboard/${path}`)
      const search = page.getByRole('searchbox')
      await search.focus()
      await page.keyboard.insertText('x'.repeat(300))
      await page.getByText(/no (order|listing) matches|nothing matches/i).waitFor()
      expect((await search.inputValue()).length).toBe(max)
    }
  })

  it('a card is found in the catalog with its picture and listed', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/new', { member })
    await page.getByRole('searchbox').fill('charizard')
    await page
      .getByRole('button', { name: /Charizard ex/ })
      .first()
      .click()
    await page.getByRole('textbox', { name: 'Price' }).fill('7.25')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'List it' }).click()
    await page.getByRole('row', { name: /Charizard ex/ }).waitFor()
    expect((await seller.get('/v1/listings')).body.data).toMatchObject([
      { price: 7.25, quantity: 1, condition: 'NM' },
    ])
  })

  it('a new listing is confirmed with a warning if no shipping option of the shop is enabled', async () => {
    const page = await app.open('/dashboard/listings/new?q=charizard', {
      member: await app.member(),
    })
    await page
      .getByRole('button', { name: /Charizard ex/ })
      .first()
      .click()
    await page.getByRole('textbox', { name: 'Price' }).fill('7.25')
    await page.getByRole('button', { name: 'List it' }).click()
    await page.getByText('was listed. No shipping option of this account is enabled').waitFor()
  })

  it('a new listing whose response was lost is listed again neither with another price nor a day later, and the message says that it may have been saved', async () => {
    const { seller, member } = await newShop(app)
    const page = await app.open('/dashboard/listings/new?q=charizard', {
      member,
      expects: /ERR_FAILED|status of 422/,
    })
    await page
      .getByRole('button', { name: /Charizard ex/ })
      .first()
      .click()
    const price = page.getByRole('textbox', { name: 'Price' })
    await loseResponse(page, '**/dashboard/api/listings')
    await price.fill('7')
    await price.press('Enter')
    await page.getByText('The connection to the service was lost. Try again').waitFor()
    const warning = page.getByText('An earlier attempt may have been saved.')
    await price.fill('8')
    await price.press('Enter')
    await warning.waitFor()
    await price.fill('7,')
    await price.press('Enter')
    await warning.waitFor({ state: 'detached' })
    await expireKeys(app, page)
    await price.fill('7')
    await price.press('Enter')
    await warning.waitFor()
    expect((await seller.get('/v1/listings')).body.data).toMatchObject([{ price: 7 }])
  })

  it('a card that is chosen while another text is searched stays chosen', async () => {
    const { member } = await newShop(app)
    const page = await app.open('/dashboard/listings/new?q=charizard', { member })
    const card = page.getByRole('button', { name: /Charizard ex/ }).first()
    await card.waitFor()
    const request = await holdRequests(page, '**/dashboard/api/listings/catalog?*')
    await page.getByRole('searchbox').fill('pikachu')
    await request.sent
    await card.click()
    await page.getByRole('button', { name: 'List it' }).waitFor()
    request.release()
    await page.unrouteAll({ behavior: 'wait' })
    await page.reload()
    await page.getByRole('button', { name: 'List it' }).waitFor()
    await page.getByRole('heading', { name: 'Charizard ex' }).waitFor()
  })

  it('the form of a new listing asks before the search leads to another card, whose form is empty and in its own language', async () => {
    const { member } = await newShop(app)
    const page = await app.open('/dashboard/listings/new?q=pikachu&item=np-fr-2', { member })
    const price = page.getByRole('textbox', { name: 'Price' })
    const language = page.getByRole('combobox', { name: 'Language' })
    await price.fill('7')
    expect(await language.inputValue()).toBe('FR')
    await page.locator('h2[lang="fr"]').waitFor()
    for (const answer of ['dismiss', 'accept'] as const) {
      await page.keyboard.press('Control+K')
      await page.getByRole('dialog', { name: 'Search' }).waitFor()
      await page.keyboard.type('pikachu')
      await Promise.all([
        page.waitForEvent('dialog').then((asked) => asked[answer]()),
        page.getByRole('menuitem', { name: /Promos 2 · EN/ }).click(),
      ])
      expect(await price.inputValue()).toBe(answer === 'dismiss' ? '7' : '')
      expect(await language.inputValue()).toBe(answer === 'dismiss' ? 'FR' : 'EN')
    }
  })

  it('items of the catalog that would look the same show their language, or their id', async () => {
    const { member } = await newShop(app)
    const page = await app.open('/dashboard/listings/new?q=pikachu+nintendo', { member })
    const detailsOf = async () => {
      await page.locator('.catalog-items').waitFor()
      return (await page.locator('.catalog-items .help').allTextContents()).sort()
    }
    const promos = 'Nintendo Black Star Promos'
    expect(await detailsOf()).toEqual([`${promos} 10`, `${promos} 2 · EN`, `${promos} 2 · FR`])
    await page.getByRole('button', { name: `${promos} 2 · FR` }).click()
    await page.getByText(`${promos} 2 · FR`).waitFor()
    await page.goto(`${app.address}/dashboard/listings/new?q=celebrations+mini+tin`)
    expect(await detailsOf()).toEqual([
      'Celebrations · celebrations-mini-tin-1',
      'Celebrations · celebrations-mini-tin-2',
    ])
    await page.keyboard.press('Control+K')
    const search = page.getByRole('dialog', { name: 'Search' })
    await search.getByRole('menuitem', { name: 'Payouts' }).waitFor()
    await page.keyboard.type('pikachu nintendo')
    await search
      .getByRole('menuitem')
      .filter({ hasText: `${promos} 2 · FR` })
      .click()
    await page.getByRole('button', { name: 'List it' }).waitFor()
    await page.getByText(`${promos} 2 · FR`).waitFor()
  })

  it('an item that the search offers to sell opens its form, however long its name is', async () => {
    const { member } = await newShop(app)
    const name = 'Team Galactic’s Invention Technical Machine G with a Grey Felt Hat'
    const product = { type: 'product', slug: 'long', name, category: 'other', set_id: 'sv3' }
    await app.operator.post('/operator/v1/catalog/import', {
      payload: JSON.stringify(product),
      headers: { 'content-type': 'application/x-ndjson' },
    })
    const page = await app.open('/dashboard', { member })
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.keyboard.press('Control+K')
    const search = page.getByRole('dialog', { name: 'Search' })
    await search.getByRole('menuitem', { name: 'Payouts' }).waitFor()
    await page.keyboard.type('grey felt hat')
    await search.getByRole('menuitem', { name }).click()
    await page.getByRole('button', { name: 'List it' }).waitFor()
  })

  it('the search shows no result of the former text, and says why it has failed', async () => {
    const { member } = await newShop(app)
    const page = await app.open('/dashboard', { member, expects: /status of 429/ })
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.keyboard.press('Control+K')
    const search = page.getByRole('dialog', { name: 'Search' })
    await search.getByRole('menuitem', { name: 'Payouts' }).waitFor()
    await page.keyboard.type('charizard')
    await search.getByRole('menuitem', { name: 'Charizard ex' }).first().waitFor()
    const request = await holdRequests(page, '**/dashboard/api/search?*')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('pikachu')
    await search.getByRole('status').getByText('Searching…').waitFor()
    request.release()
    await search.getByRole('menuitem', { name: 'Pikachu' }).first().waitFor()
    await page.unrouteAll()

    const message = 'There are too many requests.'
    await page.route('**/dashboard/api/search?*', (route) =>
      route.fulfill({ status: 429, json: { error: { type: 'rate_limited', message } } }),
    )
    await page.keyboard.type(' ex')
    await search.getByRole('status').getByText(message).waitFor()
  })
})
