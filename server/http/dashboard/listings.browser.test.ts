import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { endSession } from '../../members/sessions.ts'
import type { Client } from '../../test/app.ts'
import {
  type BrowserApp,
  chromiumPath,
  downloadBy,
  expectAccessible,
  holdRequests,
  holdResponse,
  loseResponse,
  startBrowserApp,
  tabTo,
} from '../../test/browser.ts'
import { importRecords } from '../../test/catalog-fixture.ts'
import { advance, cardItem, items, list, productItem } from '../../test/fixtures/listings.ts'
import { buy, cancel, openShop as openOrderShop } from '../../test/fixtures/orders.ts'

/** A person's steps with checks of accessibility between them, on a busy machine. */
const TIMEOUT_MS = 180_000

const DAY_S = 24 * 60 * 60

/** Writes per minute, the check of a preview included: an import of five chunks has to wait. */
const WRITES = 4

describe.skipIf(!chromiumPath)('the page Listings', () => {
  let app: BrowserApp
  /** The clock of the rate limits, a second before the end of its minute. */
  let time = 59_000
  beforeAll(async () => {
    app = await startBrowserApp({ template: 'fixture', rateLimitTime: () => time })
  })
  const nextMinute = () => {
    time += 60_000
  }
  const openShop = async () => {
    const seller = await app.seller()
    return { seller, member: await app.member(seller.accountId) }
  }
  /** Makes the list out of date, and shows the window again. */
  const readAgain = async (page: Page) => {
    await page.clock.setFixedTime(Date.now() + 60_000)
    await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`)
  }
  const chooseFile = async (page: Page, text: string) => {
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Choose a file' }).click(),
    ])
    await chooser.setFiles({
      name: 'stock.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(text),
    })
  }

  const csvOf = (count: number) =>
    ['card,condition,language,price,quantity', ...Array(count).fill('sv3-125,NM,EN,1,1')].join('\n')
  /** The service forgets the idempotency keys of all requests. */
  const expireKeys = async (page: Page) => {
    await advance(app.operator, DAY_S)
    await page.clock.setFixedTime(Date.now() + DAY_S * 1000)
  }

  it(
    'listings are found, changed in place and changed in bulk',
    async () => {
      const { seller, member } = await openShop()
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
      await page.getByRole('textbox', { name: 'Reference' }).fill('SHELF 1')
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

  it('the form of a listing saves only the fields that were changed in it', async () => {
    const { seller, member } = await openShop()
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
    'the table and the form of a listing read a price alike, and refuse an empty one, one that can mean two, and a stock that is no whole number',
    async () => {
      const { seller, member } = await openShop()
      const [id] = await list(seller, cardItem({ price: 10, quantity: 5 }))
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
        close: () => page.getByRole('button', { name: 'Cancel' }).click(),
      })
      for (const place of [inTable, inForm]) {
        await edit.waitFor()
        const [price, stock] = [place('Price'), place('Stock')]
        await price.enter('1,234')
        await page.getByText('“1,234” can mean two numbers. Write 1234.00 or 1.23.').waitFor()
        await price.enter('1.234')
        await page.getByText('“1.234” can mean two numbers. Write 1234.00 or 1.23.').waitFor()
        await price.enter('twelve')
        await page.getByText('Write a number such as 12.50.').waitFor()
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
          ['1,234.5', 1234.5],
          ['1 234', 1234],
        ] as const) {
          await member.patch(`/dashboard/api/listings/${id}`, { payload: { price: 10 } })
          await page.goto(`${app.address}/dashboard/listings`)
          await edit.waitFor()
          const [saved] = await Promise.all([
            page.waitForResponse((response) => response.request().method() === 'PATCH'),
            price.enter(text),
          ])
          expect((await saved.json()).data).toMatchObject({ price: value, quantity: 5 })
        }
      }
    },
    TIMEOUT_MS,
  )

  it('a price that is typed while the former one is saved stays in its field and is saved next', async () => {
    const { seller, member } = await openShop()
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
    const { seller, member } = await openShop()
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

  it.each(['a read of the list', 'a search', 'the save of a price'])(
    'a stock that is saved while %s is under way stays in its field when that older response arrives',
    async (older) => {
      const { seller, member } = await openShop()
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
      const saved = `**/dashboard/api/listings/${id}`
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
    const seller = await openOrderShop(app)
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
      await Promise.all([page.waitForResponse('**/api/listings*'), stock.press('Enter')])
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
      const { seller, member } = await openShop()
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
        if (again === 'a day later') await expireKeys(page)
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
    const seller = await openOrderShop(app)
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
          // Leaving the field is no decision to put a unit on sale.
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
    const { seller, member } = await openShop()
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
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await change(40)
    await visit(`listings?q=nothing&listing=${id}`)
    expect(await price.inputValue()).toBe('40.00')
  })

  it('the form of a listing keeps its input when the listing leaves the list', async () => {
    const { seller, member } = await openShop()
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
    const { seller, member } = await openShop()
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

  it('another attempt to delete a listing gets the response that was lost, and not one that was shown', async () => {
    const seller = await openOrderShop(app)
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
      const { seller, member } = await openShop()
      await list(seller, cardItem(), productItem())
      const phone = await app.open('/dashboard/listings', { member, width: 360 })
      await phone.getByRole('row', { name: /Charizard ex/ }).waitFor()
      expect(await phone.evaluate('document.documentElement.scrollWidth')).toBe(360)
      await expectAccessible(phone)
    },
    TIMEOUT_MS,
  )

  it.each([
    { browser: 'a browser with the Navigation API', lacksNavigation: false },
    { browser: 'a browser without the Navigation API', lacksNavigation: true },
  ])(
    'Back and links ask before they lose the input of a dialog or of a row, in $browser',
    async ({ lacksNavigation }) => {
      const { seller, member } = await openShop()
      await list(seller, cardItem())
      const page = await app.open('/dashboard', {
        member,
        expects: /status of 422/,
        lacksNavigation,
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
      await page.getByRole('link', { name: 'Orders' }).click()
      await expect.poll(() => questions.length).toBe(3)
      expect(await price.inputValue()).toBe('0')
      await price.press('Escape')
      await page.getByRole('link', { name: 'Orders' }).click()
      await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor()
      expect(questions).toHaveLength(3)
    },
  )

  it.each([1280, 360])(
    'Escape and the buttons that close a dialog ask once something was typed in it, at %i px',
    async (width) => {
      const { seller, member } = await openShop()
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
    const { seller, member } = await openShop()
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
    const { seller, member } = await openShop()
    await list(seller, cardItem({ price: 99_999.99 }))
    for (const width of [320, 1280]) {
      const page = await app.open('/dashboard/listings', { member, width })
      const price = page.getByRole('textbox', { name: 'Price of Charizard ex' })
      expect(await price.inputValue()).toBe('99999.99')
      expect(await price.evaluate((input) => input.scrollWidth - input.clientWidth)).toBe(0)
    }
  })

  it('each control of a row has a name that no other row has', async () => {
    const { seller, member } = await openShop()
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

  it('the bar of the selected listings sticks to what is above it, on a phone below the menu and the message about a lost connection', async () => {
    const { seller, member } = await openShop()
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
    expect((await edge('.bulk-bar')).top).toBeCloseTo(menu.bottom, 0)
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
    const shop = await openOrderShop(app)
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
    const { seller, member } = await openShop()
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
    const { seller, member } = await openShop()
    await list(seller, ...items(60))
    const page = await app.open('/dashboard/listings', { member, width: 360 })
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('31–60 of 60 listings').waitFor()
    expect(await page.evaluate('scrollY')).toBe(0)
  })

  it('a page after the last one leads to the last one, also after its rows were deleted', async () => {
    const { seller, member } = await openShop()
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

  it('a bulk edit changes no row that was unticked after all matches were selected', async () => {
    const { seller, member } = await openShop()
    await list(seller, ...items(35))
    const page = await app.open('/dashboard/listings', { member })
    const rows = page.getByRole('checkbox', { name: 'Select all rows of this page' })
    await rows.check({ force: true })
    await page.getByRole('button', { name: 'Select all 35 that match' }).click()
    await page.getByText('35 listings selected').waitFor()
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
    const { seller, member } = await openShop()
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
    const seller = await openOrderShop(app)
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
    const { seller, member } = await openShop()
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

  it('a bulk edit of a search changes no more listings than its dialog says', async () => {
    const { seller, member } = await openShop()
    await listMany(seller, 10_001)
    const page = await app.open('/dashboard/listings?q=booster box', { member })
    await page
      .getByRole('checkbox', { name: 'Select all rows of this page' })
      .check({ force: true })
    await page.getByRole('button', { name: 'Select all 10,000 that match' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('This concerns 10,000 listings.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('10,000 listings changed.').waitFor()
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(1)
  })

  /** Opens the dialog that changes the prices of 1,001 listings, which takes two calls. */
  const openBulkEdit = async () => {
    const { seller, member } = await openShop()
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
    await dialog.getByText('1,000 of 1,001 listings are done.').waitFor()
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
      await dialog.getByText('1,000 of 1,001 listings are done.').waitFor()
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
    await loseResponse(page, '**/dashboard/api/listings/bulk', () => expireKeys(page))
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
    const [name, value] = (await app.member(member.accountId)).cookie.split('=') as [string, string]
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
    await page.getByText('1,000 of 1,001 listings are done.').waitFor()
    expect(await prices()).toEqual([
      [100, 1],
      [200, 1_000],
    ])
  })

  it('the search for an item to list says how many the catalog has if it shows only the first ones', async () => {
    const records = Array.from({ length: 8 }, (_, i) => ({
      ...{ type: 'product', slug: `crate-${i}`, name: `Crate ${i}`, category: 'other' },
    }))
    await importRecords(app.operator, records)
    const { member } = await openShop()
    const page = await app.open('/dashboard/listings/new?q=crate', { member, width: 360 })
    const status = page.getByRole('status').filter({ hasText: 'The first 6 of 8 items.' })
    await status.waitFor()
    expect(await page.getByRole('button', { name: /^Crate/ }).count()).toBe(6)
    await expectAccessible(page)
  })

  it('a search text is no longer than the service accepts', async () => {
    const { member } = await openShop()
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
    const { seller, member } = await openShop()
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

  it('a new listing whose response was lost is listed again neither with another price nor a day later, and the message says that it may have been saved', async () => {
    const { seller, member } = await openShop()
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
    await expireKeys(page)
    await price.fill('7')
    await price.press('Enter')
    await warning.waitFor()
    expect((await seller.get('/v1/listings')).body.data).toMatchObject([{ price: 7 }])
  })

  it('a card that is chosen while another text is searched stays chosen', async () => {
    const { member } = await openShop()
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
    const { member } = await openShop()
    const page = await app.open('/dashboard/listings/new?q=pikachu&item=np-fr-2', { member })
    const price = page.getByRole('textbox', { name: 'Price' })
    const language = page.getByRole('combobox', { name: 'Language' })
    await price.fill('7')
    expect(await language.inputValue()).toBe('FR')
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

  it('the choice of a card for an ambiguous row applies to rows with the same identifier and hint, and is not lost without a question', async () => {
    const { seller, member } = await openShop()
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    const hints = ['', 'DE', 'EN', '']
    const rows = hints.map((hint, i) => `brs_1,${hint},NM,EN,1,1,row ${i + 2}`)
    const header = 'card,language_hint,condition,language,price,quantity,description'
    await chooseFile(page, [header, ...rows].join('\n'))
    await page.getByText('2 rows can be listed').waitFor()
    await page.getByRole('button', { name: 'Use Owei' }).first().click()
    const questions: string[] = []
    page.on('dialog', (dialog) => {
      questions.push(dialog.message())
      return dialog.dismiss()
    })
    await page.getByRole('link', { name: 'Orders' }).click()
    await page.getByRole('button', { name: 'List 4 rows' }).click()
    await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
    expect(questions).toHaveLength(1)
    const listed = await app.ctx.db<{ description: string; card_id: string }[]>`
      select description, card_id from listings where account_id = ${seller.accountId}
      order by description
    `
    expect(listed.map(({ card_id: card }) => card)).toEqual([
      'swsh9-de-1',
      'swsh9-de-1',
      'swsh9-1',
      'swsh9-de-1',
    ])
  })

  it('the preview of an import counts the warnings among the rows that can be listed', async () => {
    const { member } = await openShop()
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    const rows = ['sv3-125,NM,EN,"1,50",1', 'sv3-125,NM,EN,free,1']
    await chooseFile(page, ['card,condition,language,price,quantity', ...rows].join('\n'))
    const counts = page.getByRole('status').filter({ hasText: 'can be listed' })
    expect(await counts.textContent()).toBe(
      '1 row can be listed, 1 of them has a warning, 1 row has mistakes.',
    )
  })

  it('an import says so if no shipping option of the shop is enabled, because nobody can order then', async () => {
    const { member } = await openShop()
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    await chooseFile(page, 'card,condition,language,price,quantity\nsv3-125,NM,EN,1,1')
    await page.getByRole('button', { name: 'List 1 row' }).click()
    await page.getByText('1 row listed.').waitFor()
    await page.getByText('No shipping option of this account is enabled').waitFor()
  })

  it('an import leaves out the listings that were sold or hidden when they were exported, and counts them', async () => {
    const { seller, member } = await openShop()
    const ids = await list(seller, cardItem(), cardItem(), cardItem())
    await seller.patch(`/v1/listings/${ids[1]}`, { payload: { status: 'hidden' } })
    await seller.patch(`/v1/listings/${ids[2]}`, { payload: { quantity: 0 } })
    const { text } = await member.get('/dashboard/api/listings/export')
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    const check = await holdRequests(page, '**/dashboard/api/listings/check')
    await chooseFile(page, text)
    await page.getByText('0 of 1', { exact: true }).waitFor()
    check.release()
    await page
      .getByText('1 row can be listed. 2 rows are left out, because the status is sold or hidden.')
      .waitFor()
    await page.getByRole('button', { name: 'List 1 row' }).click()
    await page.getByText('1 row listed.').waitFor()
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(4)
  })

  it('failed rows of an import have the numbers that a spreadsheet shows, after empty rows and line breaks in quotes', async () => {
    const { member } = await openShop()
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    const rows = [
      '',
      'sv3-125,NM,EN,1,1,"two\n\nlines",again',
      ',,,,,,',
      'sv3-125,NM,EN,free,1,,',
      'sv3-125,NM,EN,1,1,,again',
    ]
    const header = 'card,condition,language,price,quantity,description,reference'
    await chooseFile(page, [header, ...rows].join('\n'))
    await page.getByText('1 row can be listed').waitFor()
    const failed = [/Row 5.*The price field must/, /Row 6.*Row 3 has the same reference/]
    for (const text of failed) {
      await page.getByRole('listitem').filter({ hasText: text }).waitFor()
    }
    await page.getByRole('button', { name: 'List 1 row' }).click()
    await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
    for (const text of failed) {
      await page.getByRole('listitem').filter({ hasText: text }).waitFor()
    }
    const button = page.getByRole('button', { name: 'Download the failed rows' })
    const file = await downloadBy(page, button)
    expect(await readFile(await file.path(), 'utf8')).toContain(
      'Row 3 has the same reference “again”.',
    )
  })

  it('an import lists rows of any valid size, and names the row and the column of a value that is too long', async () => {
    const { seller, member } = await openShop()
    const page = await app.open('/dashboard/listings/import', { member })
    await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    const url = (i: number) =>
      `https://photos.example/${i}/`.padEnd(1_000, 'x') + '😀'.repeat(1_048)
    const urls = Array.from({ length: 10 }, (_, i) => url(i)).join(' ')
    const rows = [
      ...Array.from({ length: 100 }, () => `sv3-125,NM,EN,1,1,${urls},`),
      `sv3-125,NM,EN,1,1,,${'x'.repeat(5 * 1024 * 1024)}`,
    ]
    await chooseFile(
      page,
      ['card,condition,language,price,quantity,photo_urls,description', ...rows].join('\n'),
    )
    await page.getByText('100 rows can be listed').waitFor()
    const refused = /Row 102.*The description field must not be longer than 1000 characters./
    await page.getByRole('listitem').filter({ hasText: refused }).waitFor()
    await page.getByRole('button', { name: 'List 100 rows' }).click()
    await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
    await page.getByText('100 rows listed, 1 row failed.').waitFor()
    await page.getByText('100 of 100').waitFor()
    expect((await seller.get('/v1/listings')).body.meta.total).toBe(100)
  })

  it('items of the catalog that would look the same show their language, or their id', async () => {
    const { member } = await openShop()
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
    const { member } = await openShop()
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
    const { member } = await openShop()
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
    await search.getByText('Searching…').waitFor()
    request.release()
    await search.getByRole('menuitem', { name: 'Pikachu' }).first().waitFor()
    await page.unrouteAll()

    const message = 'There are too many requests.'
    await page.route('**/dashboard/api/search?*', (route) =>
      route.fulfill({ status: 429, json: { error: { type: 'rate_limited', message } } }),
    )
    await page.keyboard.type(' ex')
    await search.getByText(message).waitFor()
  })

  /** Opens the page Import in two tabs of one profile, and holds their chunks until `release` is called. */
  const openTwoTabs = async () => {
    const { seller, member } = await openShop()
    const first = await app.open('/dashboard/listings/import', { member })
    const second = await first.context().newPage()
    await second.goto(`${app.address}/dashboard/listings/import`)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let chunks = 0
    await first.context().route('**/dashboard/api/listings', async (route) => {
      if (route.request().method() === 'POST') {
        chunks++
        await released
      }
      await route.continue()
    })
    return { seller, first, second, release, chunks: () => chunks }
  }
  const startImport = async (page: Page, rows: number) => {
    await chooseFile(page, csvOf(rows))
    await page.getByRole('button', { name: /^List / }).click()
    await page.getByRole('progressbar', { name: 'Rows sent' }).waitFor()
  }
  /** Whether the browser has stored a pause. The code is a string, because the server's tests have no types of the DOM. */
  const isPaused = (page: Page, accountId: number) =>
    page.evaluate<boolean>(`new Promise((resolve) => {
      indexedDB.open('cardstall-import-${accountId}').onsuccess = ({ target: { result: database } }) => {
        database.transaction('import').objectStore('import').getAll().onsuccess = ({ target }) => {
          database.close()
          resolve(target.result.some(({ isPaused }) => isPaused))
        }
      }
    })`)
  const totalOf = async (seller: Client) => (await seller.get('/v1/listings')).body.meta.total

  it('an import that is discarded in another tab ends, and does not change the progress of the next one', async () => {
    const { seller, first, second, release } = await openTwoTabs()
    await startImport(first, 150)
    await second.reload()
    await second.getByRole('button', { name: 'Pause' }).click()
    await second.getByRole('button', { name: 'Discard the rest' }).click()
    await startImport(second, 50)
    release()
    await first.getByRole('button', { name: 'Choose a file' }).waitFor()
    await second.getByText('50 rows listed.').waitFor()
    await second.reload()
    await second.getByText('50 rows listed.').waitFor()
    expect(await totalOf(seller)).toBe(150)
  })

  it.each([
    ['with', 1],
    ['without', 2],
  ])(
    'a pause in one tab stops an import in all tabs until one continues it, in a browser %s locks',
    async (locks, senders) => {
      const { seller, first, second, release, chunks } = await openTwoTabs()
      if (locks === 'without') {
        await first.context().addInitScript('delete Navigator.prototype.locks')
        await first.reload()
      }
      await startImport(first, 150)
      await second.reload()
      await second.getByRole('button', { name: 'Pause' }).waitFor()
      await expect.poll(chunks).toBe(senders)
      await second.getByRole('button', { name: 'Pause' }).click()
      await expect.poll(() => isPaused(second, seller.accountId)).toBe(true)
      if (locks === 'with') await second.getByRole('button', { name: 'Continue' }).waitFor()
      release()
      for (const page of [first, second]) {
        await page.getByRole('button', { name: 'Continue' }).waitFor()
      }
      await first.getByText('100 rows listed.').waitFor()
      await second.reload()
      await second.getByText('100 rows listed.').waitFor()
      expect(chunks()).toBe(senders)
      await second.getByRole('button', { name: 'Continue' }).click()
      await second.getByText('150 rows listed.').waitFor()
      expect(await totalOf(seller)).toBe(150)
    },
  )

  it('a tab that is about to begin an import shows that of another tab instead, and its own preview after it', async () => {
    const { seller, first, second, release } = await openTwoTabs()
    await chooseFile(second, csvOf(1))
    const begin = second.getByRole('button', { name: 'List 1 row' })
    await begin.waitFor()
    // The browser answers in order: the page has looked for an import of another tab, which would hide the preview.
    await isPaused(second, seller.accountId)
    await startImport(first, 150)
    await begin.click()
    await second.getByText('0 of 150').waitFor()
    release()
    await first.getByText('150 rows listed.').waitFor()
    await second.getByText('150 rows listed.').waitFor()
    expect(await totalOf(seller)).toBe(150)
    await second.getByRole('button', { name: 'Import another file' }).click()
    await second.getByRole('button', { name: 'List 1 row' }).waitFor()
  })

  it('a row whose response was lost is not listed again when its idempotency key has expired', async () => {
    const { seller, member } = await openShop()
    const page = await app.open('/dashboard/listings/import', { member, expects: /ERR_FAILED/ })
    await loseResponse(page, '**/dashboard/api/listings', () => expireKeys(page))
    await startImport(page, 1)
    await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
    expect(await totalOf(seller)).toBe(1)
    await page.getByText('0 rows listed, 1 row failed.').waitFor()
  })

  it.each([409, 429])(
    'a chunk that was refused with %i is listed when the import continues a day later',
    async (status) => {
      const { member } = await openShop()
      const page = await app.open('/dashboard/listings/import', {
        member,
        expects: /status of (409|429)/,
      })
      const message = 'Not now.'
      await page.route('**/dashboard/api/listings', (route) =>
        route.fulfill({
          status,
          headers: { 'retry-after': '60' },
          json: { error: { type: 'refused', message } },
        }),
      )
      await startImport(page, 2)
      if (status === 429) {
        await page.getByText(/Waiting 60 s/).waitFor()
        await page.getByRole('button', { name: 'Pause' }).click()
      } else await page.getByText(message).waitFor()
      await page.unrouteAll()
      await page.clock.setFixedTime(Date.now() + DAY_S * 1000)
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
      await page.getByText('2 rows listed.', { exact: true }).waitFor()
    },
  )

  it.each([
    ['a chunk that was refused', false, '2 rows listed.'],
    [
      'a chunk whose response was lost before it was refused',
      true,
      '0 rows listed, 2 rows failed.',
    ],
  ])(
    '%s is sent again a day later only if it cannot have been listed',
    async (_, isLost, result) => {
      const { seller, member } = await openShop()
      const page = await app.open('/dashboard/listings/import', {
        member,
        expects: /status of 403|ERR_FAILED/,
      })
      const verify = (payout_verified: boolean) =>
        app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
          payload: { payout_verified },
        })
      let creates = 0
      await page.route('**/dashboard/api/listings', async (route) => {
        if (route.request().method() !== 'POST') return route.continue()
        if (isLost && ++creates === 1) return route.abort()
        await verify(false)
        await route.continue()
      })
      await chooseFile(
        page,
        'card,condition,language,price,quantity\nsv3-125,NM,EN,1,1\nsv3-125,NM,EN,1,1',
      )
      await page.getByRole('button', { name: 'List 2 rows' }).click()
      await page.getByText(/payout setup/).waitFor()
      await page.unrouteAll()
      await verify(true)
      await page.clock.setFixedTime(Date.now() + DAY_S * 1000)
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
      await page.getByText(result, { exact: true }).waitFor()
    },
  )

  it(
    'an import waits for the write limit, survives a lost response and a reload, lists each row once, and offers the failed rows',
    async () => {
      const { seller, member } = await openShop()
      app.ctx.config.rateLimit.write = WRITES
      nextMinute()
      const rows = items(450).map(({ card, description }) => [
        card,
        'NM',
        'EN',
        '4,50',
        '1',
        description,
      ])
      rows.splice(3, 0, ['nothing', 'NM', 'EN', '4.50', '1', 'wrong card'])
      rows.push(['sv3-125', 'NM', 'EN', 'four', '1', 'wrong price'])
      const text = `\ufeffCard;Condition;Lang;Price;Qty;Notes\r\n${rows.map((row) => row.join(';')).join('\r\n')}`

      const page = await app.open('/dashboard/listings/import', {
        member,
        expects: /status of 429|ERR_FAILED/,
      })
      await page.getByRole('button', { name: 'Choose a file' }).waitFor()
      await chooseFile(page, text)
      await page.getByText('450 rows can be listed').waitFor()
      await page.getByText('There is no card "nothing".').waitFor()
      await page.getByText('The price field must be a number: “four”.').waitFor()
      await expectAccessible(page)

      // The service lists the second chunk, but its response never arrives.
      let creates = 0
      let lost: () => void = () => {}
      const responseLost = new Promise<void>((resolve) => {
        lost = resolve
      })
      await page.route('**/dashboard/api/listings', async (route) => {
        if (route.request().method() !== 'POST' || ++creates !== 2) return route.continue()
        await route.fetch()
        await route.abort()
        lost()
      })
      await page.getByRole('button', { name: 'List 450 rows' }).click()
      await responseLost
      await page.unrouteAll({ behavior: 'wait' })
      await page.reload()
      await page.getByText(/Waiting 1 s/).waitFor()
      await expectAccessible(page)
      nextMinute()
      await page.getByRole('heading', { name: 'The import is complete' }).waitFor()
      await page.getByText('450 rows listed, 2 rows failed.').waitFor()

      const described = await app.ctx.db<{ description: string }[]>`
      select description from listings where account_id = ${seller.accountId}
    `
      expect(described.length).toBe(450)
      expect(new Set(described.map(({ description }) => description)).size).toBe(450)

      const button = page.getByRole('button', { name: 'Download the failed rows' })
      const file = await downloadBy(page, button)
      expect(await readFile(await file.path(), 'utf8')).toBe(
        `\ufeffCard,Condition,Lang,Price,Qty,Notes,reason\r
nothing,NM,EN,4.50,1,wrong card,"There is no card ""nothing""."\r
sv3-125,NM,EN,four,1,wrong price,The price field must be a number: “four”.\r
`,
      )
      await page.getByRole('button', { name: 'Import another file' }).click()
      await page.getByRole('button', { name: 'Choose a file' }).waitFor()
    },
    TIMEOUT_MS,
  )
})
