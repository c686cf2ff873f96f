import { beforeAll, describe, expect, it } from 'vitest'
import { submitSetup } from '../../money/payout-setup.ts'
import {
  type BrowserApp,
  chromiumPath,
  downloadBy,
  expectAccessible,
  holdRequests,
  startBrowserApp,
  timeOutResponse,
} from '../../test/browser.ts'
import { cardItem, list } from '../../test/fixtures/listings.ts'
import {
  act,
  buy,
  insertSlices,
  LABEL,
  openShop,
  PARCEL,
  ship,
  shipsBy,
} from '../../test/fixtures/orders.ts'

const SETUP = '/dashboard/api/payouts/setup'

describe.skipIf(!chromiumPath)('the page Payouts', () => {
  let app: BrowserApp
  beforeAll(async () => {
    app = await startBrowserApp({ template: 'fixture' })
  })
  /** Submits a bank account that needs the confirmation by e-mail, as outside the sandbox. */
  const submitUnconfirmed = async (accountId: number, holder: string, iban: string) => {
    const live = { ...app.ctx, config: { ...app.ctx.config, sandbox: false } }
    await submitSetup(live, accountId, { holder, iban, password: undefined }, async () => {})
  }

  it('a seller enters a bank account, which the page shows also if the response is lost, sees the payout of an order, and downloads the statement', async () => {
    const seller = await app.seller({ account: { ...shipsBy(PARCEL), payoutVerified: false } })
    const member = await app.member(seller.accountId)
    const page = await app.open('/dashboard/payouts', {
      member,
      width: 360,
      expects: /422|504|NAME_NOT_RESOLVED/,
    })
    await page.getByRole('link', { name: 'Enter the bank account' }).click()
    await page.getByLabel('Holder').fill('Kanto Cards')
    await page.getByLabel('IBAN').fill('NL02 ABNA 0123 4567 80')
    await page.getByRole('button', { name: 'Save bank account' }).click()
    await page.getByText('must be a valid IBAN').waitFor()
    await expectAccessible(page)
    await page.getByLabel('IBAN').fill('NL02 ABNA 0123 4567 89')
    // The message disappears when the field loses the focus, which moves the button.
    await page.getByLabel('IBAN').blur()
    await timeOutResponse(page, `**${SETUP}`)
    await page.getByRole('button', { name: 'Save bank account' }).click()
    await page.getByText('Verified', { exact: true }).waitFor()
    // Another attempt would be a change.
    await page.getByLabel('Password').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('NL •••• 6789').waitFor()

    const [listing] = await list(seller, cardItem({ price: 10 }))
    const { orderIds } = await buy(app, [[listing!, 1]])
    await ship(seller, orderIds[0]!, { tracking_code: 'CODE' })
    await act(app, orderIds[0]!, 'receive')
    await page.getByRole('link', { name: 'Payouts', exact: true }).last().click()
    const payouts = page.getByRole('table', { name: 'Payouts' })
    await payouts.getByText('€16.45').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await expectAccessible(page)
    await payouts.getByRole('link').click()
    await page.getByRole('table', { name: 'Orders of this payout' }).getByText('€0.50').waitFor()
    await expectAccessible(page)

    await page.goto(`${app.address}/dashboard/payouts/statements`)
    await page.getByRole('table', { name: /^Statement of/ }).waitFor()
    const row = page.getByRole('row', { name: /^Closing balance/ })
    await row.getByText('€16.45').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await expectAccessible(page)
    // On paper the statement has its own heading, and a page that is opened afterwards keeps its.
    await page.emulateMedia({ media: 'print' })
    const heading = page.getByRole('heading', { level: 1 })
    await heading.waitFor({ state: 'hidden' })
    await page.evaluate(`history.pushState(null, '', '/dashboard/orders/${orderIds[0]}')`)
    await heading.filter({ hasText: `Order ${orderIds[0]}` }).waitFor()
    await page.emulateMedia({ media: 'screen' })

    await page.goto(`${app.address}/dashboard/payouts/statements?month=2026-13`)
    await page.getByText('This could not be loaded').waitFor()
    await page.getByLabel('Month').selectOption({ index: 1 })
    await row.getByText('€16.45').waitFor()
    const file = await downloadBy(page, page.getByRole('link', { name: 'Download CSV' }))
    expect(file.suggestedFilename()).toMatch(/^statement-\d{4}-\d\d\.csv$/)
  })

  it('the payouts show what the shop owes after refunds that exceeded what was left to pay out, until later payouts have paid it', async () => {
    const seller = await openShop(app)
    const member = await app.member(seller.accountId)
    /** Sells a card and has it received: the seller earns 9.50, and 6.95 for the shipping. */
    const received = async () => {
      const [listing] = await list(seller, cardItem({ price: 10 }))
      const [order] = (await buy(app, [[listing!, 1]])).orderIds as [number]
      await ship(seller, order, { tracking_code: 'CODE' })
      await act(app, order, 'receive')
      return order
    }
    const owed = async () => (await member.get('/dashboard/api/payouts')).body.owed
    const first = await received()
    await act(app, first, 'dispute')
    expect(await owed()).toBe(0)
    await act(app, first, 'resolve', { in_favour_of: 'seller' })
    await app.operator.post('/operator/v1/payout-runs')
    await act(app, first, 'dispute')
    await act(app, first, 'resolve', { in_favour_of: 'buyer' })
    const second = await received()
    await app.operator.post(`/operator/v1/orders/${second}/refund`, {
      payload: { amount: 7.55, reason: 'A scratch' },
    })
    // 9.50 + 6.95. The refund of an order that is not paid out yet only reduces its payout.
    expect(await owed()).toBe(16.45)
    await app.operator.post('/operator/v1/payout-runs')
    // 16.45 − (9.50 + 6.95 − 7.55)
    const page = await app.open('/dashboard/payouts', { member })
    await page
      .getByText('You owe €7.55 for refunds that exceeded what was left to pay out.')
      .waitFor()
    await expectAccessible(page)
    await received()
    await app.operator.post('/operator/v1/payout-runs')
    expect(await owed()).toBe(0)
    await page.reload()
    await page.getByRole('table', { name: 'Payouts' }).waitFor()
    expect(await page.getByText('You owe').count()).toBe(0)
  })

  it('the page that confirms a bank account names that account, and shows the former one as the current one, and a used link has no button', async () => {
    const member = await app.member()
    await member.put(SETUP, {
      payload: { holder: 'Kanto Cards', iban: 'NL02 ABNA 0123 4567 89' },
    })
    await submitUnconfirmed(member.accountId, 'Johto Cards', 'DE44 1000 0000 0000 0000 12')
    const { body } = await app.operator.get('/operator/v1/sandbox/mail')
    const [, token] = /\?confirm=(\w+)/.exec(body.data[0].text)!
    const page = await app.open(`/dashboard/payouts/setup?confirm=${token}`, { member })
    const named = page.getByRole('region', { name: 'Confirm your bank account' })
    await named.getByText('Johto Cards').waitFor()
    await named.getByText('DE •••• 0012').waitFor()
    await page
      .getByRole('region', { name: 'Current bank account' })
      .getByText('NL •••• 6789')
      .waitFor()
    await expectAccessible(page)
    await named.getByRole('button', { name: 'Confirm bank account' }).click()
    await page.getByText('The bank account is confirmed.').waitFor()
    await page
      .getByRole('region', { name: /^Bank account/ })
      .getByText('DE •••• 0012')
      .waitFor()
    await page.goto(`${app.address}/dashboard/payouts/setup?confirm=${token}`)
    await page.getByText('This link no longer works').waitFor()
    expect(await page.getByRole('button', { name: 'Confirm bank account' }).count()).toBe(0)
    await expectAccessible(page)
  })

  it('a confirmation of a bank account whose response comes after its page was left does not change the next page, whose input stays', async () => {
    const member = await app.member()
    await submitUnconfirmed(member.accountId, 'Johto Cards', 'DE44 1000 0000 0000 0000 12')
    const { body } = await app.operator.get('/operator/v1/sandbox/mail')
    const [, token] = /\?confirm=(\w+)/.exec(body.data[0].text)!
    const page = await app.open(`/dashboard/payouts/setup?confirm=${token}`, { member })
    const request = await holdRequests(page, '**/dashboard/api/payouts/setup/confirm')
    await page.getByRole('button', { name: 'Confirm bank account' }).click()
    await request.sent
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('link', { name: 'Create a key' }).first().click()
    const name = page.getByRole('dialog').getByRole('textbox', { name: 'Name' })
    await name.fill('Till')
    request.release()
    await page.getByText('The bank account is confirmed.').waitFor()
    expect(await name.inputValue()).toBe('Till')
  })

  it('no page asks to enter a missing or rejected bank account again while its successor waits for the confirmation by e-mail, and each names the address of the shop', async () => {
    for (const former of ['missing', 'rejected']) {
      const { accountId } = await app.seller({ account: { payoutVerified: false } })
      const member = await app.member(accountId)
      const { email } = (await member.get('/dashboard/api/me')).body.data.account
      expect(email).not.toBe(member.email)
      const iban = 'NL02 ABNA 0123 4567 89'
      if (former === 'rejected') {
        await member.put(SETUP, { payload: { holder: 'Kanto Cards', iban } })
        await app.operator.post(`/operator/v1/accounts/${accountId}/payout-setup/reject`, {
          payload: { reason: 'Another holder' },
        })
      }
      await submitUnconfirmed(accountId, 'Johto Cards', iban)
      const page = await app.open('/dashboard', { member })
      for (const path of ['', '/payouts']) {
        await page.goto(`${app.address}/dashboard${path}`)
        await page.getByText('Your bank account waits for your confirmation').waitFor()
        await page.getByText(`that we have sent to ${email}, the address of the shop`).waitFor()
        expect(await page.getByRole('link', { name: /bank account$/ }).count()).toBe(0)
      }
      await expectAccessible(page)
      await page.getByRole('link', { name: 'Payout setup' }).click()
      await page.getByText(`We have sent an e-mail with a link to ${email}, the`).waitFor()
      expect(await page.getByLabel('IBAN').count()).toBe(0)
      await page.getByRole('button', { name: 'Change' }).click()
      await page.getByLabel('IBAN').waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByLabel('IBAN').waitFor({ state: 'detached' })
    }
  })

  it('a seller who was verified without a bank account is asked for it until it is confirmed, but not in the sandbox', async () => {
    const member = await app.member()
    const page = await app.open('/dashboard/payouts/setup', { member })
    await page.getByText('Verified', { exact: true }).waitFor()
    await page.goto(`${app.address}/dashboard`)
    await page.getByText('Everything is shipped.').waitFor()
    expect(await page.getByText('Your bank account').count()).toBe(0)

    await page.route('**/dashboard/api/me', async (route) => {
      const response = await route.fetch()
      const { data } = (await response.json()) as { data: object }
      await route.fulfill({ response, json: { data: { ...data, sandbox: false } } })
    })
    for (const path of ['', '/payouts']) {
      await page.goto(`${app.address}/dashboard${path}`)
      await page.getByText('Your bank account is missing:').waitFor()
      await expectAccessible(page)
    }
    await page.getByRole('link', { name: 'Enter the bank account' }).click()
    await page.getByText('Missing', { exact: true }).waitFor()

    await submitUnconfirmed(member.accountId, 'Johto Cards', 'DE44 1000 0000 0000 0000 12')
    await page.goto(`${app.address}/dashboard`)
    await page.getByText('Your payouts are held until then.').waitFor()
    await page.getByRole('link', { name: 'Payout setup' }).click()
    await page.getByText('Not confirmed', { exact: true }).waitFor()

    const { body } = await app.operator.get('/operator/v1/sandbox/mail')
    const [, token] = /\?confirm=(\w+)/.exec(body.data[0].text)!
    await member.post(`${SETUP}/confirm`, { payload: { token } })
    await page.reload()
    await page.getByText('Verified', { exact: true }).waitFor()
    await page.goto(`${app.address}/dashboard`)
    await page.getByText('Everything is shipped.').waitFor()
    expect(await page.getByText('Your bank account').count()).toBe(0)
  })

  /** Sells an item, and pays for it in a run. Returns the order row. */
  async function sell(shop: Awaited<ReturnType<typeof openShop>>, price: number): Promise<number> {
    const [listing] = await list(shop, cardItem({ price }))
    const { orderIds } = await buy(app, [[listing!, 1]])
    await ship(shop, orderIds[0]!)
    await act(app, orderIds[0]!, 'receive')
    await app.operator.post('/operator/v1/payout-runs')
    return orderIds[0]!
  }

  it('the page of a payout distinguishes a deduction from money that was deducted from another payout', async () => {
    const shop = await openShop(app, LABEL)
    const member = await app.member(shop.accountId)
    const refunded = await sell(shop, 10)
    const payload = { amount: 10, reason: 'A scratch' }
    await app.operator.post(`/operator/v1/orders/${refunded}/refund`, { payload })
    await sell(shop, 20)
    // The cancellation returns the commission, which was deducted with the refund.
    await act(app, refunded, 'dispute')
    await act(app, refunded, 'resolve', { in_favour_of: 'buyer' })

    const { data } = (await member.get('/dashboard/api/payouts')).body
    const [credit, second] = data as { id: number }[]
    const page = await app.open(`/dashboard/payouts/${credit!.id}`, { member })
    const row = (name: string) => page.getByRole('row', { name })
    await row('Deducted from another payout').getByText('-€0.50').waitFor()
    await page.goto(`${app.address}/dashboard/payouts/${second!.id}`)
    await row('Deduction for another payout').getByText('€10.00').waitFor()
    const deduction = page
      .getByRole('table', { name: 'Orders that the deductions are for' })
      .getByRole('row', { name: String(refunded) })
    await deduction.getByText('€10.00').waitFor()
    await deduction.getByRole('link').click()
    await page.waitForURL(`**/orders/${refunded}`)
  })

  it('the printed statement is a table that fits the paper, with the margins of every browser', async () => {
    const { accountId } = await app.seller()
    const [key] = await insertSlices(app.ctx.db, accountId, ['Misty'])
    await app.ctx.db`
      update slices set slice_key = ${'slc_'.padEnd(26, 'w')} where slice_key = ${key!}
    `
    await app.ctx.db`
      insert into postings (
        kind, account_id, slice_id, order_id, buyers_cents, commission_cents, refunds_cents,
        payouts_cents, seller_cents, created_at
      )
      select kind, s.account_id, s.id, case when kind in ('sale', 'refund') then o.id end, buyers,
        commission, refunds, payouts, -buyers - commission - refunds - payouts, ${app.ctx.now()}
      from slices s
      join orders o on o.slice_id = s.id,
      (values
        ('sale', -123456789, 1234567, 0, 0), ('shipping', -1234567, 0, 0, 0),
        ('refund', 0, 0, 1234567, 0), ('payout', 0, 0, 0, 12345678)
      ) as posting (kind, buyers, commission, refunds, payouts)
      where s.account_id = ${accountId}
    `
    const member = await app.member(accountId)
    const page = await app.open('/dashboard/payouts/statements', { member })
    const total = page.getByRole('row', { name: /^Total/ })
    await total.waitFor()
    await page.emulateMedia({ media: 'print' })
    // A4 less the margins of Chromium, and those of Firefox.
    for (const width of [718, 698]) {
      await page.setViewportSize({ width, height: 1000 })
      await page.getByRole('columnheader', { name: 'Payout' }).waitFor()
      const frame = (await page.locator('.statement').boundingBox())!
      const table = (await page.getByRole('table', { name: /^Statement of/ }).boundingBox())!
      expect(table.width, `${width}`).toBeLessThanOrEqual(frame.width)
      expect(table.x + table.width, `${width}`).toBeLessThanOrEqual(width)
    }
  })

  it.each(['returns to the tab', 'saves'])(
    'the first bank account that is being typed stays when another member enters one, and needs the password once its member %s',
    async (way) => {
      const { accountId } = await app.seller({ account: { payoutVerified: false } })
      const page = await app.open('/dashboard/payouts/setup', {
        member: await app.member(accountId),
        expects: /status of 422/,
      })
      const holder = page.getByLabel('Holder')
      await holder.fill('Kanto Cards')
      await page.getByLabel('IBAN').fill('DE44 1000 0000 0000 0000 12')
      const other = await app.member(accountId)
      const payload = { holder: 'Johto Cards', iban: 'NL02 ABNA 0123 4567 89' }
      await other.put(SETUP, { payload })
      if (way === 'saves') {
        await page.getByRole('button', { name: 'Save bank account' }).click()
        await page.getByText('A change of it needs your password.').waitFor()
      } else {
        // The page reads the account again.
        await page.clock.setFixedTime(Date.now() + 60_000)
        await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`)
      }
      await page.getByText('NL •••• 6789').waitFor()
      await page.getByLabel('Password').waitFor()
      expect(await holder.inputValue()).toBe('Kanto Cards')
      expect(await page.getByLabel('IBAN').inputValue()).toBe('DE44 1000 0000 0000 0000 12')
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Cancel' }).click()
      await holder.waitFor({ state: 'detached' })
    },
  )

  it('the statement of a past month without commission says that it has no fee invoice, and the list of months reaches back to the opening of the shop', async () => {
    const member = await app.member()
    await app.ctx.db`
      update accounts set created_at = '1990-05-31T23:30:00Z' where id = ${member.accountId}
    `
    const page = await app.open('/dashboard/payouts/statements?month=2020-01', { member })
    await page.getByText('no fee invoice, because there was no commission').waitFor()
    await page.goto(`${app.address}/dashboard/payouts/statements`)
    await page.getByText('the fee invoice is issued after the end of the month').waitFor()
    const months = await page.getByLabel('Month').getByRole('option').allTextContents()
    expect(months.slice(-2)).toEqual(['June 1990', 'May 1990'])
    expect(new Set(months).size).toBe(months.length)
  })

  it('a fee invoice is shown with its issuer, its recipient, its date in UTC and its amount, and one with a negative amount is called a credit note', async () => {
    const member = await app.member()
    await member.patch('/dashboard/api/settings/shop', {
      payload: { time_zone: 'America/New_York' },
    })
    const months = { '2025-01-01': 1234, '2025-02-01': -68 }
    for (const [month, cents] of Object.entries(months)) {
      await app.ctx.db`
        insert into invoice_months (month, issued_at) values (${month}, '2025-03-01T00:06:00Z')
      `
      await app.ctx.db`
        insert into fee_invoices (month, number, account_id, commission_cents, recipient)
        values (${month}, 1, ${member.accountId}, ${cents}, 'Kanto Cards')
      `
    }
    const page = await app.open('/dashboard/payouts/statements?month=2025-01', { member })
    const statement = page.getByRole('region', { name: /^Statement of/ })
    const facts = statement.locator('dl')
    await facts.waitFor()
    expect(await facts.innerText()).toMatch(
      /^Fee invoice\s+2025-01-00001\s+Issued by\s+Cardstall sandbox\s+Issued to\s+Kanto Cards\s+Date of issue\s+1 Mar 2025\s+Invoice amount\s+€12.34$/,
    )
    await statement.getByText('Kanto Cards · fee invoice 2025-01-00001', { exact: true }).waitFor()
    await page.goto(`${app.address}/dashboard/payouts/statements?month=2025-02`)
    await statement.getByText(/· credit note 2025-02-00001$/).waitFor()
    expect(await facts.innerText()).toMatch(
      /^Credit note\s+2025-02-00001\s.*\sAmount credited\s+€0.68$/s,
    )
    await expectAccessible(page)
  })

  it('each line of a statement leads to its order, whose slice key the search and the address of an order find as well', async () => {
    const shop = await openShop(app, LABEL)
    const member = await app.member(shop.accountId)
    const listings = await list(shop, cardItem(), cardItem())
    const { orderIds, sliceKey } = await buy(
      app,
      listings.map((id): [number, number] => [id, 1]),
    )
    const order = orderIds[0]!
    const page = await app.open('/dashboard/payouts/statements', { member })
    const line = page.getByRole('row', { name: sliceKey })
    await line.getByText(`${order} and 1 more`).waitFor()
    await line.getByRole('link', { name: String(order) }).click()
    const heading = page.getByRole('heading', { level: 1, name: `Order ${orderIds.join(', ')}` })
    await heading.waitFor()

    await page.getByRole('link', { name: 'Overview' }).click()
    await heading.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('textbox').fill(sliceKey)
    await page.getByRole('menuitem', { name: /Misty Waterflower/ }).click()
    await heading.waitFor()

    await page.goto(`${app.address}/dashboard/orders/${sliceKey}`)
    await heading.waitFor()
    expect(page.url()).toBe(`${app.address}/dashboard/orders/${order}`)
    await page.goto(`${app.address}/dashboard/orders/slc_of_another_shop`)
    await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor()
  })

  it('a statement with a deduction explains why its payouts differ from the transfers', async () => {
    const shop = await openShop(app, LABEL)
    const page = await app.open('/dashboard/payouts/statements', {
      member: await app.member(shop.accountId),
    })
    const refunded = await sell(shop, 10)
    const payload = { amount: 10, reason: 'A scratch' }
    await app.operator.post(`/operator/v1/orders/${refunded}/refund`, { payload })
    const explanation = page.getByText('whose line shows its payout before the deduction')
    await page.reload()
    await page.getByRole('link', { name: String(refunded) }).waitFor()
    expect(await explanation.count()).toBe(0)
    await sell(shop, 20)
    await page.reload()
    await explanation.waitFor()
  })

  it('a statement with more than 500 orders shows the first of them and the total of all', async () => {
    const { accountId } = await app.seller()
    const sell = async (orders: number) => {
      const names = Array.from({ length: orders }, () => 'Misty')
      const keys = await insertSlices(app.ctx.db, accountId, names)
      await app.ctx.db`
        insert into postings (kind, account_id, slice_id, buyers_cents, seller_cents, created_at)
        select 'shipping', account_id, id, -695, 695, ${app.ctx.now()}
        from slices
        where slice_key = any(${keys}::text[])
        order by id
      `
      return keys
    }
    await sell(500)
    const member = await app.member(accountId)
    const page = await app.open('/dashboard/payouts/statements', { member, width: 320 })
    const rows = page.getByRole('table', { name: /^Statement of/ }).getByRole('row')
    const total = page.getByRole('row', { name: /^Total/ })
    await total.getByText('€3,475.00').waitFor()
    // The total and two balances are rows as well.
    expect(await rows.count()).toBe(503)
    expect(await page.getByText('The CSV file has all').count()).toBe(0)

    const [last] = await sell(1)
    await page.reload()
    await page.getByText('Shows the first 500 of 501 orders.').waitFor()
    await total.getByText('€3,481.95').waitFor()
    expect(await rows.count()).toBe(503)
    expect(await page.getByText(last!).count()).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  })
})
