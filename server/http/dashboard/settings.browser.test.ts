import { beforeAll, describe, expect, it } from 'vitest'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  loseResponse,
  startBrowserApp,
} from '../../test/browser.ts'

describe.skipIf(!chromiumPath)('the settings in a browser', { timeout: 120_000 }, () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp()
  })

  it('a seller changes the shop’s name and time zone, and begins and ends a holiday', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/settings', { member })
    await page.getByLabel('Name').fill('Misty’s Cards')
    await page.getByLabel('Time zone').selectOption('Asia/Tokyo')
    await page.getByRole('button', { name: 'Save shop' }).click()
    await page.getByText('The shop was saved.').waitFor()
    const { shop_name, time_zone } = (await member.get('/dashboard/api/me')).body.data.account
    expect([shop_name, time_zone]).toEqual(['Misty’s Cards', 'Asia/Tokyo'])
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Begin a holiday' }).click()
    await page.getByText('Your shop is on holiday.').first().waitFor()
    await page.getByRole('link', { name: 'Listings' }).click()
    await page.getByText('Your shop is on holiday:').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'End the holiday' }).click()
    // Without a pointer, whose second press within half a second of the first one is ignored.
    await page.getByRole('button', { name: 'End the holiday' }).press('Enter')
    await page.getByText('Your shop is open again.').waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('Everything is shipped.').waitFor()
    expect(await page.getByText('Your shop is on holiday:').count()).toBe(0)
  })

  it('the settings link to the shop’s page at MARKETPLACE_URL, as the menu does', async () => {
    const settings = { MARKETPLACE_URL: 'https://market.example' }
    const other = await startBrowserApp({ settings })
    const member = await other.member()
    const { slug } = (await member.get('/dashboard/api/me')).body.data.account
    const page = await other.open('/dashboard/settings', { member })
    for (const name of ['View your shop', slug]) {
      const link = page.getByRole('link', { name })
      expect(await link.getAttribute('href')).toBe(`https://market.example/shops/${slug}`)
    }
  })

  it('the form of the shop opens with the present values, and a holiday that began although its request got 503 is shown', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard', { member, expects: /status of 503/ })
    await page.getByText('Everything is shipped.').waitFor()
    await member.patch('/dashboard/api/settings/shop', { payload: { shop_name: 'Misty’s Cards' } })
    await page.getByRole('link', { name: 'Settings' }).click()
    expect(await page.getByLabel('Name').inputValue()).toBe('Misty’s Cards')
    await page.route('**/settings/holiday', async (route) => {
      await route.fetch()
      const error = { type: 'service_unavailable', message: 'The request took too long.' }
      await route.fulfill({ status: 503, json: { error } })
    })
    await page.getByRole('button', { name: 'Begin a holiday' }).click()
    await page.getByRole('button', { name: 'End the holiday' }).waitFor()
  })

  it('the form of the shop saves only the fields that were changed in it', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/settings', { member })
    const save = async (name: string) => {
      await page.getByLabel('Name').fill(name)
      const [saved] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === 'PATCH'),
        page.getByRole('button', { name: 'Save shop' }).click(),
      ])
      expect(saved.status()).toBe(204)
      await page.getByText('The shop was saved.').first().waitFor()
    }
    const change = (payload: object) => member.patch('/dashboard/api/settings/shop', { payload })
    await page.getByLabel('Time zone').selectOption('Asia/Tokyo')
    await save('Misty’s Cards')
    await change({ time_zone: 'Europe/Paris' })
    await save('Misty’s Best Cards')
    const { shop_name, time_zone } = (await member.get('/dashboard/api/me')).body.data.account
    expect([shop_name, time_zone]).toEqual(['Misty’s Best Cards', 'Europe/Paris'])
  })

  it('a seller adds a shipping option once, also if its first response is lost; a mistake stays in the form with its message', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/settings/shipping', {
      member,
      width: 360,
      expects: /422|ERR_FAILED/,
    })
    await page.getByText('No shipping options').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Add an option' }).click()
    await page.getByLabel('Name').fill('Letter')
    await page.getByRole('button', { name: 'Save option' }).click()
    await page.getByText('code').filter({ hasText: 'field' }).waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('Letter')
    await page.getByLabel('Code', { exact: true }).fill('letter')
    const countries = page.getByLabel('Countries')
    await countries.fill('nl, be, belgium')
    await page.getByRole('button', { name: 'Save option' }).click()
    await page.getByText('“BELGIUM” is not a country code, such as NL.').waitFor()
    expect(await countries.getAttribute('aria-invalid')).toBe('true')
    const help = page.getByText('All countries if empty.')
    expect(await help.isVisible()).toBe(false)
    await countries.fill(' nl, be, ')
    expect(await help.isVisible()).toBe(true)
    await page.getByLabel('Price', { exact: true }).fill('')
    await page.getByRole('button', { name: 'Save option' }).click()
    await page.getByText('The price field must not be empty.').waitFor()
    await page.getByLabel('Price', { exact: true }).fill('1.50')
    await expectAccessible(page)
    await loseResponse(page, '**/settings/shipping-options')
    await page.getByRole('button', { name: 'Save option' }).click()
    await page.getByText('The connection to the service was lost.').waitFor()
    await page.getByText('The connection to the service is lost.').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save option' }).click()
    await page.getByText('The shipping options were saved.').waitFor()
    const { shipping_options } = (await member.get('/dashboard/api/me')).body.data.account
    expect(shipping_options).toEqual([
      {
        code: 'letter',
        name: 'Letter',
        fulfilment: 'self_ship',
        tracked: false,
        price: 1.5,
        enabled: true,
        countries: ['NL', 'BE'],
      },
    ])
    await expectAccessible(page)
  })

  it('a shipping option is saved into the current list, and refused if it was changed or deleted meanwhile', async () => {
    const member = await app.member()
    const option = {
      name: 'Letter',
      fulfilment: 'self_ship',
      tracked: false,
      price: 1,
      enabled: true,
    }
    const [letter, parcel, express] = ['letter', 'parcel', 'express'].map((code) => ({
      ...option,
      code,
      name: `By ${code}`,
    })) as [object, object, object]
    const put = (...shipping_options: object[]) =>
      member.put('/dashboard/api/settings/shipping-options', { payload: { shipping_options } })
    const stored = async () =>
      (await member.get('/dashboard/api/me')).body.data.account.shipping_options
    await put(letter, parcel)
    const page = await app.open('/dashboard/settings/shipping', { member, expects: /422|409/ })
    const act = async (name: string, action: string) => {
      await page.getByRole('button', { name: `Actions for ${name}` }).click()
      await page.getByRole('menuitem', { name: action }).click()
    }
    const save = page.getByRole('button', { name: 'Save option' })

    await act('By parcel', 'Edit')
    await put(express, letter, { ...parcel, countries: null })
    await page.getByLabel('Name').fill('')
    await save.click()
    await page.getByText('The name field must not be empty.').waitFor()
    await page.getByLabel('Name').fill('With tracking')
    // Another member saves after the page has read the list, before it sends its own.
    const letterAt = (price: number) => ({ ...letter, price })
    await page.route(
      '**/settings/shipping-options',
      async (route) => {
        await put(express, letterAt(3), parcel)
        await route.continue()
      },
      { times: 1 },
    )
    await save.click()
    await page.getByText('The shipping options were saved.').waitFor()
    expect(await stored()).toEqual([express, letterAt(3), { ...parcel, name: 'With tracking' }])
    await put(express, letter, parcel)
    await page.reload()

    await act('By letter', 'Edit')
    await put({ ...letter, price: 2 }, express)
    await page.getByLabel('Name').fill('Postcard')
    await save.click()
    await page.getByText('This option was changed meanwhile').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('Postcard')
    await put(express)
    await save.click()
    await page.getByText('This option was deleted meanwhile').waitFor()
    page.once('dialog', (question) => question.accept())
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('row', { name: /By letter/ }).waitFor({ state: 'detached' })

    await put(letter, parcel, express)
    await act('By express', 'Delete')
    await page.getByRole('button', { name: 'Delete option' }).click()
    await page.getByRole('row', { name: /By express/ }).waitFor({ state: 'detached' })
    await put(express, letter, parcel)
    await act('By parcel', 'Move up')
    await page.getByRole('row', { name: /By express/ }).waitFor()
    expect(await stored()).toEqual([express, parcel, letter])
  })

  it('a wrong password is shown at its field', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/settings/sign-in', { member, expects: /422/ })
    const form = page.getByRole('form', { name: 'Password' })
    await form.waitFor()
    await expectAccessible(page)
    await form.getByLabel('Current password').fill('wrong password')
    await form.getByLabel('New password').fill('a good new password')
    await form.getByRole('button', { name: 'Change the password' }).click()
    await form.getByText('The password is wrong.').waitFor()
    expect(await form.getByLabel('New password').inputValue()).toBe('a good new password')
  })
})
