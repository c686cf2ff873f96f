import type { Locator, Response } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  holdRequests,
  holdResponse,
  loseResponse,
  REMOVE_NAVIGATION,
  startBrowserApp,
  tabTo,
} from '../../test/browser.ts'
import { importRecords } from '../../test/catalog-fixture.ts'
import { cardItem, items, list, productItem } from '../../test/fixtures/listings.ts'
import { buy, cancel, openShop } from '../../test/fixtures/orders.ts'
import { expireKeys, newShop, readAgain } from '../../test/listings-page.ts'

/** A person's steps with checks of accessibility between them, on a busy machine. */
const TIMEOUT_MS = 180_000

describe.skipIf(!chromiumPath)('the table and the form of listings', () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp({ template: 'fixture' })
  })

  it(
    'listings are found, changed in place and changed in bulk',
    async () => {
      const { seller, member } = await newShop(app)
      const [card] = await list(seller, cardItem({ price: 10 }), productItem({ price: 100 }))
      const page = await app.open('/dashboard/listings', { member, expects: /status of 422/ })
      await page.getByRole('row', { name: /Charizard ex/ }).waitFor()
      await expectAccessible(page)

      const price = page.getByRole('textbox', { name: 'Price of Charizard ex' })
      await price.fill('0')
      await price.press('Enter')
      await page.getByText('The price field must be at least 0.01.').waitFor()
      expect(await price.inputValue()).toBe('0')
      await price.fill('12,50')
      const [saved] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === 'PATCH'),
        price.press('Enter'),
      ])
      expect(saved.status()).toBe(200)
      await page.getByRole('button', { name: 'Edit Charizard ex' }).click()
      const amount = page.getByRole('textbox', { name: 'Price', exact: true })
      const unit = `[id="${await amount.getAttribute('aria-describedby')}"]`
      expect(await page.locator(unit).textContent()).toBe('€')
      const reference = page.getByRole('textbox', { name: 'Reference (optional)', exact: true })
      await reference.fill('SHELF 1')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('row', { name: /SHELF 1/ }).waitFor()
      expect((await member.get(`/dashboard/api/listings?q=SHELF 1`)).body.data).toMatchObject([
        { id: card, price: 12.5, quantity: 3, status: 'active' },
      ])

      await page.getByRole('searchbox', { name: 'Card, product or reference' }).fill('booster box')
      await page.getByRole('row', { name: /Charizard/ }).waitFor({ state: 'detached' })
      await page.goto(`${app.address}/dashboard/listings`)
      await page
        .getByRole('checkbox', { name: 'Select all rows of this page' })
        .check({ force: true })
      await page.getByRole('button', { name: 'Change prices' }).click()
      await expectAccessible(page)
      await page.getByRole('dialog').getByRole('button', { name: 'Change prices' }).click()
      await page.getByText('2 listings changed.').waitFor()
      const { body } = await seller.get('/v1/listings')
      expect(body.data.map(({ price }: { price: number }) => price)).toEqual([95, 11.88])
    },
    TIMEOUT_MS,
  )

  it('keys after Ctrl K reach the search while its code is loaded, and the unfinished value of the field that had the focus stays unsaved', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, cardItem({ price: 10, quantity: 3 }))
    const page = await app.open('/dashboard/listings', { member, isNew: true })
    const saves: string[] = []
    page.on('request', (request) => request.method() === 'PATCH' && saves.push(request.url()))
    const price = page.getByRole('textbox', { name: 'Price of Charizard ex' })
    await price.fill('1')
    const code = await holdRequests(page, '**/dashboard/assets/search-*.js')
    await page.keyboard.press('Control+K')
    await code.sent
    await page.keyboard.type('to ship')
    code.release()
    const dialog = page.getByRole('dialog', { name: 'Search' })
    await dialog.getByRole('menuitem', { name: 'Orders to ship' }).waitFor()
    await page.keyboard.type('x')
    expect(await dialog.getByRole('textbox').inputValue()).toBe('to shipx')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await price.and(page.locator(':focus')).waitFor()
    expect(await price.inputValue()).toBe('1')
    expect(saves).toEqual([])
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH')
    await page.keyboard.press('Tab')
    expect((await saved).status()).toBe(200)
  })

  it('the form of a listing saves only the fields that were changed in it', async () => {
    const { seller, member } = await newShop(app)
    const [id] = await list(seller, cardItem({ price: 10, quantity: 5 }))
    const page = await app.open(`/dashboard/listings?listing=${id}`, { member })
    await page.getByRole('textbox', { name: 'Description' }).fill('From my binder')
    const meanwhile = { price: 20, quantity: 2, status: 'hidden' }
    await seller.patch(`/v1/listings/${id}`, { payload: meanwhile })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('was saved.').waitFor()
    expect((await member.get(`/dashboard/api/listings/${id}`)).body.data).toMatchObject({
      ...meanwhile,
      description: 'From my binder',
    })
  })

  it(
    'the table and the form of a listing read a price alike, and refuse an empty one, one that can mean two, and a stock that is not a whole number',
    async () => {
      const { seller, member } = await newShop(app)
      await list(seller, cardItem({ price: 10, quantity: 5 }))
      const page = await app.open('/dashboard/listings', { member, expects: /status of 422/ })
      page.on('dialog', (dialog) => dialog.accept())
      const edit = page.getByRole('button', { name: 'Edit Charizard ex' })
      const inTable = (name: string) => ({
        enter: async (text: string) => {
          const field = page.getByRole('textbox', { name: `${name} of Charizard ex` })
          await field.fill(text)
          await field.press('Enter')
        },
        close: () => page.reload(),
      })
      const inForm = (name: string) => ({
        enter: async (text: string) => {
          if ((await page.getByRole('dialog').count()) === 0) await edit.click()
          await page.getByRole('dialog').getByRole('textbox', { name }).fill(text)
          await page.getByRole('button', { name: 'Save' }).click()
        },
        close: async () => {
          await page.getByRole('button', { name: 'Cancel' }).click()
          await page.getByRole('dialog').waitFor({ state: 'detached' })
        },
      })
      for (const place of [inTable, inForm]) {
        await edit.waitFor()
        const [price, stock] = [place('Price'), place('Stock')]
        await price.enter('1,234')
        await page.getByText('“1,234” can mean two numbers. Write 1234.00 or 1.23.').waitFor()
        await price.enter('1.234')
        await page.getByText('“1.234” can mean two numbers. Write 1234.00 or 1.23.').waitFor()
        await price.enter('1.005')
        await page.getByText('“1.005” can mean two numbers. Write 1005.00 or 1.01.').waitFor()
        for (const text of ['twelve', '12€50', '1EUR5', '12 50']) {
          await price.enter('1.234')
          await page.getByText('“1.234” can mean two numbers.').waitFor()
          await price.enter(text)
          await page.getByText('Write a number such as 12.50.').waitFor()
        }
        await price.enter('')
        await page.getByText('The price field must not be empty.').waitFor()
        await price.close()
        await stock.enter(' ')
        await page.getByText('The quantity field must not be empty.').waitFor()
        for (const text of ['1,000', '1.5', '12,50']) {
          await stock.enter(text)
          await page.getByText('Write a whole number without separators, such as 12.').waitFor()
        }
        await stock.enter('-5')
        await page.getByText('The stock would be -5 units: only 5 are in stock.').waitFor()
        await stock.close()
        for (const [text, value] of [
          ['12,50', 12.5],
          ['€ 1.234,50', 1234.5],
          ['12,- €', 12],
          ['1 234', 1234],
          ['1,234.5', 1234.5],
        ] as const) {
          const [saved] = await Promise.all([
            page.waitForResponse((response) => response.request().method() === 'PATCH'),
            price.enter(text),
          ])
          expect((await saved.json()).data).toMatchObject({ price: value, quantity: 5 })
          await page.getByRole('dialog').waitFor({ state: 'detached' })
        }
      }
    },
    TIMEOUT_MS,
  )

  it('a price that is typed while the former one is saved stays in its field and is saved next', async () => {
    const { seller, member } = await newShop(app)
    const [id] = await list(seller, cardItem({ price: 10 }))
    const page = await app.open('/dashboard/listings', { member })
    const request = await holdRequests(page, `**/dashboard/api/listings/${id}`)
    const price = page.getByRole('textbox', { name: 'Price of Charizard ex' })
    await price.fill('12')
    await price.press('Enter')
    await request.sent
    await price.fill('13')
    await page.getByRole('textbox', { name: 'Stock of Charizard ex' }).focus()
    request.release()
    await price.and(page.locator('[value="13.00"]')).waitFor()
    expect((await member.get(`/dashboard/api/listings/${id}`)).body.data.price).toBe(13)
  })

  it('a stock that is typed in the table stays when the list is read again, and is saved as a difference to the stock that was shown', async () => {
    const { seller, member } = await newShop(app)
    const [id] = await list(seller, cardItem({ price: 10, quantity: 5 }))
    const page = await app.open('/dashboard/listings', { member })
    const stock = page.getByRole('textbox', { name: 'Stock of Charizard ex' })
    await stock.fill('77')
    await seller.patch(`/v1/listings/${id}`, { payload: { price: 20, quantity: 3 } })
    await readAgain(page)
    await page
      .getByRole('textbox', { name: 'Price of Charizard ex' })
      .and(page.locator('[value="20.00"]'))
      .waitFor()
    expect(await stock.inputValue()).toBe('77')
    await Promise.all([page.waitForResponse('**/api/listings/*'), stock.press('Enter')])
    expect((await seller.get('/v1/listings')).body.data[0].quantity).toBe(75)
  })

  it('a row with a value that is not saved stays when it leaves the page of the list, until the value is saved or dropped', async () => {
    const { seller, member } = await newShop(app)
    const ids = await list(seller, ...items(30))
    const page = await app.open('/dashboard/listings', {
      member,
      expects: /ERR_INTERNET_DISCONNECTED/,
    })
    const ofLast = (control: string) =>
      page.getByRole('textbox', { name: new RegExp(`^${control} of .* listing ${ids[0]}$`) })
    const price = ofLast('Price')
    const enter = async (text: string) => {
      await price.fill(text)
      await price.press('Enter')
    }
    const isKept = async (text: string, message: string) => {
      await page.getByRole('row').filter({ hasText: message }).getByText('No longer').waitFor()
      expect(await price.inputValue()).toBe(text)
    }
    await enter('1,234')
    await list(seller, cardItem())
    await readAgain(page)
    await page.getByText('1–30 of 31 listings').waitFor()
    await isKept('1,234', '“1,234” can mean two numbers.')
    await expectAccessible(page)

    await page.context().setOffline(true)
    await enter('88.88')
    await page.getByText('The connection to the service was lost.').waitFor()
    await list(seller, cardItem())
    await page.context().setOffline(false)
    await page.getByText('1–30 of 32 listings').waitFor()
    await isKept('88.88', 'The connection to the service was lost.')
    const question = page.waitForEvent('dialog')
    await Promise.all([
      question.then((dialog) => dialog.dismiss()),
      page.getByRole('link', { name: 'Next' }).click(),
    ])
    expect(new URL(page.url()).search).toBe('')
    await price.press('Enter')
    await price.waitFor({ state: 'detached' })
    expect((await member.get(`/dashboard/api/listings/${ids[0]}`)).body.data.price).toBe(88.88)

    await page.goto(`${app.address}/dashboard/listings?page=2`)
    await enter('1,234')
    for (const id of ids.slice(0, 2)) await seller.delete(`/v1/listings/${id}`)
    await readAgain(page)
    await page.getByText('30 listings', { exact: true }).waitFor()
    await isKept('1,234', '“1,234” can mean two numbers.')
    await price.press('Escape')
    await page.getByText('1–30 of 30 listings').waitFor()
  })

  it.each(['a read of the list', 'a search', 'the save of a price'])(
    'a stock that is saved while %s is under way stays in its field when that older response arrives',
    async (older) => {
      const { seller, member } = await newShop(app)
      const [id] = await list(seller, cardItem({ price: 10, quantity: 2 }))
      const page = await app.open('/dashboard/listings', { member })
      const stock = page.getByRole('textbox', { name: 'Stock of Charizard ex' })
      const price = page.getByRole('textbox', { name: 'Price of Charizard ex' })
      await stock.waitFor()
      const response = await holdResponse(
        page,
        `**/dashboard/api/listings${older === 'the save of a price' ? `/${id}` : '?*'}`,
      )
      if (older === 'a read of the list') await readAgain(page)
      else if (older === 'a search') await page.getByRole('searchbox').fill('charizard')
      else {
        await price.fill('12')
        await price.press('Enter')
      }
      await response.ready
      const read = await holdRequests(page, '**/dashboard/api/listings?*')
      await stock.fill('5')
      /** The response to a save of the stock. That to the save of the price can arrive at any time. */
      const saved = (response: Response) =>
        response.url().endsWith(`/dashboard/api/listings/${id}`) &&
        response.request().postData()?.includes('quantity_delta') === true
      await Promise.all([page.waitForResponse(saved), stock.press('Enter')])
      response.release()
      // The list is read again, because either response may be older than the other.
      await read.sent
      await page.evaluate('document.title')
      expect(await stock.inputValue()).toBe('5')
      // A stock is saved as the difference to the one that is shown.
      await stock.fill('6')
      await Promise.all([page.waitForResponse(saved), stock.press('Enter').then(read.release)])
      expect((await member.get(`/dashboard/api/listings/${id}`)).body.data.quantity).toBe(6)
    },
  )

  it('a stock whose save got no response is saved once by another attempt, and a unit that is sold meanwhile stays sold', async () => {
    const seller = await openShop(app)
    const [id] = (await list(seller, cardItem({ quantity: 2 }))) as [number]
    const member = await app.member(seller.accountId)
    const present = async () =>
      (await member.get(`/dashboard/api/listings/${id}`)).body.data.quantity
    for (const form of ['', `?listing=${id}`]) {
      await member.patch(`/dashboard/api/listings/${id}`, { payload: { quantity: 2 } })
      const page = await app.open(`/dashboard/listings${form}`, { member, expects: /ERR_FAILED/ })
      const stock = form
        ? page.getByRole('dialog').getByRole('textbox', { name: 'Stock' })
        : page.getByRole('textbox', { name: 'Stock of Charizard ex' })
      await stock.fill('4')
      await buy(app, [[id, 1]])
      await page.route(`**/dashboard/api/listings/${id}`, async (route) => {
        await route.fetch()
        await route.abort()
      })
      await stock.press('Enter')
      await page.getByText('The connection to the service was lost. Try again').waitFor()
      expect(await present()).toBe(3)
      await page.unrouteAll()
      await buy(app, [[id, 1]])
      await stock.press('Enter')
      await stock
        .and(page.locator('[value="2"]'))
        .or(page.getByText('was saved.'))
        .first()
        .waitFor()
      expect(await present()).toBe(2)
    }
  })

  it.each([
    ['the table', ''],
    ['the form', '?listing='],
  ])(
    'a stock whose save got no response is saved by %s neither again a day later nor with another value, and the message says that it may have been saved',
    async (_, form) => {
      const { seller, member } = await newShop(app)
      const [id] = await list(seller, cardItem({ quantity: 2 }))
      for (const again of ['a day later', '6', ...(form ? ['2'] : [])]) {
        await member.patch(`/dashboard/api/listings/${id}`, { payload: { quantity: 2 } })
        const page = await app.open(`/dashboard/listings${form && `${form}${id}`}`, {
          member,
          expects: /ERR_FAILED|status of 422/,
        })
        const stock = form
          ? page.getByRole('dialog').getByRole('textbox', { name: 'Stock' })
          : page.getByRole('textbox', { name: 'Stock of Charizard ex' })
        await stock.fill('5')
        await loseResponse(page, `**/dashboard/api/listings/${id}`)
        await stock.press('Enter')
        await page.getByText('The connection to the service was lost. Try again').waitFor()
        await member.patch(`/dashboard/api/listings/${id}`, { payload: { quantity: 4 } })
        if (again === 'a day later') await expireKeys(app, page)
        else await stock.fill(again)
        await stock.press('Enter')
        await page.getByText('An earlier attempt may have been saved.').waitFor()
        if (!form) await stock.and(page.locator('[value="4"]')).waitFor()
        const { body } = await member.get(`/dashboard/api/listings/${id}`)
        expect(body.data.quantity).toBe(4)
      }
    },
  )

  it('a stock of 0 that is typed takes the units off sale that a sale has left, and one that is refused is compared with the present stock next', async () => {
    const seller = await openShop(app)
    const [id] = (await list(seller, cardItem({ quantity: 2 }))) as [number]
    const member = await app.member(seller.accountId)
    const present = async () =>
      (await member.get(`/dashboard/api/listings/${id}`)).body.data.quantity
    for (const form of ['', `?listing=${id}`]) {
      const page = await app.open(`/dashboard/listings${form}`, {
        member,
        expects: /status of 422/,
      })
      const stock = form
        ? page.getByRole('dialog').getByRole('textbox', { name: 'Stock' })
        : page.getByRole('textbox', { name: 'Stock of Charizard ex' })
      const sent: string[] = []
      page.on('request', (request) => {
        if (request.method() === 'PATCH') sent.push(request.url())
      })
      for (const [from, text] of [
        [2, '0'],
        [5, '1'],
      ] as const) {
        await member.patch(`/dashboard/api/listings/${id}`, { payload: { quantity: from } })
        await page.goto(`${app.address}/dashboard/listings${form}`)
        await stock.fill(text)
        await buy(app, [[id, from - 1]])
        if (text === '1') {
          await buy(app, [[id, 1]])
          await stock.press('Enter')
          await page.getByText('The stock would be -4 units: only 0 are in stock.').waitFor()
          // Leaving the field doesn't put a unit on sale.
          await stock.blur()
          await page.evaluate('document.title')
          expect(sent).toHaveLength(1)
        }
        await Promise.all([page.waitForResponse('**/api/listings/*'), stock.press('Enter')])
        expect(await present()).toBe(Number(text))
        sent.length = 0
      }
    }
  })

  it('the form of a listing opens with the present values, whether the list shows the listing or not', async () => {
    const { seller, member } = await newShop(app)
    const [id] = await list(seller, cardItem({ price: 10 }))
    const page = await app.open('/dashboard/listings', { member })
    await page.getByRole('row', { name: /Charizard ex/ }).waitFor()
    const dialog = page.getByRole('dialog')
    const price = dialog.getByRole('textbox', { name: 'Price' })
    const visit = (path: string) =>
      page.evaluate(`history.pushState(null, '', '/dashboard/${path}')`)
    const change = (price: number) => seller.patch(`/v1/listings/${id}`, { payload: { price } })

    await visit('orders')
    await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
    await change(20)
    await visit(`listings?listing=${id}`)
    expect(await price.inputValue()).toBe('20.00')
    await price.fill('30')
    await page.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })

    await visit(`listings?q=nothing&listing=${id}`)
    expect(await price.inputValue()).toBe('30.00')
    // Timers of the page no longer run, as in a page that is busy.
    await page.clock.install()
    await page.clock.pauseAt(Date.now() + 60_000)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await change(40)
    await visit(`listings?q=nothing&listing=${id}`)
    expect(await price.inputValue()).toBe('40.00')
  })

  it('the form of a listing keeps its input when the listing leaves the list', async () => {
    const { seller, member } = await newShop(app)
    const [id] = await list(seller, cardItem(), productItem())
    const page = await app.open('/dashboard/listings?status=active', { member })
    await page.getByRole('button', { name: /^Edit Charizard ex/ }).click()
    const reference = page.getByRole('textbox', { name: 'Reference' })
    await reference.fill('SHELF 1')
    await seller.patch(`/v1/listings/${id}`, { payload: { quantity: 0 } })
    await readAgain(page)
    await page.getByText('1–1 of 1 listings').waitFor()
    expect(await reference.inputValue()).toBe('SHELF 1')
  })

  it('a save that ends after Back leaves the form of another listing open', async () => {
    const { seller, member } = await newShop(app)
    const [first, second] = await list(seller, cardItem(), productItem())
    const page = await app.open('/dashboard/listings', { member })
    page.on('dialog', (question) => question.accept())
    await page.getByRole('button', { name: /^Edit Charizard ex/ }).click()
    const reference = page.getByRole('textbox', { name: 'Reference' })
    await reference.fill('SHELF 1')
    const request = await holdRequests(page, `**/listings/${first}`)
    await page.getByRole('button', { name: 'Save' }).click()
    await request.sent
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const edit = page.getByRole('button', { name: /^Edit / })
    await edit.and(page.locator(':not([aria-label^="Edit Charizard"])')).click()
    await page.waitForURL(`**/listings?listing=${second}`)
    await reference.fill('SHELF 2')
    request.release()
    await page.getByText('was saved.').waitFor()
    await page.getByRole('textbox', { name: 'Description' }).fill('From my binder')
    expect(await reference.inputValue()).toBe('SHELF 2')
  })

  it('the table and the form of a listing say that the marketplace has hidden its card, so that buyers do not find it', async () => {
    const { seller, member } = await newShop(app)
    await importRecords(app.operator, [
      { type: 'card', id: 'sv3-701', set_id: 'sv3', number: '701', name: 'Absol' },
    ])
    await list(seller, cardItem({ card: 'sv3-701' }), cardItem())
    const payload = { cards: { 'sv3-701': false } }
    await app.operator.put('/operator/v1/catalog/visibility', { payload })
    const page = await app.open('/dashboard/listings', { member })
    const badge = 'Hidden by the marketplace'
    await page.getByRole('row', { name: /Absol/ }).getByText(badge).waitFor()
    expect(await page.getByText(badge).count()).toBe(1)
    await page.getByRole('button', { name: /^Edit Absol/ }).click()
    await page.getByRole('dialog').getByText('The marketplace has hidden this card').waitFor()
    await expectAccessible(page)
  })

  it('another attempt to delete a listing gets the response that was lost, and not one that was shown', async () => {
    const seller = await openShop(app)
    const [id] = await list(seller, cardItem())
    const sale = await buy(app, [[id!, 1]])
    const page = await app.open(`/dashboard/listings?listing=${id}`, {
      member: await app.member(seller.accountId),
      // The page may read the deleted listing before the second attempt.
      expects: /ERR_FAILED|404/,
    })
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const confirm = page.getByRole('button', { name: 'Delete listing' })
    await confirm.click()
    await page.getByText(/open order/).waitFor()
    await cancel(app, sale.orderIds[0]!)
    await loseResponse(page, '**/dashboard/api/listings/bulk')
    await confirm.click()
    await page.getByText(/connection to the service was lost/).waitFor()
    expect((await seller.get(`/v1/listings`)).body.meta.total).toBe(0)
    await confirm.click()
    await page.getByText('Charizard ex was deleted.').waitFor()
  })

  it(
    'the listings fit on a phone, and are accessible there',
    async () => {
      const { seller, member } = await newShop(app)
      await list(seller, cardItem(), productItem())
      const phone = await app.open('/dashboard/listings', { member, width: 360 })
      await phone.getByRole('row', { name: /Charizard ex/ }).waitFor()
      expect(await phone.evaluate('document.documentElement.scrollWidth')).toBe(360)
      await expectAccessible(phone)
    },
    TIMEOUT_MS,
  )

  it.each([
    { browser: 'a browser with the Navigation API', script: undefined },
    { browser: 'a browser without the Navigation API', script: REMOVE_NAVIGATION },
  ])(
    'Back and links ask before they lose the input of a dialog or of a row, in $browser',
    async ({ script }) => {
      const { seller, member } = await newShop(app)
      await list(seller, cardItem())
      const page = await app.open('/dashboard', {
        member,
        expects: /status of 422/,
        script,
      })
      const questions: string[] = []
      page.on('dialog', (dialog) => {
        if (dialog.message().startsWith('Close')) return dialog.accept()
        questions.push(dialog.message())
        return dialog.dismiss()
      })
      await page.getByRole('link', { name: 'Listings', exact: true }).first().click()
      const price = page.getByRole('textbox', { name: /^Price of/ })
      await page.getByRole('button', { name: /^Edit/ }).click()
      const reference = page.getByRole('textbox', { name: 'Reference' })
      await reference.fill('SHELF 1')
      await page.evaluate('history.back()')
      await expect.poll(() => questions.length).toBe(1)
      expect(await reference.inputValue()).toBe('SHELF 1')
      // Without the API, the step is undone after the question.
      await expect.poll(() => page.evaluate('location.search')).toMatch(/^\?listing=/)
      await page.getByRole('button', { name: 'Close' }).click()
      await reference.waitFor({ state: 'detached' })
      expect(questions).toHaveLength(1)

      await price.fill('15')
      await page.evaluate('history.go(-2)')
      await expect.poll(() => questions.length).toBe(2)
      expect(await price.inputValue()).toBe('15')
      await price.press('Escape')
      await price.fill('0')
      await price.press('Enter')
      await page.getByText('The price field must be at least 0.01.').waitFor()
      const search = page.getByRole('searchbox')
      const status = page.getByRole('combobox', { name: 'Status', exact: true })
      const ways = [
        () => page.getByRole('link', { name: 'Orders' }).click(),
        () => status.selectOption('Hidden'),
        () => search.fill('pikachu'),
      ]
      for (const [i, leave] of ways.entries()) {
        await leave()
        await expect.poll(() => questions.length).toBe(3 + i)
        expect(await price.inputValue()).toBe('0')
      }
      // The controls show what the list shows.
      expect(await status.inputValue()).toBe('')
      await expect.poll(() => search.inputValue()).toBe('')
      await price.press('Escape')
      await page.getByRole('link', { name: 'Orders' }).click()
      await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
      expect(questions).toHaveLength(2 + ways.length)
    },
  )

  it.each([1280, 360])(
    'Escape and the buttons that close a dialog ask once something was typed in it, at %i px',
    async (width) => {
      const { seller, member } = await newShop(app)
      await list(seller, cardItem({ quantity: 5 }))
      const page = await app.open('/dashboard/listings', { member, width })
      const questions: string[] = []
      let isAccepted = false
      page.on('dialog', (dialog) => {
        questions.push(dialog.message())
        return isAccepted ? dialog.accept() : dialog.dismiss()
      })
      const edit = page.getByRole('button', { name: /^Edit/ })
      const reference = page.getByRole('textbox', { name: 'Reference' })
      const buttons = ['Cancel', 'Close'].map((name) => page.getByRole('button', { name }))
      const pressEscape = () => page.keyboard.press('Escape')
      const press = async (button: Locator) => {
        await tabTo(page, button)
        await page.keyboard.press('Enter')
      }
      const ways = [
        pressEscape,
        ...buttons.flatMap((button) => [() => button.click(), () => press(button)]),
      ]
      const open = async () => {
        await edit.click()
        await reference.waitFor()
      }
      for (const close of ways) {
        await open()
        await close()
        await reference.waitFor({ state: 'detached' })
      }
      expect(questions).toEqual([])

      await open()
      await reference.fill('SHELF 1')
      for (const [i, close] of ways.entries()) {
        await close()
        await expect.poll(() => questions.length).toBe(i + 1)
        expect(await reference.inputValue()).toBe('SHELF 1')
      }
      isAccepted = true
      await pressEscape()
      await reference.waitFor({ state: 'detached' })
      expect(new Set(questions)).toEqual(
        new Set(['Close this dialog? What you have typed is not saved.']),
      )
      await open()
      expect(await reference.inputValue()).toBe('')

      // A button of the field changes it as well.
      const asked = questions.length
      await page.getByRole('textbox', { name: 'Stock', exact: true }).press('ArrowUp')
      await pressEscape()
      await reference.waitFor({ state: 'detached' })
      expect(questions).toHaveLength(asked + 1)
    },
  )

  it('a price that a link leaves behind is saved without a question, and a message says so if it is refused', async () => {
    const { seller, member } = await newShop(app)
    const [id] = await list(seller, cardItem({ price: 10 }))
    const page = await app.open('/dashboard/listings', { member, expects: /status of 422/ })
    const price = page.getByRole('textbox', { name: 'Price of Charizard ex' })
    for (const [text, saved] of [
      ['12', 12],
      ['0', 12],
    ] as const) {
      await price.fill(text)
      const request = await holdRequests(page, `**/dashboard/api/listings/${id}`)
      await page.getByRole('link', { name: 'Orders' }).click()
      await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
      const response = page.waitForResponse(`**/dashboard/api/listings/${id}`)
      request.release()
      await response
      await page.unrouteAll({ behavior: 'wait' })
      expect((await member.get(`/dashboard/api/listings/${id}`)).body.data.price).toBe(saved)
      await page.getByRole('link', { name: 'Listings', exact: true }).click()
    }
    await page.getByText(/^Price of Charizard ex.* was not saved\. .*at least 0\.01/).waitFor()
  })

  it('the table shows the highest price in full, also on a phone', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, cardItem({ price: 99_999.99 }))
    const page = await app.open('/dashboard/listings', { member })
    const price = page.getByRole('textbox', { name: 'Price of Charizard ex' })
    expect(await price.inputValue()).toBe('99999.99')
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await price.evaluate((input) => input.scrollWidth - input.clientWidth)).toBe(0)
    }
  })

  it('each control of a row has a name that no other row has', async () => {
    const { seller, member } = await newShop(app)
    const ids = await list(
      seller,
      ...[cardItem({}), cardItem({}), cardItem({ condition: 'LP' }), productItem()],
    )
    const page = await app.open('/dashboard/listings', { member })
    for (const [role, name] of [
      ['checkbox', 'Select'],
      ['textbox', 'Price of'],
      ['textbox', 'Stock of'],
      ['combobox', 'Status of'],
      ['button', 'Edit'],
    ] as const) {
      await page
        .getByRole(role, { name: `${name} Charizard ex, NM, EN, listing ${ids[0]}`, exact: true })
        .waitFor()
      const controls = page.getByRole('row').getByRole(role, { name: new RegExp(`^${name} `) })
      for (const id of ids) {
        const ofRow = controls.and(page.getByRole(role, { name: new RegExp(`, listing ${id}$`) }))
        expect(await ofRow.count(), `${name} ${id}`).toBe(1)
      }
    }
  })

  it('the bar of the selected listings sticks to what is above it, on a phone below the menu and the message about a lost connection, and covers no control that gets the focus', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, ...items(20))
    const page = await app.open('/dashboard/listings', {
      member,
      width: 360,
      expects: /ERR_INTERNET_DISCONNECTED/,
    })
    await page.locator('tbody .select label').first().click()
    const edge = async (selector: string) => {
      const { y, height } = (await page.locator(selector).boundingBox())!
      return { top: y, bottom: y + height }
    }
    await page.evaluate('scrollTo(0, 1500)')
    const menu = await edge('.side')
    expect(menu.top).toBe(0)
    const bar = await edge('.bulk-bar')
    expect(bar.top).toBeCloseTo(menu.bottom, 0)
    await page.locator('tbody button').last().focus()
    for (let tabs = 0; tabs < 15; tabs++) {
      await page.keyboard.press('Shift+Tab')
      expect((await edge('main :focus')).top).toBeGreaterThanOrEqual(bar.bottom)
    }
    await page.context().setOffline(true)
    await page.locator('.banner.warn').waitFor()
    await expect.poll(async () => (await edge('.banner.warn')).top).toBeCloseTo(menu.bottom, 0)
    const message = await edge('.banner.warn')
    await expect.poll(async () => (await edge('.bulk-bar')).top).toBeCloseTo(message.bottom, 0)

    await page.setViewportSize({ width: 1280, height: 900 })
    await expect
      .poll(async () => (await edge('.bulk-bar')).top - (await edge('.banner.warn')).bottom)
      .toBeCloseTo(0, 0)

    // A page that is enlarged to 200 % keeps room for the rows.
    await page.setViewportSize({ width: 640, height: 450 })
    await expect.poll(async () => (await edge('.bulk-bar')).bottom).toBeLessThan(0)
  })

  it('a status that stays on the page says how many listings, orders or items a search has found, also if there are none', async () => {
    const shop = await openShop(app)
    const [id] = (await list(shop, cardItem({ quantity: 2 }))) as [number]
    await buy(app, [[id, 1]])
    const page = await app.open('/dashboard', { member: await app.member(shop.accountId) })
    for (const [path, some, none] of [
      ['listings', '1–1 of 1 listings', '0 listings'],
      ['orders', '1 order on this page', '0 orders on this page'],
      ['listings/new?q=charizard', 'items found', '0 items found'],
    ] as const) {
      await page.goto(`${app.address}/dashboard/${path}`)
      const status = page.getByRole('status').filter({ hasText: some })
      const element = (await status.elementHandle())!
      await page.getByRole('searchbox').fill('xqzzy')
      await page.getByRole('heading', { name: /match/ }).waitFor()
      expect(await element.textContent()).toBe(none)
      await expectAccessible(page)
    }
  })

  it('Next and Previous lead through the listings of a search', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, ...items(35), productItem())
    const page = await app.open('/dashboard/listings?q=charizard', { member })
    await page.getByText('1–30 of 35 listings').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('31–35 of 35 listings').waitFor()
    expect(new URL(page.url()).pathname).toBe('/dashboard/listings')
    await page.getByRole('link', { name: 'Previous' }).click()
    await page.getByText('1–30 of 35 listings').waitFor()
    await page.goBack()
    await page.getByText('31–35 of 35 listings').waitFor()
  })

  it('Next shows the beginning of the next page of a list', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, ...items(60))
    const page = await app.open('/dashboard/listings', { member, width: 360 })
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('31–60 of 60 listings').waitFor()
    expect(await page.evaluate('scrollY')).toBe(0)
  })

  it('a page after the last one leads to the last one, also after its rows were deleted', async () => {
    const { seller, member } = await newShop(app)
    await list(seller, ...items(35))
    const page = await app.open('/dashboard/listings?page=99', { member })
    await page.getByText('31–35 of 35 listings').waitFor()
    expect(new URL(page.url()).search).toBe('?page=2')
    await page
      .getByRole('checkbox', { name: 'Select all rows of this page' })
      .check({ force: true })
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('1–30 of 30 listings').waitFor()
    expect(new URL(page.url()).search).toBe('')
  })
})
