import type { Page } from 'playwright-core'
import type { TestApp } from './app.ts'
import { advance } from './fixtures/listings.ts'
import { SHIPS } from './fixtures/orders.ts'

// Steps on the pages of the listings, for the tests in a browser.

export const DAY_S = 24 * 60 * 60

/** A new seller whose listings can be ordered, and the member who signs in for them. */
export async function newShop(app: TestApp) {
  const seller = await app.seller({ account: SHIPS })
  return { seller, member: await app.member(seller.accountId) }
}

/** Makes the list out of date, and shows the window again. */
export async function readAgain(page: Page): Promise<void> {
  await page.clock.setFixedTime((await page.evaluate<number>('Date.now()')) + 60_000)
  await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`)
}

/** Chooses a file of this text on the page Import. */
export async function chooseFile(page: Page, text: string): Promise<void> {
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

/** Moves the clocks of the service and of the page: the service forgets the idempotency keys of all requests. */
export async function expireKeys(app: TestApp, page: Page): Promise<void> {
  await advance(app.operator, DAY_S)
  await page.clock.setFixedTime(Date.now() + DAY_S * 1000)
}
