import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  startBrowserApp,
} from '../../test/browser.ts'
import { cardItem, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { buy, openShop, PARCEL } from '../../test/fixtures/orders.ts'

describe.skipIf(!chromiumPath)('the console', () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp({ template: 'fixture', settings: NO_LIMITS })
  })

  /** Adds a staff member, and signs in with the token. */
  async function signIn(page: Page, role: string): Promise<void> {
    const payload = { name: `The ${role}`, role }
    const { body } = await app.operator.post('/operator/v1/staff', { payload })
    await page.getByLabel('Staff token').fill(body.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(payload.name).waitFor()
  }

  it('a support member finds an order by the buyer’s e-mail and refunds a part', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const buyer = { name: 'Misty Waterflower', email: 'misty@buyers.example' }
    const sale = await buy(app, [[card, 1]], { buyer })
    await buy(app, [[card, 1]], { buyer: { name: 'Brock', email: 'brock@buyers.example' } })
    const order = sale.orderIds[0]!

    const page = await app.open('/console', { expects: /status of 4(01|22)/ })
    await page.getByLabel('Staff token').fill('svc_staff_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(/token is wrong/).waitFor()
    await expectAccessible(page)
    await signIn(page, 'support')
    await page.getByRole('row', { name: /Brock/ }).waitFor()
    await expectAccessible(page)
    await page.getByLabel(/Buyer’s e-mail/).fill('MISTY@buyers.example')
    await page.getByRole('row', { name: /Brock/ }).waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /Misty/ }).getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: `Order ${order}` }).waitFor()
    await page
      .getByText(/^Sold: /)
      .first()
      .waitFor()
    await expectAccessible(page)

    await page.getByRole('button', { name: `Actions for order ${order}` }).click()
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Refund', 'Cancel'])
    await page.getByRole('menuitem', { name: 'Refund' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Amount').fill('1.50')
    await dialog.getByRole('button', { name: 'Refund' }).click()
    await dialog.getByText(/reason field must/).waitFor()
    await expectAccessible(page)
    await dialog.getByLabel('Reason').fill('A bent corner')
    await dialog.getByRole('button', { name: 'Refund' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page
      .getByRole('row', { name: /refunds/ })
      .getByText('€1.50')
      .waitFor()

    await page.reload()
    await page.getByRole('heading', { level: 1, name: `Order ${order}` }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Staff token').waitFor()
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).toBe('{}')
  })
})
