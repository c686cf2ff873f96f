import { beforeAll, describe, expect, it } from 'vitest'
import { OPERATOR_TOKEN } from '../../test/app.ts'
import { type BrowserApp, chromiumPath, startBrowserApp, visit } from '../../test/browser.ts'
import { cardItem, list, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { act, buy, type Line, openShop, PARCEL, ship } from '../../test/fixtures/orders.ts'

/** Windows of a tablet, upright and on its side, and of a small laptop. */
const WIDTHS = [768, 1024, 1280]

const SHOP = 'Pallet Town Cards'
const BUYERS = ['Misty Waterflower', 'Maximiliane Wolkenstein', 'Brock Harrison', 'Erika Celadon']

describe.skipIf(!chromiumPath)('tables', () => {
  let app: BrowserApp
  let shop: Awaited<ReturnType<typeof openShop>>
  let orders: number[]
  beforeAll(async () => {
    app = await startBrowserApp({
      template: 'fixture',
      settings: {
        ...NO_LIMITS,
        PAYOUT_IBAN: 'DE89370400440532013000',
        PAYOUT_NAME: 'Cardstall',
      },
    })
    const { post, patch } = app.operator
    shop = await openShop(app, { ...PARCEL, name: 'Insured and tracked parcel' })
    const { accountId } = shop
    await patch(`/operator/v1/accounts/${accountId}`, { payload: { shop_name: SHOP } })
    const url = 'https://hooks.example.com/cardstall/events-of-the-shop'
    const member = await app.member(accountId)
    const events = ['order.created', 'order.cancelled']
    await member.post('/dashboard/api/webhooks', { payload: { url, events } })
    const [card] = (await list(shop, cardItem({ price: 1234.5, quantity: 9 }))) as [number]
    orders = []
    for (const name of BUYERS) {
      const email = `${name.replace(' ', '.')}@mail.example`.toLowerCase()
      const lines: Line[] = [[card, 1]]
      const { orderIds } = await buy(app, lines, { buyer: { name, email } })
      orders.push(orderIds[0]!)
    }
    const [paid, failed, disputed] = orders as [number, number, number, number]
    for (const order of [paid, failed, disputed]) {
      await ship(shop, order, { tracking_code: 'CODE' })
    }
    for (const order of [paid, failed]) await act(app, order, 'receive')
    const message = 'The back has a crease that no photo shows.'
    await act(app, disputed, 'dispute', { reason: 'not_as_described', message })
    const review = { stars: 4, text: 'Well packed, and the card looks as described.' }
    await post(`/operator/v1/orders/${paid}/review`, { payload: review })
    await post('/operator/v1/payout-runs')
    const { data } = (await app.operator.get(`/operator/v1/payouts?account_id=${accountId}`)).body
    await post(`/operator/v1/payouts/${data[0].id}/paid`)
    const reason = 'The account is closed.'
    await post(`/operator/v1/payouts/${data[1].id}/failed`, { payload: { reason } })
    await post('/operator/v1/staff', { payload: { name: 'Lt. Surge', role: 'finance' } })
    await post(`/operator/v1/accounts/${accountId}/invitations`, {
      payload: { email: 'professor.oak@pallet-town.example' },
    })
  })

  /** The tables of a page that are wider than their frames, at each width. */
  async function tooWide(
    page: Awaited<ReturnType<BrowserApp['open']>>,
    path: string,
    name: string | RegExp,
    text: string | RegExp,
  ): Promise<string[]> {
    const found: string[] = []
    await visit(page, `/${path}`)
    await page.getByRole('table', { name }).getByText(text).first().waitFor()
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      const excess = await page
        .locator('.table-frame')
        .evaluateAll((frames) => frames.map((frame) => frame.scrollWidth - frame.clientWidth))
      if (excess.some((pixels) => pixels > 0)) found.push(`${path} at ${width}: ${excess} px`)
    }
    return found
  }

  it('no column of the dashboard lies outside of its table’s frame on a tablet or laptop', async () => {
    const page = await app.open('/dashboard', {
      member: await app.member(shop.accountId),
      expects: /NAME_NOT_RESOLVED/,
    })
    const found: string[] = []
    for (const [path, name, text] of [
      ['orders', 'Orders', 'Misty Waterflower'],
      [`orders/${orders.at(-1)}`, 'Items', 'Cancel'],
      ['orders/disputes', 'Disputes', 'Charizard ex'],
      ['listings', 'Listings', 'Edit'],
      ['payouts', 'Payouts', 'The account is closed.'],
      ['payouts/statements', /^Statement of/, 'Total'],
      ['keys', 'API keys', 'Read the catalog'],
      ['webhooks/deliveries', 'Deliveries', /^https:/],
      ['settings/shipping', 'Shipping options', 'Insured and tracked parcel'],
    ] as const) {
      found.push(...(await tooWide(page, `dashboard/${path}`, name, text)))
    }
    expect(found).toEqual([])
  })

  it('no column of the console lies outside of its table’s frame on a tablet or laptop', async () => {
    const page = await app.open('/console')
    await page.getByLabel('Staff token').fill(OPERATOR_TOKEN)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Misty Waterflower').waitFor()
    const disputed = await app.operator.get(`/operator/v1/orders/${orders[2]}`)
    const found: string[] = []
    for (const [path, name, text] of [
      ['orders', 'Orders', SHOP],
      [`orders/${disputed.body.data.slice_key}`, 'Disputes', 'Charizard ex'],
      ['orders/disputes', 'Disputes', SHOP],
      ['sellers', 'Sellers', SHOP],
      [`sellers/${shop.accountId}`, 'Keys', 'active'],
      ['listings', 'Listings', SHOP],
      ['payouts', 'Payouts', SHOP],
      ['payouts/runs', 'Payout runs', /^Run /],
      ['payouts/ledger', 'Ledger', SHOP],
      ['deliveries', 'Deliveries', SHOP],
      ['reviews', 'Reviews', SHOP],
      ['staff', 'Staff', 'Lt. Surge'],
      ['audit', 'Audit log', 'inviteMember'],
    ] as const) {
      found.push(...(await tooWide(page, `console/${path}`, name, text)))
    }
    expect(found).toEqual([])
  })
})
