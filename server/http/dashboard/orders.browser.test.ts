import { setTimeout } from 'node:timers/promises'
import { PDFDocument } from '@pdfme/pdf-lib'
import { beforeAll, describe, expect, it } from 'vitest'
import { CANCELLATION_REQUESTED } from '../../carriers/carrier.ts'
import { ERASED_LABEL } from '../../shipping/shipments.ts'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  holdRequests,
  holdResponse,
  loseResponse,
  startBrowserApp,
  timeOutResponse,
  visit,
} from '../../test/browser.ts'
import { cardItem, list, NO_LIMITS, productItem } from '../../test/fixtures/listings.ts'
import {
  ADDRESS,
  act,
  buy,
  cancel,
  insertSlice,
  LABEL,
  openShop,
  PARCEL,
  ship,
} from '../../test/fixtures/orders.ts'

/** The pictures of cards are on a host that a test can't reach. */
const NO_PICTURES = /NAME_NOT_RESOLVED/

/** Longer than a filter waits for the next key. */
const TYPING_MS = 500

/** Orders on a page of the list. */
const PAGE_SIZE = 30

describe.skipIf(!chromiumPath)('the orders in the dashboard', () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp({ template: 'fixture', settings: NO_LIMITS })
  })

  /** A shop with orders of these buyers, and a member of it. */
  async function shopWith(option: typeof PARCEL, ...buyers: string[]) {
    const shop = await openShop(app, option)
    const orders: number[] = []
    for (const name of buyers) {
      const [card, box] = (await list(shop, cardItem(), productItem())) as [number, number]
      const lines: [number, number][] = [
        [card, 1],
        [box, 1],
      ]
      const sale = await buy(app, lines, { buyer: { name, email: 'buyer@mail.example' } })
      orders.push(sale.orderIds[0]!)
    }
    return { shop, orders, member: await app.member(shop.accountId) }
  }

  it('a seller finds an order by its buyer, cancels one item with a reason and ships the rest', async () => {
    const { member } = await shopWith(PARCEL, 'Misty Waterflower', 'Brock Harrison')
    const page = await app.open('/dashboard/orders', {
      member,
      expects: /status of 422|NAME_NOT_RESOLVED/,
    })
    await page.getByRole('row', { name: /Brock/ }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Buyer’s name').fill('water')
    await page.getByRole('row', { name: /Brock/ }).waitFor({ state: 'detached' })
    expect(new URL(page.url()).searchParams.get('buyer')).toBe('water')
    await page.getByRole('rowheader').getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: /^Order \d+, \d+$/ }).waitFor()
    await page.getByText('Cape Road 25 B').waitFor()
    await expectAccessible(page)

    await page
      .getByRole('button', { name: /^Cancel order/ })
      .first()
      .click()
    await page.getByRole('radio', { name: 'It is out of stock' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Cancel the order' }).click()
    await page.getByText('Cancelled by you: out of stock').waitFor()

    await page.getByRole('button', { name: 'Mark as shipped' }).click()
    await page.getByText(/tracking_code field is required/).waitFor()
    await page.getByLabel('Tracking code').fill('3SABCD')
    await page.getByRole('button', { name: 'Mark as shipped' }).click()
    await page.getByText('Nothing is left to ship.').waitFor()
    await page.goBack()
    await page.getByRole('row', { name: /Misty/ }).getByText('Shipped').waitFor()
  })

  it('an order that was changed elsewhere is shown as it is now, after its shipping or cancellation was refused, with the typed tracking code, and a shipment names the items that were cancelled', async () => {
    const { shop, orders, member } = await shopWith(PARCEL, 'Misty', 'Brock', 'Ash')
    const [one, two, three] = orders as [number, number, number]
    const page = await app.open(`/dashboard/orders/${one}`, { member, expects: /status of 409/ })
    const send = page.getByRole('button', { name: 'Mark as shipped' })
    await page.getByLabel('Tracking code').fill('CODE')
    await ship(shop, one, { tracking_code: 'OTHER' })
    await send.click()
    await page.getByText('This order has nothing left to ship.').waitFor()
    await page.getByText('OTHER').waitFor()
    expect(await send.count()).toBe(0)
    const unsent = page.getByRole('alert').filter({ hasText: 'Your tracking code was not saved' })
    await unsent.getByText('CODE', { exact: true }).waitFor()
    await expectAccessible(page)
    await unsent.getByRole('button', { name: 'Discard' }).click()
    await unsent.waitFor({ state: 'detached' })

    await page.goto(`${app.address}/dashboard/orders/${three}`)
    await page.getByLabel('Tracking code').fill('CODE')
    await cancel(app, three)
    await send.click()
    const status = page.getByRole('status')
    await status.getByText('Marked as shipped: 1 item. The buyer gets an e-mail.').waitFor()
    await status
      .getByText(`Order ${three} (Charizard ex) was cancelled meanwhile: don’t send it.`)
      .waitFor()
    // Only the new message is read.
    await page.locator('.toasts[aria-atomic="false"]').waitFor()
    expect(await unsent.count()).toBe(0)

    await page.goto(`${app.address}/dashboard/orders/${two}`)
    const cancels = page.getByRole('button', { name: /^Cancel order/ })
    await cancels.first().click()
    await ship(shop, two, { tracking_code: 'OTHER' })
    await page.getByRole('button', { name: 'Cancel the order' }).click()
    await page.getByRole('dialog').getByRole('alert').getByText(/./).waitFor()
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByText('OTHER').waitFor()
    expect(await cancels.count()).toBe(0)
  })

  it('the page of an order is read again after a label, a cancellation or a shipment without a response, and another attempt to cancel confirms that it is cancelled', async () => {
    const { orders, member } = await shopWith(LABEL, 'Misty', 'Brock')
    const [one, two] = orders as [number, number]
    const page = await app.open(`/dashboard/orders/${one}`, {
      member,
      expects: /status of (504|409)|ERR_FAILED|NAME_NOT_RESOLVED/,
    })
    await timeOutResponse(page, '**/label')
    await page.getByRole('button', { name: 'Buy label' }).click()
    await page.getByText('The label is ready.').waitFor()
    await loseResponse(page, '**/ship')
    await page.getByRole('button', { name: 'Mark as shipped' }).click()
    await page.getByText('Nothing is left to ship.').waitFor()

    await page.goto(`${app.address}/dashboard/orders/${two}`)
    await page.getByRole('button', { name: `Cancel order ${two}` }).click()
    await timeOutResponse(page, '**/cancel')
    await page.getByRole('button', { name: 'Cancel the order' }).click()
    await page.getByRole('alert').getByText('look before you try again').waitFor()
    await page.getByText('Cancelled by you: out of stock').waitFor()
    await page.getByRole('button', { name: 'Cancel the order' }).click()
    await page.getByText(`Order ${two} was cancelled.`).waitFor()
  })

  it('the dialog of a cancellation names the part that was refunded before', async () => {
    const { orders, member } = await shopWith(PARCEL, 'Misty')
    const [order] = orders as [number]
    const payload = { amount: 1, reason: 'A bent corner' }
    await app.operator.post(`/operator/v1/orders/${order}/refund`, { payload })
    const page = await app.open(`/dashboard/orders/${order}`, { member })
    await page.getByRole('button', { name: `Cancel order ${order}` }).click()
    await page.getByText('refunded €4.50 for 1 unit of Charizard ex, less the €1.00').waitFor()
    await expectAccessible(page)
  })

  it('an order whose price is refunded in part does not promise its whole net to the seller', async () => {
    const { orders, member } = await shopWith(PARCEL, 'Misty')
    const payload = { amount: 1, reason: 'A bent corner' }
    await app.operator.post(`/operator/v1/orders/${orders[0]}/refund`, { payload })
    const page = await app.open(`/dashboard/orders/${orders[0]}`, { member })
    await page.getByText('Refunded €1.00').waitFor()
    await page.getByText('Cancellations and refunds are not deducted.').waitFor()
    await page.getByText('€1.00 refunded: A bent corner').waitFor()
    expect(await page.getByText('You receive').count()).toBe(0)
  })

  it('a click next to a dialog asks once something was chosen in it', async () => {
    const { orders, member } = await shopWith(PARCEL, 'Misty')
    const page = await app.open(`/dashboard/orders/${orders[0]}`, { member })
    const cancel = page.getByRole('button', { name: `Cancel order ${orders[0]}` })
    const reason = page.getByRole('radio', { name: 'The buyer asked for it' })
    const dialog = page.getByRole('dialog')
    let questions = 0
    page.on('dialog', (question) => {
      questions += 1
      return questions === 1 ? question.dismiss() : question.accept()
    })
    await cancel.click()
    await dialog.waitFor()
    await page.mouse.click(5, 5)
    await dialog.waitFor({ state: 'detached' })
    expect(questions).toBe(0)

    await cancel.click()
    await page.getByText('The buyer asked for it').click()
    await page.mouse.click(5, 5)
    await expect.poll(() => questions).toBe(1)
    expect(await reason.isChecked()).toBe(true)
    await page.mouse.click(5, 5)
    await dialog.waitFor({ state: 'detached' })
    expect(questions).toBe(2)
  })

  it('the dialog of the last cancellation of an order names its shipping', async () => {
    const { orders, member } = await shopWith(PARCEL, 'Misty')
    const [order] = orders as [number]
    const page = await app.open(`/dashboard/orders/${order}`, { member })
    const shipping = page.getByRole('dialog').getByText('The shipping of €')
    for (const id of [order, order + 1]) {
      await page.getByRole('button', { name: `Cancel order ${id}` }).click()
      await page.getByRole('dialog').getByText('A cancellation is final.').waitFor()
      expect(await shipping.count()).toBe(id === order ? 0 : 1)
      await page.getByRole('button', { name: 'Cancel the order' }).click()
      await page.getByText(`Order ${id} was cancelled.`).waitFor()
    }
  })

  it('Older and Newer lead through the orders of a filter, and a page that has become empty to the first', async () => {
    const { shop, member } = await shopWith(PARCEL)
    for (let order = 0; order <= PAGE_SIZE; order++) await insertSlice(app.ctx.db, shop.accountId)
    const page = await app.open('/dashboard/orders?status=pending', { member, width: 360 })
    const rows = page.getByRole('table', { name: 'Orders' }).getByRole('rowheader')
    await rows.nth(PAGE_SIZE - 1).waitFor()
    await page.getByRole('link', { name: 'Older' }).click()
    await page.waitForURL('**/dashboard/orders?status=pending&after=*')
    await rows.nth(PAGE_SIZE - 1).waitFor({ state: 'detached' })
    expect(await rows.count()).toBe(1)
    await page.getByRole('link', { name: 'Newer' }).click()
    await page.waitForURL('**/dashboard/orders?status=pending&before=*')
    await rows.nth(PAGE_SIZE - 1).waitFor()
    // The links are below the rows, and the page that they lead to is shown from its beginning.
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await page.getByRole('link', { name: 'Older' }).click()
    expect(await page.evaluate('scrollY')).toBe(0)
    await page.waitForURL('**/dashboard/orders?status=pending&after=*')
    await rows.nth(PAGE_SIZE - 1).waitFor({ state: 'detached' })
    const address = await rows.getByRole('link').getAttribute('href')
    await cancel(app, Number(address!.split('/').at(-1)))
    await page.reload()
    await page.waitForURL('**/dashboard/orders?status=pending')
    await rows.nth(PAGE_SIZE - 1).waitFor()
  })

  it('Clear filters removes every filter and the position, also when no order matches', async () => {
    const { shop, member } = await shopWith(PARCEL)
    for (let order = 0; order <= PAGE_SIZE; order++) await insertSlice(app.ctx.db, shop.accountId)
    const page = await app.open('/dashboard/orders?status=pending', { member })
    const clear = page.getByRole('button', { name: 'Clear filters' })
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByRole('link', { name: 'Newer' }).waitFor()
    await clear.click()
    await page.waitForURL('**/dashboard/orders')
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByRole('link', { name: 'Newer' }).waitFor()
    await page.getByLabel('Buyer’s name').fill('nobody')
    await page.getByText('No order matches these filters').waitFor()
    expect(new URL(page.url()).search).toBe('?buyer=nobody')
    await clear.last().click()
    await page.waitForURL('**/dashboard/orders')
    await page.getByRole('link', { name: 'Older' }).waitFor()
  })

  it('a date filter that is typed takes effect when it is complete, and is one step for Back', async () => {
    const { member } = await shopWith(PARCEL)
    const page = await app.open('/dashboard/orders', { member })
    const from = page.getByLabel('From')
    const search = () => new URL(page.url()).search
    await from.focus()
    // The order of day and month is the machine's.
    await page.keyboard.type('11112026', { delay: 50 })
    await page.waitForURL('**/orders?from=2026-11-11')
    await page.keyboard.press('ArrowUp')
    await page.waitForURL('**/orders?from=2027-11-11')
    await page.goBack()
    await expect.poll(search).toBe('')
    expect(await from.inputValue()).toBe('')
    await page.goForward()
    await expect.poll(() => from.inputValue()).toBe('2027-11-11')

    await page.getByLabel('To', { exact: true }).focus()
    await from.focus()
    await page.keyboard.press('Delete')
    expect(search()).toBe('?from=2027-11-11')
    await page.keyboard.type('10')
    await page.waitForURL(/from=2027-(10-11|11-10)/)
    const changed = await from.inputValue()
    await from.focus()
    await page.keyboard.press('Delete')
    await page.getByLabel('To', { exact: true }).focus()
    expect(await from.inputValue()).toBe(changed)

    await from.focus()
    for (const key of ['Delete', 'Tab', 'Delete', 'Tab', 'Delete']) await page.keyboard.press(key)
    await expect.poll(search).toBe('')
  })

  it('a text that was just typed in a filter neither leads back from the page of a link nor survives Clear filters', async () => {
    const { member } = await shopWith(PARCEL)
    const page = await app.open('/dashboard/orders?status=pending', { member })
    const buyer = page.getByLabel('Buyer’s name')
    const clear = page.getByRole('search').getByRole('button', { name: 'Clear filters' })
    await clear.waitFor()
    await buyer.fill('misty')
    await clear.click()
    await setTimeout(TYPING_MS)
    expect(new URL(page.url()).search).toBe('')
    expect(await buyer.inputValue()).toBe('')

    // The page of before stays, hidden, while the code of the next one is loaded.
    await page.route('**/assets/*', async (route) => {
      await setTimeout(TYPING_MS)
      await route.continue()
    })
    await buyer.fill('misty')
    await page.getByRole('link', { name: 'Listings' }).click()
    await page.getByRole('heading', { level: 1, name: 'Listings' }).waitFor()
    await setTimeout(TYPING_MS)
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/dashboard/listings')
  })

  it('several labels are bought at once, and each outcome is shown', async () => {
    const { member, orders } = await shopWith(LABEL, 'Ash Ketchum', 'Gary Oak')
    const page = await app.open('/dashboard/orders', { member, expects: NO_PICTURES })
    await page.getByRole('row', { name: /Gary/ }).waitFor()
    await page.locator('thead label').click()
    await page.getByRole('button', { name: 'Get labels' }).click()
    const link = page.getByRole('link', { name: /Open 2 labels as one PDF/ })
    await link.waitFor()
    await expectAccessible(page)
    const url = new URL((await link.getAttribute('href'))!, app.address)
    const opened = url.searchParams.get('orders')!.split(',').map(Number)
    expect(opened.toSorted((a, b) => a - b)).toEqual(orders)
    const pdf = await page.request.get(url.href)
    expect(pdf.headers()['content-type']).toBe('application/pdf')
  })

  it('the label of an order that was cancelled after the purchase is not offered to print', async () => {
    const { shop, member, orders } = await shopWith(LABEL, 'Ash Ketchum', 'Gary Oak')
    await shop.post('/tools/v1/labels', { payload: { orders } })
    const page = await app.open('/dashboard/orders', { member, expects: NO_PICTURES })
    await page.getByRole('row', { name: /Gary/ }).waitFor()
    const { body } = await shop.get(`/v1/orders/${orders[1]}`)
    for (const { id } of body.data.orders) await cancel(app, id)
    await page.locator('thead label').click()
    await page.getByRole('button', { name: 'Get labels' }).click()
    await page.getByText('don’t use its label').waitFor()
    const link = page.getByRole('link', { name: 'Open 1 label as one PDF' })
    const url = new URL((await link.getAttribute('href'))!, app.address)
    expect(url.searchParams.get('orders')).toBe(String(orders[0]))
  })

  it('a phone selects all orders of a page at once', async () => {
    const { member } = await shopWith(PARCEL, 'Ash Ketchum', 'Gary Oak')
    const page = await app.open('/dashboard/orders', { member, width: 360, expects: NO_PICTURES })
    await page.getByText('Select all', { exact: true }).click()
    await page.getByText('2 orders selected').waitFor()
    await page.getByRole('status').getByText('Selected: 2 orders').waitFor()
    expect(await page.getByRole('checkbox', { name: /^Select all/ }).isChecked()).toBe(true)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await expectAccessible(page)
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.getByText('Select all', { exact: true }).waitFor({ state: 'hidden' })
  })

  it.each([
    ['ready', 'The label is ready.'],
    ['processing', /The carrier prepares the PDF/],
    ['action_required', /withholds its label/],
    ['error', /The carrier could not provide the label/],
  ])('the outcome %s of a label is explained', async (label, text) => {
    const { member, orders } = await shopWith(LABEL, 'Ash Ketchum')
    const page = await app.open(`/dashboard/orders/${orders[0]}`, {
      member,
      expects: /status of 502|NAME_NOT_RESOLVED/,
    })
    await app.operator.put('/operator/v1/sandbox/carrier', { payload: { label } })
    await page.getByRole('button', { name: 'Buy label' }).click()
    await page.getByText(text).first().waitFor()
    await app.operator.put('/operator/v1/sandbox/carrier', { payload: { label: 'ready' } })
    await expectAccessible(page)
  })

  it('the outcome of labels whose page was left meanwhile is shown on the next one', async () => {
    const { member, orders } = await shopWith(LABEL, 'Ash Ketchum', 'Gary Oak')
    const page = await app.open('/dashboard/orders', {
      member,
      expects: /status of 502|NAME_NOT_RESOLVED/,
    })
    await app.operator.put('/operator/v1/sandbox/carrier', { payload: { label: 'error' } })
    const leaveWhile = async (button: string, path: string) => {
      const response = await holdResponse(page, path)
      await page.getByRole('button', { name: button }).click()
      await response.ready
      await page.getByRole('link', { name: 'Payouts' }).click()
      await page.getByRole('heading', { level: 1, name: 'Payouts' }).waitFor()
      response.release()
    }
    await page.locator('thead label').click()
    await leaveWhile('Get labels', '**/orders/labels')
    const message = 'The carrier could not provide the label'
    const [first, second] = orders.toReversed()
    await page.getByText(`0 labels are ready. Orders ${first}, ${second}: ${message}`).waitFor()

    await visit(page, `/dashboard/orders/${first}`)
    await leaveWhile('Buy label', `**/orders/${first}/label`)
    await page.getByText(`Label of order ${first}: ${message}`).waitFor()
    await app.operator.put('/operator/v1/sandbox/carrier', { payload: { label: 'ready' } })
    await visit(page, `/dashboard/orders/${first}`)
    await leaveWhile('Buy label', `**/orders/${first}/label`)
    await page.getByText(`Label of order ${first}: The label is ready.`).waitFor()
  })

  it('another check of a label announces no purchase, a requested cancellation is a warning, and a label that was deleted is not said to be withheld', async () => {
    const { shop, member, orders } = await shopWith(LABEL, 'Ash Ketchum')
    const carrier = '/operator/v1/sandbox/carrier'
    await app.operator.put(carrier, { payload: { label: 'processing' } })
    await shop.post(`/v1/orders/${orders[0]}/label`)
    const page = await app.open(`/dashboard/orders/${orders[0]}`, { member, expects: NO_PICTURES })
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.getByText('The label is not ready.').waitFor()
    expect(await page.getByText('The label was bought, without a PDF.').count()).toBe(0)
    await app.operator.put(carrier, { payload: { label: 'ready' } })

    await app.ctx.db`
      update shipments set message = ${CANCELLATION_REQUESTED} where order_id = ${orders[0]!}
    `
    await page.reload()
    await page.locator('.notice.warn').getByText(CANCELLATION_REQUESTED).waitFor()

    const { status, message } = ERASED_LABEL
    await app.ctx.db`
      update shipments set status = ${status}, message = ${message} where order_id = ${orders[0]!}
    `
    await page.reload()
    await page.getByText(message).waitFor()
    expect(await page.getByText(/withholds/).count()).toBe(0)
  })

  it('the message of a failed purchase disappears once the label is there', async () => {
    const { shop, member, orders } = await shopWith(LABEL, 'Ash Ketchum')
    const carrier = '/operator/v1/sandbox/carrier'
    await app.operator.put(carrier, { payload: { label: 'error' } })
    const page = await app.open(`/dashboard/orders/${orders[0]}`, {
      member,
      expects: /status of 502/,
    })
    await page.getByRole('button', { name: 'Buy label' }).click()
    await page.getByRole('alert').getByText(/./).waitFor()
    await app.operator.put(carrier, { payload: { label: 'ready' } })
    await shop.post(`/v1/orders/${orders[0]}/label`)
    // Returning to the tab reads the order again.
    await page.clock.install({ time: Date.now() + 60_000 })
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    await page.getByText('The label is ready.').waitFor()
    expect(await page.getByRole('alert').getByText(/./).count()).toBe(0)
  })

  it('the page of an order whose label was bought, or may have been, says that only the marketplace can cancel it', async () => {
    const { shop, member, orders } = await shopWith(LABEL, 'Ash Ketchum', 'Gary Oak')
    const [bought, doubtful] = orders as [number, number]
    const page = await app.open(`/dashboard/orders/${bought}`, { member, expects: NO_PICTURES })
    const reason = page.getByText('only the marketplace can cancel this order')
    const cancels = page.getByRole('button', { name: /^Cancel order/ })
    await cancels.first().waitFor()
    expect(await reason.count()).toBe(0)
    await page.getByRole('button', { name: 'Buy label' }).click()
    await reason.waitFor()
    expect(await cancels.count()).toBe(0)
    await expectAccessible(page)

    const carrier = '/operator/v1/sandbox/carrier'
    await app.operator.put(carrier, { payload: { label: 'error' } })
    await shop.post(`/v1/orders/${doubtful}/label`)
    await app.operator.put(carrier, { payload: { label: 'ready' } })
    await app.ctx.db`update shipments set in_doubt = true where order_id = ${doubtful}`
    await page.goto(`${app.address}/dashboard/orders/${doubtful}`)
    await reason.waitFor()
  })

  it('a double click on "Buy label" buys it with one request', async () => {
    const { member, orders } = await shopWith(LABEL, 'Ash Ketchum')
    const page = await app.open(`/dashboard/orders/${orders[0]}`, { member })
    let requests = 0
    page.on('request', (request) => {
      if (request.method() === 'POST') requests++
    })
    await page.getByRole('button', { name: 'Buy label' }).dblclick()
    await page.getByText('The label is ready.').first().waitFor()
    expect(requests).toBe(1)
  })

  it('the pick list and the packing slips are pages that print without scripts', async () => {
    const { member, orders } = await shopWith(PARCEL, 'Misty Waterflower')
    const page = await app.open(`/dashboard/api/orders/packing?orders=${orders[0]}&paper=a6`, {
      member,
    })
    await page.getByRole('heading', { name: 'Pick list' }).waitFor()
    await expectAccessible(page)
  })

  it('a long reference leaves the headers of the pick list whole', async () => {
    const shop = await openShop(app)
    const [card] = (await list(shop, cardItem())) as [number]
    await shop.post('/tools/v1/listings/changes', {
      payload: { items: [{ id: card, reference: 'R'.repeat(100) }] },
    })
    const { orderIds } = await buy(app, [[card, 1]])
    const page = await app.open(
      `/dashboard/api/orders/packing?orders=${orderIds[0]}&document=pick_list&paper=a6`,
      { member: await app.member(shop.accountId), width: 320 },
    )
    await page.getByText('R'.repeat(100)).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    const headers = await page.getByRole('row').first().boundingBox()
    expect(headers!.height).toBeLessThan(30)
  })

  it.each([
    ['a4', 595, 842],
    ['a6', 298, 420],
  ])(
    'packing slips for %s print on sheets of that size, and a long name stays within them',
    async (paper, width, height) => {
      const shop = await openShop(app)
      const [card] = (await list(shop, cardItem())) as [number]
      const address = { ...ADDRESS, full_name: 'W'.repeat(200) }
      const buyer = { name: address.full_name, email: 'w@mail.example' }
      const { orderIds } = await buy(app, [[card, 1]], { address, buyer })
      const member = await app.member(shop.accountId)
      const page = await app.open(
        `/dashboard/api/orders/packing?orders=${orderIds[0]}&document=slips&paper=${paper}`,
        { member, width: 320 },
      )
      await page.getByText(address.full_name).first().waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
      const printed = await PDFDocument.load(await page.pdf({ preferCSSPageSize: true }))
      expect(printed.getPages().map((sheet) => sheet.getSize())).toEqual([
        { width: expect.closeTo(width, -1), height: expect.closeTo(height, -1) },
      ])
    },
  )

  it('no table breaks a word on a tablet, and neither a phone nor the longest name of a buyer makes one wider than its frame', async () => {
    const { shop, orders, member } = await shopWith(PARCEL, 'W'.repeat(200))
    await ship(shop, orders[0]!, { tracking_code: 'CODE' })
    await act(app, orders[0]!, 'dispute', { reason: 'not_as_described', message: 'A crease' })
    const page = await app.open('/dashboard/orders/disputes', {
      member,
      width: 768,
      expects: NO_PICTURES,
    })
    const name = page.getByRole('rowheader').getByRole('link')
    const lines = await name.evaluate((link) => link.getClientRects().length)
    expect(lines).toBeLessThanOrEqual('Charizard ex'.split(' ').length)
    const frame = page.locator('.table-frame')
    const excess = () => frame.evaluate((frame) => frame.scrollWidth - frame.clientWidth)
    await page.setViewportSize({ width: 320, height: 900 })
    expect(await excess()).toBe(0)
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(`${app.address}/dashboard/orders`)
    await page.getByText('W'.repeat(200)).waitFor()
    expect(await excess()).toBe(0)
  })

  it('a seller answers a dispute from the list of disputes, and replies to a review', async () => {
    const { member, shop, orders } = await shopWith(PARCEL, 'Misty Waterflower', 'Brock Harrison')
    for (const order of orders) await ship(shop, order, { tracking_code: 'CODE' })
    const [disputed, reviewed] = orders as [number, number]
    const problem = { reason: 'damaged', message: 'A corner is bent.' }
    await act(app, disputed, 'dispute', problem)
    await act(app, reviewed, 'receive')
    const review = { stars: 4, text: 'Well packed.' }
    await app.operator.post(`/operator/v1/orders/${reviewed}/review`, { payload: review })

    const page = await app.open('/dashboard/orders/disputes', {
      member,
      width: 360,
      expects: /status of (422|500)|NAME_NOT_RESOLVED/,
    })
    await page.getByRole('row', { name: /Damaged/ }).waitFor()
    await expectAccessible(page)
    // A dispute that can’t be read must not look like none: its answer is due.
    await page.route('**/dispute*', (route) => route.fulfill({ status: 500 }))
    await page.getByRole('rowheader').getByRole('link').click()
    await page.getByText('This could not be loaded').waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText(problem.message).waitFor()
    await page.getByRole('button', { name: 'Send the answer' }).click()
    await page.getByText(/message field/).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Your answer').fill('It was fine when I sent it.')
    await page.getByLabel('Links to photos').fill('https://photos.example/before.jpg')
    await page.getByRole('button', { name: 'Send the answer' }).click()
    await page.getByText('Being decided').waitFor()
    await page.getByRole('link', { name: 'https://photos.example/before.jpg' }).waitFor()
    await expectAccessible(page)

    await page.goto(`${app.address}/dashboard/orders/reviews`)
    await page.getByText(review.text).waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: `Order ${reviewed}: reply` }).click()
    await page.getByLabel('Your reply').fill('Thank you!')
    await page.getByRole('button', { name: 'Reply' }).click()
    await page.getByText(/^You replied/).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Change the reply' }).click()
    expect(await page.getByLabel('Your reply').inputValue()).toBe('Thank you!')
    await page.getByLabel('Your reply').fill('Thank you, Brock!')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Reply', exact: true }).click()
    await page.getByLabel('Your reply').waitFor({ state: 'detached' })
    await page.getByText('Thank you, Brock!').waitFor()
  })

  /** Opens the page of an order that its buyer has reviewed. */
  const openReviewed = async () => {
    const { member, shop, orders } = await shopWith(PARCEL, 'Misty')
    const [order] = orders as [number]
    await ship(shop, order, { tracking_code: 'CODE' })
    await act(app, order, 'receive')
    const { body } = await act(app, order, 'review', { stars: 4 })
    const page = await app.open(`/dashboard/orders/${order}`, {
      member,
      expects: /status of 40[49]/,
    })
    return {
      page,
      order,
      typed: page.getByLabel('Your reply'),
      send: page.getByRole('button', { name: 'Reply', exact: true }),
      replyElsewhere: (text: string) =>
        member.post(`/dashboard/api/reviews/${body.data.id}/reply`, { payload: { text } }),
    }
  }

  it('a reply to a review keeps its text if another member has replied meanwhile, replaces that reply once it was shown, and can be copied if the review was removed', async () => {
    const { page, order, typed, send, replyElsewhere } = await openReviewed()
    const text = 'Enjoy the card, Misty!'
    const other = 'Thanks from all of us'
    await typed.fill(text)
    await replyElsewhere(other)
    await send.click()
    await page.getByText('Another reply was saved meanwhile.').waitFor()
    await page.getByText(other).waitFor()
    expect(await typed.inputValue()).toBe(text)
    await send.click()
    await typed.waitFor({ state: 'detached' })
    await page.getByText(text).waitFor()
    expect(await page.getByText(other).count()).toBe(0)

    await page.getByRole('button', { name: 'Change the reply' }).click()
    await typed.fill('Come again!')
    const payload = { reason: 'Spam' }
    await app.operator.delete(`/operator/v1/orders/${order}/review`, { payload })
    await send.click()
    const unsent = page.getByRole('alert').filter({ hasText: 'This review was removed.' })
    await unsent.getByText('Come again!').waitFor()
    await expectAccessible(page)
    await unsent.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('region', { name: 'Review' }).waitFor({ state: 'detached' })
  })

  it('a reply to a review keeps what is typed while it is saved', async () => {
    const { page, typed, send } = await openReviewed()
    const text = 'Enjoy the card, Misty!'
    await typed.fill(text)
    const request = await holdRequests(page, '**/reply')
    await send.click()
    await request.sent
    const longer = `${text} Come again!`
    await typed.fill(longer)
    request.release()
    await page.getByText('Your reply is public now.').waitFor()
    expect(await typed.inputValue()).toBe(longer)
    await send.click()
    await typed.waitFor({ state: 'detached' })
    await page.getByText(longer).waitFor()
  })

  it('an answer to a dispute that another member has answered meanwhile can be copied, and says why it was refused', async () => {
    const { member, shop, orders } = await shopWith(PARCEL, 'Misty')
    const [order] = orders as [number]
    await ship(shop, order, { tracking_code: 'CODE' })
    await act(app, order, 'dispute', { reason: 'damaged', message: 'A corner is bent.' })
    const page = await app.open(`/dashboard/orders/${order}`, { member, expects: /status of 409/ })
    const answer = page.getByLabel('Your answer')
    await answer.fill('It was fine when I sent it.')
    const other = { message: 'We packed it well.', photo_urls: [] }
    await member.post(`/dashboard/api/orders/${order}/dispute/answer`, { payload: other })
    await page.getByRole('button', { name: 'Send the answer' }).click()
    await page.getByText(other.message).waitFor()
    await page.getByText('The dispute has already been answered.').waitFor()
    expect(await answer.count()).toBe(0)
    const unsent = page.getByRole('alert').filter({ hasText: 'Your text was not sent' })
    await unsent.getByText('It was fine when I sent it.').waitFor()
    await unsent.getByRole('button', { name: 'Discard' }).click()
    await unsent.waitFor({ state: 'detached' })
  })

  it('the page of an order tells a dispute that ended with a partial refund for the buyer from one that cancelled the item', async () => {
    const { member, shop, orders } = await shopWith(PARCEL, 'Misty')
    const [order] = orders as [number]
    await ship(shop, order, { tracking_code: 'CODE' })
    for (const [row, refund] of [
      [order, { refund: 2.5 }],
      [order + 1, {}],
    ] as const) {
      await act(app, row, 'dispute', { reason: 'damaged' })
      await act(app, row, 'resolve', { in_favour_of: 'buyer', ...refund })
    }
    const page = await app.open(`/dashboard/orders/${order}`, { member, expects: NO_PICTURES })
    const sections = page.getByRole('region', { name: /^Dispute about/ })
    const partial = sections.filter({ hasText: 'The marketplace decided for a partial refund.' })
    await partial.getByText('€2.50').waitFor()
    await sections.filter({ hasText: 'The marketplace decided for the buyer.' }).waitFor()
    expect(await sections.count()).toBe(2)
  })

  it('the pages of an order say that the buyer’s data was erased, and offer no reply', async () => {
    const { shop, member, orders } = await shopWith(PARCEL, 'Ash Ketchum')
    const [order] = orders as [number]
    await ship(shop, order, { tracking_code: 'CODE' })
    for (const id of [order, order + 1]) await act(app, id, 'receive')
    await act(app, order, 'review', { stars: 4, text: 'Thank you' })
    await act(app, order, 'dispute', { reason: 'damaged', message: 'A crease' })
    const answer = { payload: { message: 'Dear Ash', photo_urls: [] } }
    await member.post(`/dashboard/api/orders/${order}/dispute/answer`, answer)
    await act(app, order, 'resolve', { in_favour_of: 'seller' })
    await app.operator.post('/operator/v1/buyers/erase', {
      payload: { email: 'buyer@mail.example' },
    })

    const page = await app.open('/dashboard/orders', { member, width: 320, expects: NO_PICTURES })
    await page.getByRole('row', { name: /Erased buyer/ }).waitFor()
    await page.getByRole('checkbox', { name: `Select order ${order} of an erased buyer` }).waitFor()
    await expectAccessible(page)
    await page.getByRole('rowheader').getByRole('link').click()
    await page.getByText(/^Erased buyer, /).waitFor()
    await page.getByText('The buyer’s data was erased.', { exact: true }).waitFor()
    await page.getByText('You can no longer reply').waitFor()
    await page.getByText('The text was erased with the buyer’s data.').waitFor()
    expect(await page.getByRole('form', { name: 'Reply to the review' }).count()).toBe(0)
    await expectAccessible(page)
    await page.goto(`${app.address}/dashboard/orders/reviews`)
    await page.getByRole('link', { name: `Order ${order}`, exact: true }).waitFor()
    await page.goto(`${app.address}/dashboard/api/orders/packing?orders=${order}&document=slips`)
    await page.getByText('There is nothing to pack.').waitFor()
  })

  it('a shop without orders, an unknown order and another seller’s order each say so', async () => {
    const { orders } = await shopWith(PARCEL, 'Misty')
    const { member } = await shopWith(PARCEL)
    const page = await app.open('/dashboard/orders', { member, expects: /status of 404/ })
    await page.getByText('No orders yet').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Disputes' }).click()
    await page.getByText('No disputes').waitFor()
    await page.getByRole('link', { name: 'Reviews' }).click()
    await page.getByText('No reviews yet').waitFor()
    await page.goto(`${app.address}/dashboard/orders/${orders[0]}`)
    await page.getByText('This doesn’t exist').waitFor()
    await page.goto(`${app.address}/dashboard/orders/abc`)
    await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor()
    await expectAccessible(page)
  })
})
