import { beforeAll, expect, it } from 'vitest'
import { forgetRemoved } from '../../listings/remove-listings.ts'
import { PUBLIC_URL, startTestApp, type TestApp } from '../../test/app.ts'
import { startReceiver, subscribe } from '../../test/fakes/receiver.ts'
import { cardItem, list, listed, productItem } from '../../test/fixtures/listings.ts'
import {
  cookieOf,
  form,
  mailedToken,
  mailsTo,
  PASSWORD,
  sellerWithPassword,
} from '../../test/fixtures/members.ts'
import {
  act,
  BUYER,
  buy,
  cancel,
  LABEL,
  openShop,
  rowOf,
  ship,
} from '../../test/fixtures/orders.ts'

let app: TestApp
let shop: Awaited<ReturnType<typeof openShop>>
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  shop = await openShop(app)
})

const get = async (path: string) => (await app.operator.get(`/operator/v1/${path}`)).body
const idsOf = async (path: string) => (await get(path)).data.map(({ id }: { id: number }) => id)

it('each filter of the operator’s orders selects the rows that match it', async () => {
  const other = await openShop(app)
  const [mine] = (await list(shop, cardItem())) as [number]
  const [theirs] = (await list(other, cardItem())) as [number]
  const [first] = (await buy(app, [[mine, 1]])).orderIds as [number]
  const buyer = { name: 'Brock', email: 'Brock@Pewter.example' }
  const sale = await buy(app, [[theirs, 1]], { buyer })
  const [second] = sale.orderIds as [number]
  await ship(shop, first, { tracking_code: '3SAB' })

  expect(await idsOf('orders')).toEqual([second, first])
  expect(await idsOf(`orders?account_id=${shop.accountId}`)).toEqual([first])
  expect(await idsOf('orders?status=pending')).toEqual([second])
  expect(await idsOf('orders?buyer_email=brock@pewter.example')).toEqual([second])
  expect(await idsOf(`orders?listing_id=${mine}`)).toEqual([first])
  expect(await idsOf(`orders?slice_key=${sale.sliceKey}`)).toEqual([second])
  expect(await idsOf('orders?from=2100-01-01')).toEqual([])
  expect(await idsOf('orders?to=2100-01-01&per_page=1&page=2')).toEqual([first])
  expect((await get('orders?status=lost')).error.fields).toHaveProperty('status')
  expect((await get(`orders/${second}`)).data).toMatchObject({
    account_id: other.accountId,
    buyer,
    cancelled_by: null,
  })
  expect((await get('orders/999999')).error.type).toBe('not_found')
})

it('a slice is shown with rows, address, disputes, shipment, ledger, and the e-mails and deliveries that the role may read', async () => {
  const seller = await openShop(app, LABEL)
  const hook = await startReceiver()
  await subscribe(seller, hook.url)
  const [id] = (await list(seller, cardItem())) as [number]
  const sale = await buy(app, [[id, 2]])
  const [order] = sale.orderIds as [number]
  await seller.post(`/v1/orders/${order}/label`)
  await ship(seller, order)
  await act(app, order, 'dispute', { reason: 'damaged', message: 'A corner is bent.' })
  await buy(app, [[id, 1]])
  const { data } = await get(`slices/${sale.sliceKey}`)
  expect(data).toMatchObject({
    slice_key: sale.sliceKey,
    account_id: seller.accountId,
    checkout_id: sale.id,
    buyer: BUYER,
    address: { city: expect.any(String) },
    rows: [{ id: order, status: 'disputed', buyer: BUYER }],
    disputes: [{ order_id: order, state: 'open', message: 'A corner is bent.', answer: null }],
    shipment: { slice_key: sale.sliceKey, order_id: order, state: 'bought', lines: 1 },
  })
  expect(data.mails.map(({ to }: { to: string }) => to)).toContain(BUYER.email)
  expect(data.mails.map(({ subject }: { subject: string }) => subject.split(':')[0])).toEqual(
    expect.arrayContaining(['On its way', 'Sold']),
  )
  expect(data.ledger.map(({ kind }: { kind: string }) => kind)).toContain('sale')
  const events = data.deliveries.map(({ event }: { event: string }) => event)
  expect(events.toSorted()).toEqual(['listing.sold', 'order.created', 'order.label_ready'])

  const mails = await get(`mails?slice_key=${sale.sliceKey}`)
  expect(mails.data).toEqual(data.mails)
  const toBuyer = await get(`mails?to=${BUYER.email.toUpperCase()}`)
  expect(new Set(toBuyer.data.map(({ to }: { to: string }) => to))).toEqual(new Set([BUYER.email]))
  const shipments = await get(`shipments?account_id=${seller.accountId}`)
  expect(shipments.data).toEqual([data.shipment])
  expect((await get('slices/slc_none')).error.type).toBe('not_found')

  const readAs = async (role: string) => {
    const { body } = await app.operator.post('/operator/v1/staff', {
      payload: { name: `The ${role}`, role },
    })
    const read = await app.withKey(body.token).get(`/operator/v1/slices/${sale.sliceKey}`)
    return read.body.data
  }
  // May read neither GET /mails nor GET /deliveries.
  expect(await readAs('finance')).toEqual({ ...data, mails: null, deliveries: null })
  expect(await readAs('support')).toEqual(data)
})

it('the operator’s list of e-mails hides the links to a password and to an e-mail address, which the sandbox’s shows', async () => {
  const { accountId, email } = await sellerWithPassword(app)
  const signedIn = await app.anyone.post('/signin', form({ email, password: PASSWORD }))
  const [invited, next] = [`invited-${email}`, `next-${email}`]
  const payload = { email: invited }
  await app.operator.post(`/operator/v1/accounts/${accountId}/invitations`, { payload })
  await app.anyone.post('/password/forgot', form({ email }))
  await app.anyone.put('/dashboard/api/settings/email', {
    headers: { cookie: cookieOf(signedIn), origin: PUBLIC_URL },
    payload: { email: next, password: PASSWORD },
  })
  for (const to of [invited, email, next]) {
    const token = await mailedToken(app, to)
    const [captured] = await mailsTo(app, to)
    const { data } = await get(`mails?to=${to}`)
    expect(data[0].text).toBe(captured!.text.replace(/https:\S+/, '…'))
    expect(JSON.stringify(data)).not.toContain(token)
  }
})

it('the operator finds the listings of a card by its friendly id, of all cards if it means several, hidden ones too', async () => {
  const cards = ['obf_125', 'sv3-125', 'swsh9-1', 'swsh9-de-1']
  const ids = await list(shop, ...cards.map((card) => cardItem({ card, price: 77 })))
  const [byFriendly, byCanonical, english, german] = ids as [number, number, number, number]
  const found = async (card: string) =>
    (await idsOf(`listings?card=${card}&account_id=${shop.accountId}`)).filter((id: number) =>
      ids.includes(id),
    )
  const isVisible = (visible: boolean) =>
    app.operator.put('/operator/v1/catalog/visibility', {
      payload: { cards: { 'swsh9-de-1': visible } },
    })
  expect(await found('obf_125')).toEqual([byCanonical, byFriendly])
  expect(await found('sv3-125')).toEqual([byCanonical, byFriendly])
  expect(await found('brs_1')).toEqual([german, english])
  expect((await isVisible(false)).status).toBe(200)
  expect(await found('brs_1')).toEqual([german, english])
  expect((await isVisible(true)).status).toBe(200)
  const unknown = await app.operator.get('/operator/v1/listings?card=brs_9999')
  expect(unknown).toMatchObject({ status: 200, body: { data: [] } })
})

it('a listing that is taken down leaves the shop, and its open order goes on', async () => {
  const [id, product] = (await list(shop, cardItem(), productItem())) as [number, number]
  const sale = await buy(app, [[id, 1]])
  const [order] = sale.orderIds as [number]
  const takeDown = (payload: object) =>
    app.operator.post(`/operator/v1/listings/${id}/take-down`, { payload })
  expect((await takeDown({})).status).toBe(422)
  const { status, body } = await takeDown({ reason: 'A fake' })
  expect(status).toBe(200)
  expect(body.data).toMatchObject({ id, status: 'removed', removed_because: 'A fake' })
  expect(await listed(shop, id)).toBeUndefined()
  expect((await takeDown({ reason: 'A fake' })).status).toBe(409)
  const [mail] = (await get('mails?per_page=1')).data
  expect(mail.subject).toMatch(/^Your listing was removed: /)
  expect(mail.text).toContain('Reason: A fake')

  expect((await rowOf(shop, order)).status).toBe('pending')
  expect((await cancel(app, order)).status).toBe(200)
  expect((await get(`listings/${id}`)).data).toMatchObject({ status: 'removed', quantity: 2 })
  expect(await idsOf(`listings?account_id=${shop.accountId}&status=removed`)).toEqual([id])
  expect(await idsOf(`listings?product=${productItem().product}`)).toEqual([product])
  expect(await idsOf(`listings?card=${cardItem().card}&status=removed`)).toContain(id)
  expect((await get(`audit?record=listing:${id}`)).data).toMatchObject([
    { before: { status: 'active' }, after: { status: 'removed', removed_because: 'A fake' } },
  ])
})

it('an account can be closed once it has no open orders and unpaid payouts, and then nothing of it works', async () => {
  const seller = await openShop(app)
  const member = await app.member(seller.accountId)
  const hook = await startReceiver()
  await subscribe(seller, hook.url)
  const [id] = (await list(seller, cardItem())) as [number]
  const [order] = (await buy(app, [[id, 1]])).orderIds as [number]
  const url = `/operator/v1/accounts/${seller.accountId}`
  const close = () => app.operator.post(`${url}/close`)
  expect((await close()).body.error.message).toContain('open orders')
  await ship(seller, order, { tracking_code: '3SAB' })
  await act(app, order, 'receive')
  expect((await close()).body.error.message).toContain('payouts')
  expect((await seller.get('/v1/me')).status).toBe(200)
  const [payout] = (await get(`payouts?account_id=${seller.accountId}`)).data
  await app.operator.post('/operator/v1/payout-runs')
  await app.operator.post(`/operator/v1/payouts/${payout.id}/paid`)

  const { status, body, text } = await close()
  expect(status, text).toBe(200)
  expect(body.data.api_access).toBe('disabled')
  expect((await seller.get('/v1/me')).status).toBe(401)
  expect((await member.get('/dashboard/api/me')).status).toBe(401)
  expect((await get(`listings/${id}`)).data.status).toBe('removed')
  expect((await app.operator.get(`${url}/webhooks`)).body.data).toEqual([])
  const keys = (await app.operator.get(`${url}/keys`)).body.data
  expect(keys.map((key: { revoked_at: string }) => key.revoked_at)).not.toContain(null)
  expect((await close()).status).toBe(200)
  expect((await app.operator.post('/operator/v1/accounts/999999/close')).status).toBe(404)
})

it('an account that owes money after a refund cannot be closed before another payout has paid it', async () => {
  const seller = await openShop(app)
  const url = `/operator/v1/accounts/${seller.accountId}/close`
  const close = async () => (await app.operator.post(url)).status
  const payNext = async () => {
    const [id] = (await list(seller, cardItem({ price: 10 }))) as [number]
    const [order] = (await buy(app, [[id, 1]])).orderIds as [number]
    await ship(seller, order, { tracking_code: '3SAB' })
    await act(app, order, 'receive')
    await app.operator.post('/operator/v1/payout-runs')
    const [payout] = (await get(`payouts?account_id=${seller.accountId}`)).data
    await app.operator.post(`/operator/v1/payouts/${payout.id}/paid`)
    return order
  }
  const refunded = await payNext()
  await app.operator.post(`/operator/v1/orders/${refunded}/refund`, {
    payload: { amount: 4, reason: 'A scratch' },
  })
  expect(await close()).toBe(409)
  await payNext()
  expect(await close()).toBe(200)
})

it('the pages of each list together are the list, whichever end a page is nearer to', async () => {
  for (let i = 0; i < 3; i++) {
    const labels = await openShop(app, LABEL)
    const [posted] = (await list(labels, cardItem())) as [number]
    const [order] = (await buy(app, [[posted, 1]])).orderIds as [number]
    await labels.post(`/v1/orders/${order}/label`)
    const seller = await openShop(app)
    const [id] = (await list(seller, cardItem())) as [number]
    for (const verb of ['review', 'dispute'] as const) {
      const [sold] = (await buy(app, [[id, 1]])).orderIds as [number]
      await ship(seller, sold, { tracking_code: '3SAB' })
      if (verb === 'review') await act(app, sold, 'receive')
      await act(app, sold, verb, verb === 'review' ? { stars: 5 } : { reason: 'damaged' })
    }
  }
  const lists = 'orders listings shipments ledger audit disputes reviews payouts'
  for (const path of [...lists.split(' '), 'orders?from=2020-01-01']) {
    const query = path.includes('?') ? `${path}&` : `${path}?`
    const { data, meta } = await get(`${query}per_page=100`)
    const size = Math.max(2, Math.floor(data.length / 4))
    const pages = []
    for (let page = 1; page <= Math.ceil(data.length / size); page++) {
      pages.push(...(await get(`${query}per_page=${size}&page=${page}`)).data)
    }
    expect(data.length, path).toBeGreaterThan(2)
    expect(meta.total, path).toBe(data.length)
    expect(pages, path).toEqual(data)
  }
})

it('a slice of 400 rows is shown with all its ledger entries, which add up to zero', async () => {
  const seller = await openShop(app)
  const ids = await list(seller, ...Array.from({ length: 400 }, () => cardItem()))
  const sale = await buy(
    app,
    ids.map((id) => [id, 1]),
  )
  const { data } = await get(`slices/${sale.sliceKey}`)
  const { meta } = await get(`ledger?slice_key=${sale.sliceKey}`)
  expect(data.rows).toHaveLength(400)
  expect(data.ledger).toHaveLength(meta.total)
  const cents = data.ledger.map(({ amount }: { amount: number }) => Math.round(amount * 100))
  expect(cents.reduce((sum: number, amount: number) => sum + amount, 0)).toBe(0)
})

it.each(['accounts', 'mails', 'deliveries'])(
  'the first page of the operator’s %s has the records that its own meta states while others are written',
  async (noun) => {
    const seller = await openShop(app)
    await subscribe(seller, 'https://nowhere.invalid/')
    const [id] = (await list(seller, cardItem({ quantity: 50 }))) as [number]
    for (let round = 0; round < 15; round++) {
      const [pages] = await Promise.all([
        Promise.all(Array.from({ length: 8 }, () => get(`${noun}?per_page=100`))),
        app.seller(),
        buy(app, [[id, 1]]),
      ])
      for (const { data, meta } of pages) expect(data).toHaveLength(Math.min(meta.total, 100))
    }
  },
)

it.each(['orders', 'ledger', 'audit'])(
  'a record of the operator’s %s is in the period from and to its created_at, which has whole seconds',
  async (noun) => {
    const seller = await openShop(app)
    const [id] = (await list(seller, cardItem())) as [number]
    const [order] = (await buy(app, [[id, 1]])).orderIds as [number]
    await ship(seller, order, { tracking_code: '3SAB' })
    await act(app, order, 'receive')
    const [{ id: record, created_at }] = (await get(noun)).data
    expect(await idsOf(`${noun}?from=${created_at}&to=${created_at}`)).toContain(record)
    const before = new Date(Date.parse(created_at) - 1_000).toISOString()
    expect(await idsOf(`${noun}?from=2000-01-01&to=${before}`)).not.toContain(record)
    expect(await idsOf(`${noun}?to=9999-12-31T23:59:59Z`)).toContain(record)
    const { error } = await get(`${noun}?from=x&to=y`)
    expect(Object.keys(error.fields)).toEqual(['from', 'to'])
  },
)

it('open orders of listings that are taken down keep the seller’s references on packing slips, and the operator finds them', async () => {
  const seller = await openShop(app)
  const references = ['SHELF-4-118', 'SHELF-9-002']
  const payload = { items: references.map((reference) => cardItem({ reference })) }
  const { body } = await seller.post('/tools/v1/listings', { payload })
  const [first, second] = body.results.map(({ listing }: { listing: { id: number } }) => listing.id)
  const completed = await buy(app, [[first, 1]])
  await ship(seller, completed.orderIds[0]!, { tracking_code: '3SAB' })
  await act(app, completed.orderIds[0]!, 'receive')
  const sale = await buy(app, [
    [first, 1],
    [second, 1],
  ])
  const [order] = sale.orderIds as [number, number]
  for (const id of [first, second]) {
    const reason = { payload: { reason: 'A fake' } }
    expect((await app.operator.post(`/operator/v1/listings/${id}/take-down`, reason)).status).toBe(
      200,
    )
  }
  await forgetRemoved(app.ctx)

  const referencesIn = (lines: { reference: string }[]) =>
    lines.map(({ reference }) => reference).toSorted()
  const packing = (await seller.get('/tools/v1/orders/packing')).body.data
  expect(referencesIn(packing.slips[0].orders)).toEqual(references)
  expect(referencesIn(packing.pick_list)).toEqual(references)
  expect((await rowOf(seller, order)).listing_id).toBeNull()
  expect(await idsOf(`orders?listing_id=${first}`)).toEqual([order])

  await ship(seller, order, { tracking_code: '3SAB' })
  for (const id of sale.orderIds) await act(app, id, 'receive')
  await forgetRemoved(app.ctx)
  expect(await idsOf(`orders?listing_id=${first}`)).toEqual([])
  const left = await app.ctx
    .db`select from removed_listings where listing_id = any(${[first, second]})`
  expect(left).toHaveLength(0)
})

it('each slice of a checkout with several sellers shows the confirmation to the buyer, and no e-mail about another slice', async () => {
  const sellers = [await openShop(app), await openShop(app)]
  const listings = await Promise.all(sellers.map((seller) => list(seller, cardItem())))
  const { slices } = await buy(
    app,
    listings.map(([id]) => [id!, 1]),
  )
  for (const { slice_key } of slices) {
    const { data } = await get(`slices/${slice_key}`)
    const subjects = data.mails.map(({ subject }: { subject: string }) => subject.split(':')[0])
    expect(subjects.toSorted()).toEqual(['Order confirmed', 'Sold'])
    const mails = await get(`mails?slice_key=${slice_key}`)
    expect(mails.data).toEqual(data.mails)
    expect(mails.meta.total).toBe(2)
  }
})
