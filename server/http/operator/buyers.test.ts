import { readFile } from 'node:fs/promises'
import { beforeAll, expect, it } from 'vitest'
import { eraseOldBuyers } from '../../back-office/buyers.ts'
import { inTransaction } from '../../database/in-transaction.ts'
import type { Db } from '../../database/sql.ts'
import type { Begin } from '../../database/transactions.ts'
import { runSchedule } from '../../schedule.ts'
import { runDuePolls } from '../../shipping/carrier-poll.ts'
import { labelPath } from '../../shipping/label.ts'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { deliveriesIn, startReceiver, subscribe } from '../../test/fakes/receiver.ts'
import { FEED, startCursor } from '../../test/fixtures/changes.ts'
import { advance, cardItem, list } from '../../test/fixtures/listings.ts'
import {
  ADDRESS,
  act,
  buy,
  cancel,
  insertSlices,
  LABEL,
  openShop,
  ship,
} from '../../test/fixtures/orders.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { rowsRead } from '../../test/rows-read.ts'
import { until } from '../../test/until.ts'
import { whileReplaced } from '../../test/while-replaced.ts'

let app: TestApp
beforeAll(async () => {
  const settings = { WEBHOOK_ALLOW_PRIVATE: 'true', BUYER_DATA_DAYS: '90' }
  app = await startTestApp({ template: 'fixture', settings })
})

const get = async (path: string) => (await app.operator.get(`/operator/v1/${path}`)).text
const post = async (path: string, email: string) =>
  (await app.operator.post(`/operator/v1/buyers/${path}`, { payload: { email } })).body.data

/** Reports a tracking page that proves the recipient by the postal code, as those of some carriers do. */
const track = (sliceKey: string, name: string) =>
  app.operator.post(`/operator/v1/slices/${sliceKey}/tracking`, {
    payload: { tracking_url: `https://carrier.example/?code=1&zip=${name}-zip` },
  })

/** A completed sale with a label and a webhook, another that is open, and one of another buyer. */
async function sellTo(name: string) {
  const seller = await openShop(app, LABEL)
  const receiver = await startReceiver()
  // Some receivers quote what they got.
  receiver.respond = (response, { body }) => response.writeHead(200).end(body)
  await subscribe(seller, receiver.url)
  const [id] = (await list(seller, cardItem())) as [number]
  const buyer = { name: `${name} Ketchum`, email: `${name}@Buyers.example` }
  const address = {
    ...ADDRESS,
    full_name: buyer.name,
    street: `${name} Street`,
    phone: '+31612345678',
  }
  const done = await buy(app, [[id, 1]], { buyer, address })
  const [order] = done.orderIds as [number]
  const label = (await seller.post(`/v1/orders/${order}/label`)).body.data.label_url as string
  await ship(seller, order)
  await track(done.sliceKey, name)
  await act(app, order, 'receive')
  const review = { stars: 4, text: `Regards, ${name} of ${name} Street` }
  const reviewed = await app.operator.post(`/operator/v1/orders/${order}/review`, {
    payload: review,
  })
  await seller.post(`/tools/v1/reviews/${reviewed.body.data.id}/reply`, {
    payload: { text: `Thank you, ${buyer.name}` },
  })
  await act(app, order, 'dispute', { reason: 'damaged', message: `${buyer.name} is sad` })
  await seller.post(`/tools/v1/orders/${order}/dispute/answer`, {
    payload: { message: `Dear ${buyer.name}`, photo_urls: [`https://x.example/${name}@.jpg`] },
  })
  await act(app, order, 'resolve', { in_favour_of: 'seller' })
  const open = await buy(app, [[id, 1]], { buyer, address })
  await app.runMail()
  await app.runDeliveries()
  return { seller, buyer, done, open, order, label: label.slice(label.indexOf('/labels')) }
}

it('erasing a buyer blanks every copy of completed orders, and keeps amounts and open orders', async () => {
  const { seller, buyer, done, open, order, label } = await sellTo('ash')
  const other = await sellTo('misty')
  const before = JSON.parse(await get(`slices/${done.sliceKey}`)).data
  expect(JSON.stringify(before)).toMatch(/ash street/i)
  expect((await app.anyone.get(label)).status).toBe(200)

  const counts = await post('erase', 'ASH@buyers.example\n')
  expect(counts).toMatchObject({ checkouts: 1, labels: 1, events: 1, reviews: 1, open: 1 })
  expect(counts.mails).toBeGreaterThan(2)
  const text = await get(`slices/${done.sliceKey}`)
  expect(text).not.toMatch(/ash (street|ketchum)|ash@|31612345678/i)
  const after = JSON.parse(text).data
  expect(after.ledger).toEqual(before.ledger)
  const nobody = { name: null, email: null }
  expect(after).toMatchObject({ buyer: nobody, address: null })
  expect(after.rows[0]).toMatchObject({ price: before.rows[0].price, buyer: nobody })
  const shown = (await seller.get(`/v1/orders/${order}`)).text
  // Its random characters can spell the name.
  expect(shown.replaceAll(done.sliceKey, '')).not.toMatch(/ash/i)
  const [delivery] = (await deliveriesIn(app, `account_id=${seller.accountId}`)).filter(
    ({ payload }: { payload: { event: string; data: { order_id: number } } }) =>
      payload.data.order_id === order && payload.event === 'order.created',
  )
  expect(delivery.payload.data).toMatchObject({ buyer_name: '', delivery_address: null })
  expect(delivery.attempts).toMatchObject([{ status_code: 200, response: null }])
  expect((await app.anyone.get(label)).status).toBe(404)
  const [review] = (await seller.get('/tools/v1/reviews')).body.data
  expect(review).toMatchObject({ stars: 4, text: null, reply: null })
  const [dispute] = (await seller.get('/tools/v1/disputes')).body.data
  expect(dispute).toMatchObject({ message: null, answer: { message: '', photo_urls: [] } })

  expect(await get(`slices/${open.sliceKey}`)).toContain(buyer.name)
  expect(await get(`slices/${other.done.sliceKey}`)).toContain(other.buyer.name)
  await cancel(app, open.orderIds[0]!)
  expect(await post('erase', buyer.email)).toMatchObject({ checkouts: 1, open: 0 })
  expect(await get(`mails?slice_key=${open.sliceKey}`)).toContain(buyer.email)
  await app.runMail()
  const { checkouts, orders, mails, events } = await post('export', buyer.email)
  expect([checkouts, orders, mails, events]).toEqual([[], [], [], []])
  expect(await get('audit')).not.toMatch(/ash ketchum|ash@|ash-zip/i)
  const act = (path: string, payload: object) =>
    app.operator.post(`/operator/v1/orders/${order}/${path}`, { payload })
  // Nothing can be stored any more that the buyer's address doesn't find, and no e-mail is written to nobody.
  expect((await act('dispute', { message: 'I am Ash' })).status).toBe(409)
  expect((await act('refund', { amount: 0.5, reason: 'Late' })).status).toBe(200)
  const reply = { payload: { text: 'Dear Ash Ketchum' } }
  expect((await seller.post(`/tools/v1/reviews/${review.id}/reply`, reply)).status).toBe(409)
  await app.operator.delete(`/operator/v1/orders/${order}/review`, { payload: { reason: 'Old' } })
  const [undue] = await app.ctx.db`select from mails where recipient = '' and status = 'waiting'`
  expect(undue).toBeUndefined()
  await track(done.sliceKey, 'ash')
  await app.runMail()
  expect(await tablesWith('ash (street|ketchum)|ash@|ash-zip')).toEqual([])
})

/** Names of the tables with a row whose text matches. */
async function tablesWith(pattern: string): Promise<string[]> {
  const { db } = app.ctx
  const tables = await db<{ name: string }[]>`
    select relname as name
    from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace
  `
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await db`select from ${db(name)} row where row::text ~* ${pattern} limit 1`
      return rows.length > 0 ? [name] : []
    }),
  )
  return found.flat()
}

it('an erasure whose label cannot be deleted fails, and the next one deletes it and counts it', async () => {
  const { seller, buyer, order, open, label } = await sellTo('blaine')
  await cancel(app, open.orderIds[0]!)
  const fail = () => Promise.reject(new Error('the bucket responded to DELETE with 404'))
  const failed = await whileReplaced(app.ctx.files, { delete: fail }, () =>
    app.operator.post('/operator/v1/buyers/erase', { payload: { email: buyer.email } }),
  )
  expect(failed.status).toBe(500)
  expect((await app.anyone.get(label)).status).toBe(200)
  expect((await seller.get(`/v1/orders/${order}`)).text).toContain('blaine Ketchum')
  expect(await post('erase', buyer.email)).toMatchObject({ checkouts: 2, labels: 1 })
  expect((await app.anyone.get(label)).status).toBe(404)
})

it('no label of an erased buyer is stored or linked, whether the carrier had it before or makes it later', async () => {
  const setLabels = (label: string) =>
    app.operator.put('/operator/v1/sandbox/carrier', { payload: { label } })
  const { seller, buyer, order, open } = await sellTo('sabrina')
  await setLabels('processing')
  const [late] = open.orderIds as [number]
  await seller.post(`/v1/orders/${late}/label`)
  await ship(seller, late)
  await act(app, late, 'receive')
  expect(await post('erase', buyer.email)).toMatchObject({ checkouts: 2, labels: 1 })
  await setLabels('ready')
  await advance(app.operator, 3_700)
  await runDuePolls(app.ctx)
  for (const id of [order, late]) {
    const deleted = { status: 'action_required', label_url: null, tracking_url: null }
    const { data } = (await seller.post(`/v1/orders/${id}/label`)).body
    expect(data).toMatchObject({ ...deleted, message: expect.stringContaining('deleted') })
    const { shipping } = (await seller.get(`/v1/orders/${id}`)).body.data
    expect(shipping).toMatchObject({ has_label: false, label_url: null })
  }
  const names = await app.ctx.db<{ name: string }[]>`select label_name as name from shipments`
  const stored = await Promise.all(
    names.map(({ name }) => app.ctx.files.get(labelPath(`${name}.pdf`))),
  )
  for (const file of stored) file?.stream.destroy()
  // That of the other buyers.
  const ofOthers = await app.ctx.db`select from shipments where status = 'ready'`
  expect(stored.filter(Boolean)).toHaveLength(ofOthers.length)
})

it('a label that the carrier delivers during the erasure is deleted again', async () => {
  const { seller, buyer, open } = await sellTo('janine')
  await cancel(app, open.orderIds[0]!)
  const { db } = app.ctx
  const [id] = (await list(seller, cardItem())) as [number]
  const sale = await buy(app, [[id, 1]], { buyer })
  const [order] = sale.orderIds as [number]
  await app.operator.put('/operator/v1/sandbox/carrier', { payload: { label: 'processing' } })
  await seller.post(`/v1/orders/${order}/label`)
  await ship(seller, order)
  await act(app, order, 'receive')
  await app.operator.put('/operator/v1/sandbox/carrier', { payload: { label: 'ready' } })
  await advance(app.operator, 3_700)
  let polling: Promise<void> | undefined
  await inTransaction(app.ctx, async ({ db: tx }) => {
    await tx`select from slices where slice_key = ${sale.sliceKey} for no key update`
    polling = runDuePolls(app.ctx)
    await untilLockWaiters(db)
    await tx`
      update checkouts
      set buyer_name = '', buyer_email = '', address = null, erased_at = now()
      where id = ${sale.id}
    `
  })
  await polling
  const { data } = (await seller.post(`/v1/orders/${order}/label`)).body
  expect(data).toMatchObject({ status: 'action_required', label_url: null, tracking_url: null })
  const [shipment] = await db<{ name: string }[]>`
    select label_name as name
    from shipments
    where slice_id = (select id from slices where slice_key = ${sale.sliceKey})
  `
  expect(await app.ctx.files.get(labelPath(`${shipment!.name}.pdf`))).toBeUndefined()
})

it('a label that a poll stores and a response that a receiver sends just before the erasure are erased', async () => {
  const { seller, buyer, done, open, order } = await sellTo('agatha')
  await cancel(app, open.orderIds[0]!)
  const { db, files } = app.ctx
  const [shipment] = await db<{ name: string }[]>`
    select label_name as name
    from shipments
    where slice_id = (select id from slices where slice_key = ${done.sliceKey})
  `
  const file = labelPath(`${shipment!.name}.pdf`)
  const deliveryOfSale = async () =>
    (await deliveriesIn(app, `account_id=${seller.accountId}`)).find(
      ({ payload }: { payload: { event: string; data: { order_id: number } } }) =>
        payload.data.order_id === order && payload.event === 'order.created',
    )
  const { id } = await deliveryOfSale()
  expect((await app.operator.post(`/operator/v1/deliveries/${id}/resend`)).status).toBe(202)
  let erasing: ReturnType<typeof post> | undefined
  await inTransaction(app.ctx, async ({ db: tx }) => {
    await tx`select from slices where slice_key = ${done.sliceKey} for no key update`
    erasing = post('erase', buyer.email)
    await untilLockWaiters(db)
    await files.put(file, Buffer.from('%PDF'), 'application/pdf')
    await app.runDeliveries()
  })
  expect(await erasing).toMatchObject({ checkouts: 2, open: 0 })
  expect(await files.get(file)).toBeUndefined()
  const { attempts } = await deliveryOfSale()
  expect(attempts).toMatchObject(Array(2).fill({ status_code: 200, response: null }))
})

it('a label can be read again after an erasure that a concurrent dispute prevented', async () => {
  const { seller, buyer, done, open, order } = await sellTo('koga')
  await cancel(app, open.orderIds[0]!)
  let erasing: ReturnType<typeof post> | undefined
  await inTransaction(app.ctx, async ({ db: tx }) => {
    await tx`select from slices where slice_key = ${done.sliceKey} for no key update`
    erasing = post('erase', buyer.email)
    await untilLockWaiters(app.ctx.db)
    await tx`update orders set status = 'disputed', disputed_at = now() where id = ${order}`
  })
  expect(await erasing).toMatchObject({ checkouts: 1, open: 1 })
  const { data } = (await seller.post(`/v1/orders/${order}/label`)).body
  expect(data.status).toBe('ready')
  const { pathname, search } = new URL(data.label_url)
  expect((await app.anyone.get(pathname + search)).status).toBe(200)
})

it('a seller’s answer to a dispute of an erased buyer is erased when the dispute ends', async () => {
  const { seller, buyer, order } = await sellTo('blaine')
  await post('erase', buyer.email)
  await act(app, order, 'dispute', { reason: 'other' })
  const answer = { payload: { message: 'Dear Blaine, sorry' } }
  expect((await seller.post(`/tools/v1/orders/${order}/dispute/answer`, answer)).status).toBe(200)
  await app.runMail()
  const mails = await get(`mails?account_id=${seller.accountId}`)
  expect(mails).toContain('Dear Blaine')
  expect(mails).toContain('the buyer gets no e-mail')
  await act(app, order, 'resolve', { in_favour_of: 'seller' })
  expect(await tablesWith('dear blaine')).toEqual([])
})

it.each([
  ['lorelei', 'invitations', {}],
  ['lance', '', { seller_tier: 'Gold' }],
])(
  'erasing %s, whose address is also that of a member or a shop, keeps the e-mails to the seller',
  async (name, path, change) => {
    const { seller, buyer } = await sellTo(name)
    const payload = { email: buyer.email.toLowerCase(), ...change }
    const account = `/operator/v1/accounts/${seller.accountId}`
    if (path) await app.operator.post(`${account}/${path}`, { payload })
    else await app.operator.patch(account, { payload })
    const mails = async () => {
      const { data } = JSON.parse(await get(`mails?to=${payload.email}`))
      return data.filter(({ slice_key }: { slice_key: string | null }) => slice_key === null)
    }
    await app.runMail()
    const sent = await mails()
    expect(sent).toHaveLength(1)
    expect(await post('erase', buyer.email)).toMatchObject({ checkouts: 1 })
    expect(await mails()).toEqual(sent)
  },
)

it('the change feed has the rows whose buyer was erased', async () => {
  const { seller, buyer, order } = await sellTo('bruno')
  const cursor = await startCursor(seller)
  await post('erase', buyer.email)
  const changes = await until('the erasure is in the feed', async () => {
    const { body } = await seller.get(`${FEED}?cursor=${cursor}`)
    return body.data.length > 0 && body.data
  })
  expect(changes).toMatchObject([
    { kind: 'order', change: 'updated', record: { id: order, buyer: { name: null } } },
  ])
})

it('erasing a buyer waits for a concurrent reply and erases it, and a reply waits for a concurrent erasure and is refused', async () => {
  const { seller, buyer, done, open } = await sellTo('erika')
  await cancel(app, open.orderIds[0]!)
  const { db } = app.ctx
  const [slice] = await db<{ id: number }[]>`
    select id from slices where slice_key = ${done.sliceKey}
  `
  const [review] = (await seller.get('/tools/v1/reviews')).body.data
  await db`update reviews set text = null, reply = null, replied_at = null where id = ${review.id}`
  const lock = (tx: Db) => tx`select from slices where id = ${slice!.id} for no key update`

  let erasing: Promise<unknown> | undefined
  await inTransaction(app.ctx, async ({ db: tx }) => {
    await lock(tx)
    await tx`
      update reviews set reply = 'Dear Erika', replied_at = now() where id = ${review.id}
    `
    erasing = post('erase', buyer.email)
    await untilLockWaiters(db)
  })
  await erasing
  expect(await tablesWith('dear erika')).toEqual([])

  await db`update checkouts set erased_at = null where id = ${done.id}`
  let replying: ReturnType<typeof seller.post> | undefined
  await inTransaction(app.ctx, async ({ db: tx }) => {
    await lock(tx)
    replying = seller.post(`/tools/v1/reviews/${review.id}/reply`, { payload: { text: 'Hello' } })
    await untilLockWaiters(db)
    await tx`update checkouts set erased_at = now() where id = ${done.id}`
  })
  expect((await replying)?.status).toBe(409)
})

it('the export has everything about one buyer and no address of a seller, and the audit log records only that it was used', async () => {
  const { seller, buyer, done, open } = await sellTo('brock')
  // The buyer sells as well: the e-mail about this sale has the data of Misty.
  const own = await openShop(app)
  const payload = { email: buyer.email.toLowerCase() }
  await app.operator.patch(`/operator/v1/accounts/${own.accountId}`, { payload })
  const [sold] = (await list(own, cardItem())) as [number]
  const { sliceKey: toMisty } = await buy(app, [[sold, 1]])
  expect(await get(`mails?slice_key=${toMisty}`)).toContain(payload.email)
  const { email: shop } = JSON.parse(await get(`accounts/${seller.accountId}`)).data
  // Mail servers repeat the address in their reply.
  await app.ctx.db`update mails set error = recipient where recipient = ${shop}`
  const data = await post('export', ' BROCK@buyers.example ')
  expect(data.checkouts.map(({ id }: { id: number }) => id)).toEqual([open.id, done.id])
  expect(data.checkouts[0]).toMatchObject({ ...buyer, address: { street: 'brock Street' } })
  expect(data.orders.map(({ id }: { id: number }) => id)).toEqual([
    ...open.orderIds,
    ...done.orderIds,
  ])
  expect(JSON.stringify(data)).not.toMatch(/misty/i)
  expect(JSON.stringify(data)).not.toContain(shop)
  const mailed = await Promise.all(
    [done, open].map(
      async ({ sliceKey }) => JSON.parse(await get(`mails?slice_key=${sliceKey}`)).data,
    ),
  )
  const exported = mailed
    .flat()
    .map((mail: { to: string }) => (mail.to === shop ? { ...mail, to: '…', error: null } : mail))
  expect(data.mails).toEqual(expect.arrayContaining(exported))
  const subjects = data.mails.map(({ subject }: { subject: string }) => subject.split(':')[0])
  expect(subjects).toEqual(expect.arrayContaining(['Sold', 'Order confirmed']))
  expect(new Set(data.mails.map(({ id }: { id: number }) => id)).size).toBe(data.mails.length)
  expect(data.shipments).toMatchObject([
    { slice_key: done.sliceKey, tracking_code: data.orders[1].tracking.code },
  ])
  expect(data.shipments[0].tracking_code).toEqual(expect.any(String))
  expect(data.reviews).toMatchObject([
    { slice_key: done.sliceKey, stars: 4, reply: 'Thank you, brock Ketchum' },
  ])
  expect(data.disputes).toMatchObject([{ reason: 'damaged', answer: 'Dear brock Ketchum' }])
  const [entry] = JSON.parse(await get('audit?action=exportBuyer')).data
  expect(entry).toMatchObject({ record: null, before: null, after: null })
})

it('a buyer, their orders and their e-mails are found by both forms of the domain, in any case', async () => {
  const seller = await openShop(app)
  const forms = ['müller', 'xn--mller-kva'].map((domain) => `nora@${domain}.example`)
  for (const email of forms) {
    const [id] = (await list(seller, cardItem())) as [number]
    await buy(app, [[id, 1]], { buyer: { name: 'Nora', email } })
  }
  for (const email of forms.map((form) => form.toUpperCase())) {
    expect((await post('export', email)).checkouts).toHaveLength(2)
    expect(await post('erase', email)).toMatchObject({ checkouts: 0, open: 2 })
    for (const path of ['orders?buyer_email', 'mails?to']) {
      const { data } = JSON.parse(await get(`${path}=${encodeURIComponent(email)}`))
      expect(data, path).toHaveLength(2)
    }
  }
})

it('a review that BUYER_DATA_DAYS keeps loses its text and reply when it is removed, as one that was removed before', async () => {
  const [removed, kept] = [await sellTo('ritchie'), await sellTo('melody')]
  const remove = async ({ order }: { order: number }) => {
    const payload = { reason: 'Spam' }
    const url = `/operator/v1/orders/${order}/review`
    expect((await app.operator.delete(url, { payload })).status).toBe(204)
  }
  const reviewOf = async ({ seller }: { seller: { accountId: number } }) =>
    JSON.parse(await get(`reviews?account_id=${seller.accountId}`)).data[0]
  const written = { stars: 4, text: expect.stringContaining('Regards'), reply: expect.anything() }
  await remove(removed)
  expect(await reviewOf(removed)).toMatchObject(written)
  await advance(app.operator, 100 * 24 * 3600)
  await eraseOldBuyers(app.ctx)
  expect(await reviewOf(kept)).toMatchObject({ ...written, removed: null })
  await remove(kept)
  const erased = { stars: 4, text: null, reply: null, removed: { reason: 'Spam' } }
  for (const sale of [removed, kept]) expect(await reviewOf(sale)).toMatchObject(erased)

  // Earlier versions kept the text. The update erases it.
  await app.ctx.db`update reviews set text = 'Regards' where order_id = ${kept.order}`
  expect(await reviewOf(kept)).toMatchObject({ text: 'Regards' })
  const update = new URL('../../../migrations/0061_removed_reviews.sql', import.meta.url)
  await app.ctx.db.unsafe(await readFile(update, 'utf8'))
  expect(await reviewOf(kept)).toMatchObject(erased)
})

it('data is erased BUYER_DATA_DAYS after the order was completed, and not before', async () => {
  const { seller, buyer, done, open } = await sellTo('gary')
  await advance(app.operator, 80 * 24 * 3600)
  await app.runMail()
  await runSchedule(app.ctx)
  expect(await get(`slices/${done.sliceKey}`)).toContain(buyer.name)
  await advance(app.operator, 20 * 24 * 3600)
  await runSchedule(app.ctx)
  expect(await get(`slices/${done.sliceKey}`)).not.toContain(buyer.name)
  expect((await seller.get('/tools/v1/reviews')).text).toContain('Regards')
  // Cancelled by the system in the meantime, so its days have not passed yet.
  expect(await get(`slices/${open.sliceKey}`)).toContain(buyer.name)
})

it('the job that erases old data does not read the checkouts that are erased already', async () => {
  const { ctx } = app
  // A checkout every ten minutes: 36,000 are erased, 300 became due since, 3,700 are younger.
  await ctx.db`
    insert into checkouts (buyer_name, buyer_email, created_at, erased_at)
    select
      case when number <= 36000 then '' else 'Name' end,
      case when number <= 36000 then '' else number || '@buyers.example' end,
      ${ctx.now()}::timestamptz - interval '90 days' + (number - 36300) * interval '10 minutes',
      case when number <= 36000 then now() end
    from generate_series(1, 40000) number
  `
  await ctx.db`vacuum analyze checkouts`
  const read = await inTransaction(ctx, (tx) =>
    rowsRead(tx.db, 'checkouts', () => eraseOldBuyers(tx)),
  )
  expect(read).toBeLessThan(2_000)
  const rows = await ctx.db`
    select count(*)::int as kept from checkouts where erased_at is null and buyer_name = 'Name'
  `
  expect(rows).toEqual([{ kept: 3_700 }])
})

it('the job that erases old data opens no transaction for checkouts that changed since', async () => {
  const { ctx } = app
  const { accountId } = await openShop(app)
  await insertSlices(ctx.db, accountId, Array(1_000).fill('Kept'), { from: new Date(0) })
  await ctx.db`update orders set changed_at = ${ctx.now()} where account_id = ${accountId}`
  let begun = 0
  const begin: Begin = (work, mode) => {
    begun++
    return ctx.begin(work, mode)
  }
  await eraseOldBuyers({ ...ctx, begin })
  const first = begun
  await eraseOldBuyers({ ...ctx, begin })
  expect(begun - first).toBe(0)
  const rows = await ctx.db`
    select count(*)::int as kept from checkouts where erased_at is null and buyer_name = 'Kept'
  `
  expect(rows).toEqual([{ kept: 1_000 }])
})
