import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { getSetup, submitSetup } from '../../money/payout-setup.ts'
import {
  type BrowserApp,
  chromiumPath,
  downloadBy,
  expectAccessible,
  holdRequests,
  loseResponse,
  startBrowserApp,
} from '../../test/browser.ts'
import { cardItem, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import {
  ADDRESS,
  act,
  buy,
  insertSlice,
  openShop,
  PARCEL,
  ship,
} from '../../test/fixtures/orders.ts'

/** A press with the mouse. */
const PRESS_MS = 80

/** Longer than a dialog takes to close. */
const SETTLED_MS = 500

const BANK_ACCOUNT = { holder: 'Kanto Cards', iban: 'NL02ABNA0123456789' }

describe.skipIf(!chromiumPath)('the console', () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp({
      template: 'fixture',
      settings: {
        ...NO_LIMITS,
        PAYOUT_IBAN: 'DE89370400440532013000',
        PAYOUT_NAME: 'Cardstall',
      },
    })
  })

  /** Adds a staff member, and signs in with the token. */
  async function signIn(page: Page, role: string): Promise<void> {
    const payload = { name: `The ${role}`, role }
    const { body } = await app.operator.post('/operator/v1/staff', { payload })
    await page.getByLabel('Staff token').fill(body.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(payload.name).waitFor()
  }

  it('a support member finds an order by the buyer’s e-mail and refunds a part, and an admin reads who did it', async () => {
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
    const { shop_name: shopName } = (
      await app.operator.get(`/operator/v1/accounts/${shop.accountId}`)
    ).body.data
    await page.getByRole('row', { name: /Brock/ }).getByText(shopName).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Order, slice or e-mail').fill('MISTY@buyers.example')
    await page.getByRole('row', { name: /Brock/ }).waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /Misty/ }).getByRole('link').first().click()
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
    await page.getByRole('link', { name: `Changes of order:${order}` }).click()
    await page.getByRole('row', { name: /refundOrder/ }).waitFor()
    await page.goBack()

    await page.reload()
    await page.getByRole('heading', { level: 1, name: `Order ${order}` }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Staff token').waitFor()
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).toBe('{}')

    await signIn(page, 'admin')
    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.getByLabel('Record, as order:501').fill(`order:${order}`)
    const entry = page.getByRole('row', { name: new RegExp(`refundOrder.*order:${order}\\b`) })
    await entry.getByText('The support').waitFor()
    await entry.locator('summary').click()
    await entry.locator('ins', { hasText: '1.5' }).first().waitFor()
    await expectAccessible(page)
  })

  it('a console tab that is reopened 15 minutes after its last use asks for the token', async () => {
    const page = await app.open('/console')
    await signIn(page, 'catalog')
    const after = async (minutes: number) => {
      // A request that begins at the later time would be a use of the former page.
      await page.goto('about:blank')
      await page.clock.setSystemTime(Date.now() + 60_000 * minutes)
      await page.goto(`${app.address}/console`)
    }
    await after(14)
    await page.getByText('The catalog').waitFor()
    // The tab was used again.
    await after(28)
    await page.getByText('The catalog').waitFor()
    await after(44)
    await page.getByLabel('Staff token').waitFor()
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).toBe('{}')
  })

  it('signing out of the console ends the duplicates of its tab, and no other sign-in', async () => {
    const page = await app.open('/console')
    await signIn(page, 'catalog')
    const other = await page.context().newPage()
    await other.goto(`${app.address}/console`)
    await signIn(other, 'support')
    const [duplicate] = await Promise.all([
      page.context().waitForEvent('page'),
      // The new tab has a copy of the storage, as a duplicate has.
      page.evaluate('void open(location.href)'),
    ])
    await duplicate.getByText('The catalog').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    for (const tab of [page, duplicate]) {
      await tab.getByLabel('Staff token').waitFor()
      expect(await tab.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}')
    }
    await other.reload()
    await other.getByText('The support').waitFor()
  })

  it('another attempt after a lost response creates no second key and adds no second person', async () => {
    const { accountId } = await app.seller()
    const page = await app.open(`/console/sellers/${accountId}`, {
      expects: /status of 401|ERR_FAILED/,
    })
    await signIn(page, 'admin')
    const dialog = page.getByRole('dialog')
    const twice = async (button: string, address: string) => {
      await loseResponse(page, address)
      await dialog.getByRole('button', { name: button }).click()
      await dialog.getByText('The connection to the service was lost.').waitFor()
      await dialog.getByRole('button', { name: button }).click()
      const secret = (await page.locator('.secret code').textContent())!
      await page.getByRole('button', { name: 'Done' }).click()
      return secret
    }
    await page.getByRole('button', { name: 'Create a key' }).click()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Till')
    await dialog.getByText('Read the catalog').click()
    const first = await twice('Create key', '**/keys')
    const keys = (await app.operator.get(`/operator/v1/accounts/${accountId}/keys`)).body.data
    expect(keys.filter(({ name }: { name: string }) => name === 'Till')).toHaveLength(1)
    await page.getByRole('button', { name: 'Actions for Till' }).click()
    await page.getByRole('menuitem', { name: 'Rotate' }).click()
    const second = await twice('Rotate key', '**/rotate')
    for (const key of [first, second]) {
      expect((await app.withKey(key).get('/v1/me')).status).toBe(200)
    }

    await page.getByRole('link', { name: 'Staff' }).click()
    await page.getByRole('button', { name: 'Add a person' }).click()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Once')
    await twice('Add', '**/operator/v1/staff')
    const staff = (await app.operator.get('/operator/v1/staff')).body.data
    expect(staff.filter(({ name }: { name: string }) => name === 'Once')).toHaveLength(1)
  })

  it('an admin finds a seller, takes a listing down, resends a delivery and deletes an endpoint', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const endpoint = { url: 'https://hooks.example/orders', events: ['order.created'] }
    const { data: added } = (await shop.post('/v1/webhooks', { payload: endpoint })).body
    await buy(app, [[card, 1]], {})
    const page = await app.open('/console/sellers', { expects: /status of 409/ })
    await signIn(page, 'admin')
    await page.getByLabel('Shop, e-mail or number').fill(String(shop.accountId))
    const { data } = (await app.operator.get(`/operator/v1/accounts/${shop.accountId}`)).body
    await expectAccessible(page)
    // Copied texts often have blanks around them.
    await page.getByLabel('Shop, e-mail or number').fill(` ${data.email} `)
    await page.waitForURL(/q=.*%40/)
    await page.getByRole('link', { name: data.shop_name }).click()
    await page.getByRole('heading', { level: 1, name: data.shop_name }).waitFor()
    await page.getByText(data.email).waitFor()
    await expectAccessible(page)

    const main = page.getByRole('main')
    const lists = page.getByRole('navigation', { name: 'Lists of this seller' })
    await lists.getByRole('link', { name: 'Disputes' }).click()
    await page.waitForURL(`**/orders/disputes?account_id=${shop.accountId}`)
    await page.goBack()
    await lists.getByRole('link', { name: 'Ledger' }).click()
    await page.getByRole('row', { name: /sale/ }).first().waitFor()
    await page.goBack()
    await lists.getByRole('link', { name: 'Changes' }).click()
    await page.waitForURL(`**/audit?record=account:${shop.accountId}`)
    await page.goBack()
    await main.getByRole('link', { name: 'Listings' }).click()
    await page.getByRole('button', { name: `Take down listing ${card}` }).click()
    await page.getByLabel('Reason').fill('The photos show another card.')
    await page.getByRole('button', { name: 'Take down', exact: true }).click()
    await page
      .getByRole('row', { name: /removed/ })
      .getByText('another card')
      .waitFor()
    await page.getByRole('cell', { name: `${data.shop_name} ${shop.accountId}` }).waitFor()
    await expectAccessible(page)

    await page.getByRole('link', { name: 'Deliveries' }).click()
    await page.getByRole('row', { name: /order.created/ }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: /^Resend delivery/ }).click()
    await page.getByText(/is being sent again/).waitFor()
    await page.goto(`${app.address}/console/sellers/${shop.accountId}`)
    await page.getByRole('button', { name: `Delete endpoint ${added.id}` }).click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Delete endpoint', exact: true }).click()
    await page.getByText(`Endpoint ${added.id} was deleted.`).waitFor()
    await page.goto(`${app.address}/console/deliveries`)
    await page.getByRole('cell', { name: `${added.id} deleted` }).waitFor()
    expect(await page.getByRole('button', { name: /^Resend delivery/ }).count()).toBe(0)
  })

  it('staff decide about a bank account, verify it again for a failed payout, run the payouts, remove a review, give access to a shop, suspend, reactivate and close it', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const member = await app.member(shop.accountId)
    await member.put('/dashboard/api/payouts/setup', {
      payload: BANK_ACCOUNT,
    })
    // After this run, no payout of another test is due.
    await app.operator.post('/operator/v1/payout-runs')
    const order = (await buy(app, [[card, 1]], {})).orderIds[0]!
    await ship(shop, order, { tracking_code: 'CODE' })
    await act(app, order, 'receive')
    const review = { stars: 1, text: `Call me at 555 ${order}` }
    await app.operator.post(`/operator/v1/orders/${order}/review`, { payload: review })

    const page = await app.open('/console/sellers/payout-setups', { expects: /status of 409/ })
    await signIn(page, 'admin')
    const main = page.getByRole('main')
    const dialog = page.getByRole('dialog')
    const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click()
    const setup = `the payout setup of seller ${shop.accountId}`
    await press(`Reject ${setup}`)
    await page.getByLabel('Reason').fill('The holder is another person.')
    await press('Reject')
    await page.getByText('The holder is another person.').waitFor()
    await dialog.waitFor({ state: 'detached' })
    await press(`Verify ${setup}`)
    await press('Verify')
    await dialog.waitFor({ state: 'detached' })
    expect(await page.getByRole('button', { name: `Verify ${setup}` }).count()).toBe(0)

    // Returned by the bank: only another verification makes it due again.
    await app.operator.post('/operator/v1/payout-runs')
    const payouts = `/operator/v1/payouts?account_id=${shop.accountId}`
    const payout = async () => (await app.operator.get(payouts)).body.data[0]
    await app.operator.post(`/operator/v1/payouts/${(await payout()).id}/failed`, {
      payload: { reason: 'Unknown account' },
    })
    await press(`Verify again: ${setup.replace('the ', '')}`)
    await dialog.getByText(/Failed payouts of the seller become due again/).waitFor()
    await expectAccessible(page)
    await press('Verify again')
    await dialog.waitFor({ state: 'detached' })
    expect((await payout()).state).toBe('due')

    await page.getByRole('link', { name: 'Payouts', exact: true }).click()
    await page.getByRole('link', { name: 'Runs' }).click()
    await press('Run payouts')
    await dialog.getByRole('button', { name: 'Run payouts' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText(/took 1 payout: €/).waitFor()
    const newest = main.getByRole('row', { name: /^Run \d/ }).first()
    const file = await downloadBy(page, newest.getByRole('button', { name: /^Download the file/ }))
    expect(file.suggestedFilename()).toMatch(/^payouts-\d+\.xml$/)
    await expectAccessible(page)
    await newest.getByRole('link', { name: /^Run \d+$/ }).click()
    await page.waitForURL(/\/payouts\?run_id=\d+$/)
    await press(/^Actions for payout/)
    await page.getByRole('menuitem', { name: 'Mark as paid' }).click()
    await dialog.getByRole('button', { name: 'Mark as paid' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('cell', { name: 'paid', exact: true }).waitFor()
    await expectAccessible(page)
    await main.getByRole('link', { name: 'Ledger' }).click()
    await page
      .getByRole('row', { name: /payouts/ })
      .first()
      .waitFor()
    await expectAccessible(page)
    await main.getByRole('link', { name: 'payout', exact: true }).first().click()
    await main.getByRole('link', { name: 'Payouts', exact: true }).click()
    await page.waitForURL(/\/payouts\?slice_key=slc_/)
    await page.getByRole('button', { name: /^Actions for payout/ }).waitFor()

    await page.getByRole('link', { name: 'Reviews' }).click()
    await page.getByText(review.text).waitFor()
    const reviewed = page.getByRole('row').filter({ hasText: review.text })
    await reviewed.getByRole('button', { name: /^Remove review/ }).click()
    await page.getByLabel('Reason').fill('It contains a telephone number.')
    await dialog.getByRole('button', { name: 'Remove review' }).click()
    await dialog.waitFor({ state: 'detached' })
    await main.getByText('It contains a telephone number.').waitFor()
    await expectAccessible(page)

    await main.locator(`a[href$="/sellers/${shop.accountId}"]`).click()
    await press('Create a key')
    await dialog.getByText('Read the catalog').click()
    await press('Create key')
    const secret = (await page.locator('.secret code').textContent())!
    expect((await app.withKey(secret).get('/v1/me')).status).toBe(200)
    await press('Done')
    await press('Invite a member')
    await dialog.getByLabel('E-mail').fill('brock@shops.example')
    await press('Send invitation')
    await page.getByRole('row', { name: /brock@shops.example invited/ }).waitFor()
    await expectAccessible(page)
    const next = (await buy(app, [[card, 1]], {})).orderIds[0]!
    for (const [verb, status] of [
      ['Suspend', 403],
      ['Reactivate', 200],
    ] as const) {
      await press(`${verb} account`)
      await expectAccessible(page)
      await dialog.getByRole('button', { name: `${verb} account` }).click()
      await dialog.waitFor({ state: 'detached' })
      await main.getByText(status === 403 ? 'suspended' : 'enabled', { exact: true }).waitFor()
      expect((await app.withKey(secret).get('/v1/me')).status).toBe(status)
    }
    await press('Close account')
    await dialog.getByText(/opens again when its API access is enabled/).waitFor()
    await dialog.getByRole('button', { name: 'Close account' }).click()
    await dialog.getByText('The account has open orders.').waitFor()
    await act(app, next, 'cancel', { cancelled_by: 'buyer' })
    await dialog.getByRole('button', { name: 'Close account' }).click()
    await main.getByText('disabled', { exact: true }).waitFor()
    await dialog.waitFor({ state: 'detached' })
    await main.getByText('Closed', { exact: true }).waitFor()
    const closing = page.getByRole('button', { name: 'Close account' })
    expect(await closing.count()).toBe(0)
    expect((await app.withKey(secret).get('/v1/me')).status).toBe(401)
    await press('Invite a member')
    await dialog.getByLabel('E-mail').fill('misty@shops.example')
    await press('Send invitation')
    await closing.waitFor()
  })

  it('the amount of a payout opens its lines, and a deduction leads to the order that the seller owed for', async () => {
    const shop = await openShop(app, PARCEL)
    const receive = async (price: number) => {
      const [card] = (await list(shop, cardItem({ price }))) as [number]
      const { orderIds, sliceKey } = await buy(app, [[card, 1]], {})
      await ship(shop, orderIds[0]!, { tracking_code: 'CODE' })
      await act(app, orderIds[0]!, 'receive')
      return { order: orderIds[0]!, sliceKey }
    }
    const owed = await receive(10)
    await app.operator.post('/operator/v1/payout-runs')
    const refund = { amount: 2.25, reason: 'Bent' }
    await app.operator.post(`/operator/v1/orders/${owed.order}/refund`, { payload: refund })
    const paid = await receive(20)
    await app.operator.post('/operator/v1/payout-runs')

    const page = await app.open(`/console/payouts?slice_key=${paid.sliceKey}`)
    await signIn(page, 'finance')
    await page.locator('summary').click()
    await page.getByText(`Order row ${paid.order}`).waitFor()
    await page.getByText('sales €20.00').waitFor()
    await page.getByText('commission -€1.00').waitFor()
    await page.getByText('Deduction for another payout').waitFor()
    await page.getByText('refunds -€2.25').waitFor()
    await expectAccessible(page)
    await page.getByText(`€2.25 deducted for refunds of order row ${owed.order}`).waitFor()
    await page.getByRole('link', { name: 'Orders that the seller owed for' }).click()
    await page.getByRole('link', { name: 'recovery' }).first().click()
    await page.waitForURL(`**/orders/${owed.sliceKey}`)
    await page.goBack()
    await page.goBack()
    await page.locator('summary').click()
    await page.getByRole('link', { name: `order row ${owed.order}` }).click()
    await page.waitForURL(`**/orders/${owed.sliceKey}`)
  })

  it('a run that the bank has executed is marked as paid in the console, and its returned payout stays failed', async () => {
    const shop = await openShop(app, PARCEL)
    const cards = (await list(shop, cardItem(), cardItem())) as [number, number]
    for (const card of cards) {
      const order = (await buy(app, [[card, 1]], {})).orderIds[0]!
      await ship(shop, order, { tracking_code: 'CODE' })
      await act(app, order, 'receive')
    }
    const run = (await app.operator.post('/operator/v1/payout-runs')).body.data.id
    const payouts = `/operator/v1/payouts?account_id=${shop.accountId}`
    const [{ id: returned }] = (await app.operator.get(payouts)).body.data
    await app.operator.post(`/operator/v1/payouts/${returned}/failed`, {
      payload: { reason: 'The account is closed.' },
    })

    const page = await app.open('/console/payouts/runs')
    await signIn(page, 'finance')
    await page.getByRole('button', { name: `Actions for run ${run}`, exact: true }).click()
    await page.getByRole('menuitem', { name: 'Mark as paid' }).click()
    await expectAccessible(page)
    await page.getByRole('dialog').getByRole('button', { name: 'Mark as paid' }).click()
    await page.getByText(`1 payout of run ${run} marked as paid.`).waitFor()
    await page.getByRole('link', { name: `Run ${run}`, exact: true }).click()
    await page.getByRole('cell', { name: 'paid', exact: true }).waitFor()
    await page.getByRole('cell', { name: 'failed The account is closed.' }).waitFor()
  })

  it('the removal of a member warns that the shop’s keys still work, and that its e-mail still goes to their address', async () => {
    const { accountId, email } = await app.member()
    const other = await app.member(accountId)
    const payload = { email: email.toUpperCase() }
    await app.operator.patch(`/operator/v1/accounts/${accountId}`, { payload })
    const page = await app.open(`/console/sellers/${accountId}`)
    await signIn(page, 'admin')
    const dialog = page.getByRole('dialog')
    const warning = dialog.getByText(`still goes to ${payload.email}`)
    await page.getByRole('button', { name: `Remove ${other.email}` }).click()
    await dialog.getByText('signed out at once').waitFor()
    await dialog.getByText('API keys and webhook endpoints still work').waitFor()
    expect(await warning.count()).toBe(0)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: `Remove ${email}` }).click()
    await warning.waitFor()
    await expectAccessible(page)
  })

  it('a filter by number takes digits alone, and the palette finds the audit log of an order by its number and a payout by its reference', async () => {
    const page = await app.open('/console/deliveries')
    await signIn(page, 'support')
    const seller = page.getByLabel('Seller’s number')
    await seller.pressSequentially('a12b')
    expect(await seller.inputValue()).toBe('12')
    await page.waitForURL('**/deliveries?account_id=12')

    await page.keyboard.press('Control+k')
    const search = page.getByRole('dialog').getByRole('textbox')
    await search.fill('misty@buyers.example')
    await page.getByRole('menuitem', { name: 'Orders: misty@buyers.example' }).waitFor()
    expect(await page.getByRole('menuitem', { name: /^Audit log/ }).count()).toBe(0)
    await search.fill('48')
    await page.getByRole('menuitem', { name: 'Audit log: order:48' }).click()
    await page.waitForURL('**/console/audit?record=order%3A48')

    await page.keyboard.press('Control+k')
    await search.fill('cs0123456789abcdef01')
    await page.getByRole('menuitem', { name: 'Payouts: CS0123456789ABCDEF01' }).click()
    await page.waitForURL('**/console/payouts?reference=CS0123456789ABCDEF01')
    await page.getByText('No payouts match these filters').waitFor()
  })

  it('the page of a slice shows the buyer’s telephone number, the tracking and times of a self-shipped row, and both sides of a dispute, and a click beside its dialog keeps the input', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const sale = await buy(app, [[card, 1]])
    const order = sale.orderIds[0]!
    await ship(shop, order, { tracking_code: 'CODE' })
    await act(app, order, 'dispute', { reason: 'damaged', message: 'A corner is bent.' })
    const member = await app.member(shop.accountId)
    const answer = { message: 'It was straight.', photo_urls: ['https://photos.example/a.jpg'] }
    await member.post(`/dashboard/api/orders/${order}/dispute/answer`, { payload: answer })
    const tracking = {
      tracking_url: 'https://carrier.example/track/CODE',
      status: 'Handed to a neighbour',
    }
    await app.operator.post(`/operator/v1/slices/${sale.sliceKey}/tracking`, { payload: tracking })
    await act(app, order, 'resolve', { in_favour_of: 'seller' })

    const page = await app.open('/console/orders/slc_unknown', { expects: /status of 404/ })
    await signIn(page, 'support')
    await page.getByRole('heading', { level: 1, name: 'Slice', exact: true }).waitFor()
    await page.goto(`${app.address}/console/orders/${sale.sliceKey}`)
    await page.getByText(ADDRESS.phone!).waitFor()
    const disputes = page.getByRole('table', { name: 'Disputes' })
    await disputes.getByText('A corner is bent.').waitFor()
    await disputes.getByText('It was straight.').waitFor()
    const photo = disputes.getByRole('link', { name: answer.photo_urls[0]! })
    await photo.waitFor()
    const link = page.getByRole('link', { name: 'CODE (opens a new tab)' })
    expect(await link.getAttribute('href')).toBe(tracking.tracking_url)
    await page.getByText(tracking.status).waitFor()
    const timesIn = (table: string) =>
      page.getByRole('table', { name: table }).locator('.times dt').allTextContents()
    expect(await timesIn('Rows')).toEqual(['Sold', 'Shipped', 'Disputed', 'Received'])
    expect(await timesIn('Disputes')).toEqual(['Opened', 'Answer by', 'Answered', 'Resolved'])
    await expectAccessible(page)
    await page.setViewportSize({ width: 320, height: 900 })
    const [shown, table] = [await photo.boundingBox(), await disputes.boundingBox()]
    expect(shown!.x + shown!.width).toBeLessThanOrEqual(table!.x + table!.width)
    await page.getByRole('button', { name: `Actions for order ${order}` }).click()
    await page.getByRole('menuitem', { name: 'Refund' }).click()
    const reason = page.getByRole('dialog').getByLabel('Reason')
    await reason.fill('A bent corner')
    await page.mouse.click(5, 5)
    await setTimeout(SETTLED_MS)
    expect(await reason.inputValue()).toBe('A bent corner')
  })

  it('a support member sends a failed e-mail of a slice again, and no other', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const { sliceKey } = await buy(app, [[card, 1]])
    await app.runMail()
    const { db } = app.ctx
    const ofSlice = db`slice_id = (select id from slices where slice_key = ${sliceKey})`
    const [failed] = await db<{ id: number }[]>`
      update mails
      set status = 'failed', error = 'The server was down.', sent_at = null
      where id = (select min(id) from mails where ${ofSlice})
      returning id
    `
    const page = await app.open(`/console/orders/${sliceKey}`)
    await signIn(page, 'support')
    const resend = page.getByRole('button', { name: /^Resend e-mail/ })
    await resend.waitFor()
    expect(await resend.getAttribute('aria-label')).toBe(`Resend e-mail ${failed!.id}`)
    await expectAccessible(page)
    await resend.click()
    await page.getByText(`E-mail ${failed!.id} is being sent again.`).waitFor()
    await resend.waitFor({ state: 'detached' })
  })

  it('the first press on the button after a refused amount was corrected refunds the order', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const sale = await buy(app, [[card, 1]])
    const page = await app.open(`/console/orders/${sale.sliceKey}`, { expects: /status of 422/ })
    await signIn(page, 'support')
    await page.getByRole('button', { name: /^Actions for order/ }).click()
    await page.getByRole('menuitem', { name: 'Refund' }).click()
    const dialog = page.getByRole('dialog')
    const amount = dialog.getByLabel('Amount')
    const refund = dialog.getByRole('button', { name: 'Refund' })
    await dialog.getByLabel('Reason').fill('A bent corner')
    await amount.fill('999')
    await refund.click()
    await dialog.locator('.error').waitFor()
    await amount.fill('2')
    const { x, y, width, height } = (await refund.boundingBox())!
    await page.mouse.move(x + width / 2, y + height / 2)
    await page.mouse.down()
    await setTimeout(PRESS_MS)
    await page.mouse.up()
    await dialog.waitFor({ state: 'detached' })
  })

  it('the days of the audit log and of the ledger are those of the time zone in which their times are shown', async () => {
    // The next day in Berlin.
    const entry = { actor: 'staff:3', role: 'support', action: 'refundOrder' }
    await app.ctx.db`
      insert into audit_entries ${app.ctx.db({ ...entry, created_at: '2026-02-28T23:30:00Z' })}
    `
    const page = await app.open('/console/audit?from=2026-03-01&to=2026-03-01')
    await signIn(page, 'support')
    await page.getByRole('cell', { name: '1 Mar 2026, 00:30' }).waitFor()
    for (const label of ['From', 'To']) {
      await page.getByLabel(label, { exact: true }).fill('2026-02-28')
    }
    await page.getByText('No entries match these filters').waitFor()

    expect(await askedOnDay(page, '2026-07-01')).toEqual([
      '2026-06-30T22:00:00.000Z',
      '2026-07-01T21:59:59.000Z',
    ])
  })

  it('a day whose last hour comes twice, because the clocks go back at midnight, has 25 hours in the filters of the console', async () => {
    const page = await app.open('/console', { timeZone: 'America/Santiago' })
    await signIn(page, 'support')
    expect(await askedOnDay(page, '2026-04-04')).toEqual([
      '2026-04-04T03:00:00.000Z',
      '2026-04-05T03:59:59.000Z',
    ])
  })

  /** The period that the page of the ledger asks for, if both of its filters have the same day. */
  async function askedOnDay(page: Page, day: string) {
    const [asked] = await Promise.all([
      page.waitForRequest(/v1\/ledger\?/),
      page.goto(`${app.address}/console/payouts/ledger?from=${day}&to=${day}`),
    ])
    const { searchParams } = new URL(asked.url())
    return ['from', 'to'].map((name) => new Date(searchParams.get(name)!).toISOString())
  }

  /** A payout of a shop with a bank account, and a way to change it as a colleague does. */
  async function duePayout() {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const member = await app.member(shop.accountId)
    await member.put('/dashboard/api/payouts/setup', { payload: BANK_ACCOUNT })
    const order = (await buy(app, [[card, 1]], {})).orderIds[0]!
    await ship(shop, order, { tracking_code: 'CODE' })
    await act(app, order, 'receive')
    const address = `/operator/v1/payouts?account_id=${shop.accountId}`
    const read = async () => (await app.operator.get(address)).body.data[0]
    const { id } = await read()
    const report = (result: string, payload?: object) =>
      app.operator.post(`/operator/v1/payouts/${id}/${result}`, { payload })
    const verify = () =>
      app.operator.post(`/operator/v1/accounts/${shop.accountId}/payout-setup/verify`)
    return {
      id,
      order,
      shop,
      read,
      report,
      verify,
      address: `/console/payouts?account_id=${shop.accountId}`,
    }
  }

  it.each(['failed', 'paid'])(
    'a dialog that was opened before a payout’s next transfer can’t mark that transfer as %s',
    async (result) => {
      const { id, read, report, verify, address } = await duePayout()
      const run = () => app.operator.post('/operator/v1/payout-runs')
      await run()
      const { reference } = await read()
      const page = await app.open(address, { expects: /status of 409/ })
      await signIn(page, 'finance')
      await page.getByRole('button', { name: `Actions for payout ${id}` }).click()
      await page.getByRole('menuitem', { name: `Mark as ${result}` }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText(reference).waitFor()
      if (result === 'failed') await dialog.getByLabel('Reason').fill('The account is closed.')
      await report('failed', { reason: 'The account is closed.' })
      await verify()
      await run()
      expect((await read()).state).toBe('sent')

      // A second press doesn't decide about a transfer that nobody has read.
      for (let press = 0; press < 2; press++) {
        const [answered] = await Promise.all([
          page.waitForResponse(`**/payouts/${id}/${result}`),
          dialog.getByRole('button', { name: `Mark as ${result}` }).click(),
        ])
        expect(answered.status()).toBe(409)
        await dialog.getByText(/current transfer has the reference/).waitFor()
      }
      expect((await read()).state).toBe('sent')
    },
  )

  it('the file of a payout run is downloaded whole', async () => {
    await duePayout()
    await app.operator.post('/operator/v1/payout-runs')
    const page = await app.open('/console/payouts/runs')
    await signIn(page, 'finance')
    const button = page.getByRole('button', { name: /^Download the file of run/ }).first()
    const file = await downloadBy(page, button)
    expect(await readFile(await file.path(), 'utf8')).toMatch(/<\/Document>\s*$/)
  })

  it('the console offers only the actions that a payout accepts: a held one must be checked by the operator to be released or marked as paid, and none is with another amount than the dialog shows', async () => {
    const { id, order, shop, read, report, verify, address } = await duePayout()
    await app.operator.patch(`/operator/v1/accounts/${shop.accountId}`, {
      payload: { payout_verified: false },
    })
    expect(await read()).toMatchObject({ state: 'held', to_check: false })
    const page = await app.open(address, { expects: /status of 409/ })
    await signIn(page, 'finance')
    await page.getByText('The payout setup is not verified.').waitFor()
    const menu = page.getByRole('button', { name: `Actions for payout ${id}` })
    expect(await menu.count()).toBe(0)

    await verify()
    // As the migration does with payouts of orders that were completed before it.
    await app.ctx.db`update payouts set reason = 'Check this' where id = ${id}`
    await page.reload()
    await page.getByText('Check this').waitFor()
    await menu.click()
    const entries = page.getByRole('menuitem')
    expect(await entries.allTextContents()).toEqual(['Release', 'Mark as paid'])
    await entries.filter({ hasText: 'Release' }).click()
    await expectAccessible(page)
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click()
    await page.getByRole('cell', { name: 'due', exact: true }).waitFor()
    expect(await menu.count()).toBe(0)

    await app.operator.post('/operator/v1/payout-runs')
    await page.reload()
    await menu.click()
    expect(await entries.allTextContents()).toEqual(['Mark as paid', 'Mark as failed'])

    await report('failed', { reason: 'The account is closed.' })
    await page.reload()
    await menu.click()
    expect(await entries.allTextContents()).toEqual(['Mark as paid'])
    await entries.click()
    const dialog = page.getByRole('dialog')
    const { amount } = await read()
    const expectAmount = (euros: number) =>
      dialog
        .getByText(new RegExp(`^You have transferred €${euros.toFixed(2)} to .* outside of`))
        .waitFor()
    await expectAmount(amount)
    await refund(order, 1)
    await dialog.getByRole('button', { name: 'Mark as paid' }).click()
    await dialog.getByText(/amount is .* EUR by now/).waitFor()
    expect((await read()).state).toBe('failed')
    await expectAmount(amount - 1)
    await dialog.getByRole('button', { name: 'Mark as paid' }).click()
    await page.getByRole('cell', { name: 'paid', exact: true }).waitFor()
    expect((await read()).state).toBe('paid')
  })

  it('a table that is wider than the window scrolls in its frame, and the page does not scroll sideways', async () => {
    const { accountId } = await openShop(app, PARCEL)
    const payload = { shop_name: 'W'.repeat(100) }
    await app.operator.patch(`/operator/v1/accounts/${accountId}`, { payload })
    const page = await app.open(`/console/audit?record=account:${accountId}`)
    await signIn(page, 'support')
    await page.locator('summary').click()
    await page.getByText(payload.shop_name).waitFor()
    const overflow = (element: string) =>
      page.evaluate<number>(`${element}.scrollWidth - ${element}.clientWidth`)
    expect(await overflow("document.querySelector('.table-frame')")).toBeGreaterThan(0)
    expect(await overflow('document.documentElement')).toBe(0)
  })

  it('the longest names and addresses of people make no table wider than its frame', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const buyer = { name: 'W'.repeat(200), email: `${'w'.repeat(241)}@mail.example` }
    const sale = await buy(app, [[card, 1]], { buyer })
    const name = 'W'.repeat(100)
    await app.operator.post(`/operator/v1/accounts/${shop.accountId}/keys`, {
      payload: { name, scopes: ['catalog:read'] },
    })
    await app.operator.post('/operator/v1/staff', { payload: { name, role: 'finance' } })
    await app.operator.patch(`/operator/v1/accounts/${shop.accountId}`, {
      payload: { shop_name: name, email: `${'w'.repeat(241)}@mail.example` },
    })
    const page = await app.open('/console/orders')
    await signIn(page, 'admin')
    for (const [path, text] of [
      ['orders', buyer.name],
      [`orders/${sale.sliceKey}`, buyer.email],
      ['sellers', name],
      [`sellers/${shop.accountId}`, name],
      ['staff', name],
    ] as const) {
      await page.goto(`${app.address}/console/${path}`)
      const table = page.locator('.table-frame').filter({ hasText: text }).first()
      const wider = await table.evaluate((frame) => frame.scrollWidth - frame.clientWidth)
      expect([path, wider]).toEqual([path, 0])
    }
  })

  it.each(['Verify', 'Reject'])(
    'the console’s %s dialog decides on no bank account that the seller submitted after it was opened',
    async (verb) => {
      const { accountId } = await openShop(app, PARCEL)
      const path = `/operator/v1/accounts/${accountId}/payout-setup`
      const submit = (holder: string) =>
        submitSetup(
          app.ctx,
          accountId,
          { ...BANK_ACCOUNT, holder, password: undefined },
          async () => {},
        )
      await submit('Honest Holder')
      if (verb === 'Verify') {
        await app.operator.post(`${path}/reject`, { payload: { reason: 'Unreadable' } })
      }
      const page = await app.open('/console/sellers/payout-setups', { expects: /status of 409/ })
      await signIn(page, 'finance')
      await page
        .getByRole('button', { name: `${verb} the payout setup of seller ${accountId}` })
        .click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText(/6789 of Honest Holder/).waitFor()
      if (verb === 'Reject') await dialog.getByLabel('Reason').fill('The holder is unknown.')
      await submit('Other Holder')
      if (verb === 'Verify') {
        await app.operator.post(`${path}/reject`, { payload: { reason: 'Unreadable' } })
      }
      await dialog.getByRole('button', { name: verb, exact: true }).click()
      await dialog.getByText(/submitted another bank account/).waitFor()
      const { state } = await getSetup(app.ctx, accountId)
      expect(state).toBe(verb === 'Verify' ? 'rejected' : 'verified')
    },
  )

  /** Opens the page of an order's slice, and an action of a row. */
  async function openAction(page: Page, order: number, action: string) {
    await page.getByRole('button', { name: `Actions for order ${order}` }).click()
    await page.getByRole('menuitem', { name: action, exact: true }).click()
    return page.getByRole('dialog')
  }

  const refund = (order: number, amount: number) =>
    app.operator.post(`/operator/v1/orders/${order}/refund`, {
      payload: { amount, reason: 'A bent corner' },
    })

  it('the dialogs of a cancellation and a resolution name the sum that the buyer gets, without earlier refunds and with the shipping of the last row', async () => {
    const shop = await openShop(app, PARCEL)
    const [first, second] = (await list(
      shop,
      cardItem({ price: 10, quantity: 2 }),
      cardItem({ price: 3, quantity: 1 }),
    )) as [number, number]
    const sale = await buy(app, [
      [first, 2],
      [second, 1],
    ])
    const [row, other] = sale.orderIds as [number, number]
    await refund(row, 15)
    await ship(shop, row, { tracking_code: 'CODE' })
    const page = await app.open(`/console/orders/${sale.sliceKey}`)
    await signIn(page, 'support')
    const expectSum = async (action: string, order: number, text: string) => {
      const dialog = await openAction(page, order, action)
      await dialog.getByText(text).waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    await expectSum('Cancel', row, 'Refunds €5.00 to the buyer.')
    await refund(row, 5)
    await page.reload()
    await expectSum('Cancel', row, 'Refunds nothing more to the buyer.')
    await act(app, row, 'cancel', { cancelled_by: 'buyer' })
    await act(app, other, 'dispute')
    await page.reload()
    const sum = '€3.00 and the shipping of €6.95'
    await expectSum('Cancel', other, `Refunds ${sum} to the buyer.`)
    await expectSum('Resolve the dispute', other, `the buyer gets ${sum} back.`)
    await act(app, other, 'resolve', { in_favour_of: 'buyer' })
    const ledger = await app.operator.get(`/operator/v1/ledger?slice_key=${sale.sliceKey}`)
    const refunds = ledger.body.data.flatMap((entry: { account: string; amount: number }) =>
      entry.account === 'refunds' ? [entry.amount] : [],
    )
    expect(refunds).toEqual(expect.arrayContaining([3, 6.95]))
  })

  it('the dialog of a cancellation suggests to restock the units of a pending row, not those of one that is shipped, also if that happens meanwhile, and refunds the sum that it shows', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem({ price: 10, quantity: 1 }))) as [number]
    const { sliceKey, orderIds } = await buy(app, [[card, 1]])
    const order = orderIds[0]!
    const page = await app.open(`/console/orders/${sliceKey}`, { expects: /status of 409/ })
    await signIn(page, 'support')
    const dialog = await openAction(page, order, 'Cancel')
    const restocks = (checked: boolean) =>
      dialog.getByRole('checkbox', { name: 'Put the units on sale again', checked }).waitFor()
    const press = () => dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
    await restocks(true)
    await dialog.getByText('Refunds €10.00 and').waitFor()
    await ship(shop, order, { tracking_code: 'CODE' })
    await press()
    await dialog.getByRole('alert').getByText('shipped by now').waitFor()
    await restocks(false)
    await refund(order, 4)
    await press()
    await dialog.getByRole('alert').getByText('4.00 EUR').waitFor()
    await dialog.getByText('Refunds €6.00 and').waitFor()
    await press()
    await dialog.waitFor({ state: 'detached' })
    const { body } = await app.operator.get(`/operator/v1/listings/${card}`)
    expect(body.data).toMatchObject({ status: 'sold', quantity: 0 })
  })

  it('a dispute that the console resolves for the buyer with a partial refund is recorded for the buyer', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem({ price: 10 }))) as [number]
    const { sliceKey, orderIds } = await buy(app, [[card, 1]])
    const order = orderIds[0]!
    await ship(shop, order, { tracking_code: 'CODE' })
    await act(app, order, 'dispute')
    const page = await app.open(`/console/orders/${sliceKey}`)
    await signIn(page, 'support')
    const dialog = await openAction(page, order, 'Resolve the dispute')
    await dialog.getByText('buyer', { exact: true }).click()
    await dialog.getByLabel('Partial refund').fill('2.50')
    await dialog.getByRole('button', { name: 'Resolve the dispute' }).click()
    await dialog.waitFor({ state: 'detached' })
    const { body } = await app.operator.get(`/operator/v1/disputes?order_id=${order}`)
    expect(body.data).toMatchObject([{ resolution: 'buyer', refund: 2.5 }])
  })

  it('after a refused action or a lost response, the console shows the record as it is now, and another attempt is about that', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem({ price: 10, quantity: 9 }))) as [number]
    const sell = async () => {
      const { sliceKey, orderIds } = await buy(app, [[card, 1]])
      await ship(shop, orderIds[0]!, { tracking_code: 'CODE' })
      return { sliceKey, order: orderIds[0]! }
    }
    const [one, two, three] = [await sell(), await sell(), await sell()]
    const page = await app.open(`/console/orders/${one.sliceKey}`, {
      expects: /status of 4\d\d|ERR_FAILED/,
    })
    page.on('dialog', (question) => question.accept())
    await signIn(page, 'admin')
    const main = page.getByRole('main')

    const refunding = await openAction(page, one.order, 'Refund')
    await refunding.getByText('€0.00 of 1 × €10.00').waitFor()
    await refund(one.order, 4)
    await refunding.getByLabel('Amount').fill('5')
    await refunding.getByLabel('Reason').fill('A bent corner')
    await refunding.getByRole('button', { name: 'Refund' }).click()
    await refunding.getByRole('alert').getByText('4.00 EUR').waitFor()
    await refunding.getByText('€4.00 of 1 × €10.00').waitFor()
    await refunding.getByRole('button', { name: 'Refund' }).click()
    await refunding.waitFor({ state: 'detached' })
    const refunded = await app.operator.get(`/operator/v1/orders/${one.order}`)
    expect(refunded.body.data.financial.refunded_amount).toBe(9)

    const receiving = await openAction(page, one.order, 'Mark as received')
    await act(app, one.order, 'cancel', { cancelled_by: 'buyer' })
    await receiving.getByRole('button', { name: 'Mark as received' }).click()
    await receiving
      .getByRole('alert')
      .getByText(/cancelled/)
      .waitFor()
    await page.keyboard.press('Escape')
    await main.getByText('by buyer').waitFor()

    await act(app, three.order, 'dispute')
    await page.goto(`${app.address}/console/orders/${three.sliceKey}`)
    const resolving = await openAction(page, three.order, 'Resolve the dispute')
    await resolving.getByText('In favour of the buyer,').waitFor()
    await act(app, three.order, 'resolve', { in_favour_of: 'seller' })
    await act(app, three.order, 'dispute')
    // A second press doesn't decide about a dispute that nobody has read.
    for (let press = 0; press < 2; press++) {
      const [answered] = await Promise.all([
        page.waitForResponse('**/resolve'),
        resolving.getByRole('button', { name: 'Resolve the dispute' }).click(),
      ])
      expect(answered.status()).toBe(409)
      await resolving.getByRole('alert').getByText('another dispute').waitFor()
    }
    await page.keyboard.press('Escape')

    await page.goto(`${app.address}/console/orders/${two.sliceKey}`)
    await loseResponse(page, '**/receive')
    const lost = await openAction(page, two.order, 'Mark as received')
    await lost.getByRole('button', { name: 'Mark as received' }).click()
    await lost.getByText(/connection to the service was lost/).waitFor()
    await page.locator('main').getByText('received', { exact: true }).waitFor()
    // Another attempt gets the response that was lost: the decision is this person's.
    await lost.getByRole('button', { name: 'Mark as received' }).click()
    await page
      .getByRole('status')
      .getByText(`Mark as received: order ${two.order} was changed.`)
      .waitFor()
    await lost.waitFor({ state: 'detached' })

    await act(app, two.order, 'review', { stars: 1, text: 'Call me at 555 123' })
    await page.goto(`${app.address}/console/reviews?order_id=${two.order}`)
    await page.getByRole('button', { name: /^Remove review/ }).click()
    const removing = page.getByRole('dialog')
    await removing.getByLabel('Reason').fill('It contains a telephone number.')
    await app.operator.delete(`/operator/v1/orders/${two.order}/review`, {
      payload: { reason: 'Removed by a colleague' },
    })
    await removing.getByRole('button', { name: 'Remove review' }).click()
    await removing.getByRole('alert').getByText(/./).waitFor()
    await page.keyboard.press('Escape')
    await main.getByText('Removed by a colleague').waitFor()
  })

  it('a dialog stays open while its write is under way, and a message tells of a refusal that comes after Back', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem({ price: 10 }))) as [number]
    const order = (await buy(app, [[card, 1]])).orderIds[0]!
    const page = await app.open(`/console/orders?q=${order}`, { expects: /status of 4\d\d/ })
    page.on('dialog', (question) => question.accept())
    await signIn(page, 'support')
    await page
      .getByRole('row', { name: new RegExp(String(order)) })
      .getByRole('link')
      .first()
      .click()
    const dialog = await openAction(page, order, 'Refund')
    await dialog.getByLabel('Amount').fill('5')
    await dialog.getByLabel('Reason').fill('A bent corner')
    const request = await holdRequests(page, '**/refund')
    await dialog.getByRole('button', { name: 'Refund' }).click()
    await request.sent
    for (const name of ['Back', 'Close']) {
      await dialog.getByRole('button', { name, disabled: true }).waitFor()
    }
    await page.keyboard.press('Escape')
    await expectAccessible(page)
    expect(await dialog.count()).toBe(1)
    await page.goBack()
    await dialog.waitFor({ state: 'detached' })
    await refund(order, 9)
    request.release()
    await page
      .getByRole('status')
      .getByText(/9.00 EUR/)
      .waitFor()
  })

  it('the sign-in page of the console says that a write was refused because its token was revoked', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const { sliceKey, orderIds } = await buy(app, [[card, 1]])
    const page = await app.open(`/console/orders/${sliceKey}`, { expects: /status of 401/ })
    await signIn(page, 'support')
    const dialog = await openAction(page, orderIds[0]!, 'Cancel')
    await dialog.getByLabel('Cancelled by').waitFor()
    const staff: { id: string }[] = (await app.operator.get('/operator/v1/staff')).body.data
    for (const { id } of staff) await app.operator.delete(`/operator/v1/staff/${id}`)
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByLabel('Staff token').waitFor()
    await page
      .getByRole('status')
      .getByText(/token is wrong/)
      .waitFor()
    await expectAccessible(page)
  })

  it('the order search applies the seller, the status and the days to the number of an order as well', async () => {
    const shop = await openShop(app, PARCEL)
    const { orderIds } = await insertSlice(app.ctx.db, shop.accountId)
    const [order] = orderIds as [number]
    const page = await app.open(`/console/orders?q=${order}&status=cancelled`)
    await signIn(page, 'support')
    const rows = page.getByRole('row', { name: new RegExp(`\\b${order}\\b`) })
    const none = page.getByText('No order rows match these filters')
    const expectRows = async (query: string, isFound: boolean) => {
      await page.goto(`${app.address}/console/orders?q=${order}&${query}`)
      await (isFound ? rows : none).first().waitFor()
    }
    await none.waitFor()
    await expectRows('status=pending', true)
    await expectRows(`account_id=${shop.accountId}`, true)
    await expectRows(`account_id=${shop.accountId + 1}`, false)
    await expectRows('from=2000-01-01&to=2099-12-31', true)
    await expectRows('to=2000-01-01', false)
    await expectRows('from=2099-12-31', false)
  })

  it('the console finds the orders that were sold until a day and still have to be shipped', async () => {
    const shop = await openShop(app, PARCEL)
    await insertSlice(app.ctx.db, shop.accountId)
    await app.ctx.db`
      update orders set created_at = '2026-02-28T23:30:00Z' where account_id = ${shop.accountId}
    `
    const page = await app.open(`/console/orders?account_id=${shop.accountId}&to=2026-03-01`)
    await signIn(page, 'support')
    await page.getByLabel('Status').selectOption('pending')
    // The next day in Berlin.
    await page.getByRole('cell', { name: '1 Mar 2026, 00:30' }).waitFor()
    await page.getByLabel('To', { exact: true }).fill('2026-02-28')
    await page.getByText('No order rows match these filters').waitFor()
  })

  it('an endpoint leads to its deliveries, which have a filter by day, unlike those of all sellers', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const endpoint = { url: 'https://hooks.example/days', events: ['order.created'] }
    const { data: added } = (await shop.post('/v1/webhooks', { payload: endpoint })).body
    await buy(app, [[card, 1]], {})
    const page = await app.open(`/console/sellers/${shop.accountId}`)
    await signIn(page, 'support')
    await page
      .getByRole('row', { name: /hooks.example/ })
      .getByRole('link', { name: 'Deliveries' })
      .click()
    await page.waitForURL(`**/deliveries?endpoint_id=${added.id}`)
    await page.goBack()
    await page.getByRole('row', { name: /hooks.example/ }).waitFor()
    expect(await page.getByRole('button', { name: /^(Delete|Suspend|Enable)/ }).count()).toBe(0)
    await page.goForward()
    const delivery = page.getByRole('row', { name: /order.created/ }).first()
    await delivery.waitFor()
    const from = page.getByLabel('From', { exact: true })
    await from.fill('2099-12-31')
    await page.getByText('No delivery matches these filters').waitFor()
    await page.getByLabel('Endpoint’s number').fill('')
    await from.waitFor({ state: 'detached' })
    await delivery.waitFor()
  })

  it('the links below a list lead to the heading of its first, previous, next and last page', async () => {
    const shop = await openShop(app, PARCEL)
    await insertSlice(app.ctx.db, shop.accountId, { rows: 95 })
    const page = await app.open(`/console/orders?account_id=${shop.accountId}`)
    await signIn(page, 'support')
    await page.getByText('1–30 of 95 order rows').waitFor()
    for (const [link, rows] of [
      ['Next', '31–60'],
      ['Previous', '1–30'],
      ['Last', '91–95'],
      ['Previous', '61–90'],
      ['First', '1–30'],
    ] as const) {
      await page.getByRole('link', { name: link }).click()
      await page.getByText(`${rows} of 95 order rows`).waitFor()
      await page.locator('h1:focus').waitFor()
    }
    expect(new URL(page.url()).pathname).toBe('/console/orders')
    await expectAccessible(page)
    await page.goto(`${app.address}/console/orders?account_id=${shop.accountId}&page=9`)
    await page.getByText('91–95 of 95 order rows').waitFor()
  })

  it('a role sees only its pages and actions', async () => {
    const page = await app.open('/console')
    await signIn(page, 'catalog')
    const navigation = page.getByRole('navigation', { name: 'Console' })
    await page.getByRole('heading', { level: 1, name: 'Listings' }).waitFor()
    expect(await navigation.getByRole('link').allTextContents()).toEqual(['Listings'])
    await page.getByText(/^[1-9].* listings$/).waitFor()
    expect(await page.getByRole('button', { name: /Take down/ }).count()).toBe(0)
  })

  it('the dialog of a refund shows the amount that is refunded now, also after its response was lost', async () => {
    const shop = await openShop(app, PARCEL)
    const [card] = (await list(shop, cardItem())) as [number]
    const order = (await buy(app, [[card, 1]])).orderIds[0]!
    const page = await app.open(`/console/orders?q=${order}`, {
      expects: /status of 401|ERR_FAILED/,
    })
    await signIn(page, 'support')
    const dialog = page.getByRole('dialog')
    const open = async () => {
      await page.getByRole('button', { name: `Actions for order ${order}` }).click()
      await page.getByRole('menuitem', { name: 'Refund' }).click()
    }
    await page
      .getByRole('row', { name: new RegExp(String(order)) })
      .getByRole('link')
      .first()
      .click()
    await open()
    await dialog.getByText('€0.00 of').waitFor()
    await dialog.getByRole('button', { name: 'Back' }).click()
    const payload = { amount: 1, reason: 'A scratch' }
    await app.operator.post(`/operator/v1/orders/${order}/refund`, { payload })

    await open()
    await dialog.getByText('€1.00 of').waitFor()
    await dialog.getByLabel('Amount').fill('1.50')
    await dialog.getByLabel('Reason').fill('A bent corner')
    await loseResponse(page, '**/refund')
    await dialog.getByRole('button', { name: 'Refund' }).click()
    await dialog.getByText('The connection to the service was lost.').waitFor()
    page.once('dialog', (question) => question.accept())
    await dialog.getByRole('button', { name: 'Back' }).click()
    await open()
    await dialog.getByText('€2.50 of').waitFor()
    await expectAccessible(page)
  })
})
