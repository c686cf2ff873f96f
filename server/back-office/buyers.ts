import { forgetRecipients } from '../carriers/simulated.ts'
import type { Context } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { hasAddress } from '../database/has-address.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Page } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import { type DisputeReason, OPEN_STATUSES } from '../enums.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Mail } from '../mail/mail.ts'
import { eraseMails, mailsAbout } from '../mail/outbox.ts'
import type { Order } from '../orders/order.ts'
import { listAllOrders } from '../orders/orders.ts'
import { type AnyShipment, shipmentsOf } from '../shipping/all-shipments.ts'
import { labelPath } from '../shipping/label.ts'
import { ERASED_LABEL } from '../shipping/shipments.ts'
import type { Address } from '../text/address.ts'
import { canonicalAddress } from '../text/mailbox.ts'
import { DAYS } from '../time/units.ts'
import { eraseResponses } from '../webhooks/deliveries.ts'

/** Numbers of records that lost their personal data. */
export type Erased = {
  checkouts: number
  mails: number
  events: number
  labels: number
  disputes: number
  reviews: number
  /** Checkouts with an open order, whose data is still needed. */
  open: number
}

type ErasedInBatch = Omit<Erased, 'open'>

/** Checkouts that one transaction erases. */
const BATCH = 200

/**
 * Erases a buyer's personal data from completed orders: name, e-mail address and delivery address, the texts of e-mails
 * and reviews, the payloads of events, receivers' responses to them, tracking URLs, messages of disputes, the seller's
 * answers and replies, which address the buyer, and label PDFs. Amounts, items, stars and the ledger stay. A checkout
 * with an open order is left alone: call it again later.
 */
export async function eraseBuyer(
  ctx: Context & { files: FileStore },
  email: string,
): Promise<Erased> {
  const { db } = ctx
  const found = await db<{ id: number }[]>`
    select id
    from checkouts
    where ${hasAddress(db, db`buyer_email`, email)} and erased_at is null
  `
  let erased = NOTHING
  for (let at = 0; at < found.length; at += BATCH) {
    erased = sumOf(erased, await eraseBatch(ctx, idsOf(found.slice(at, at + BATCH)), null))
  }
  // Earlier versions stored the e-mails to a buyer without their slice. E-mails to a seller have none either.
  const withoutSlice = await eraseMails(
    ctx,
    db`
      ${hasAddress(db, db`recipient`, email)}
      and slice_id is null
      and not exists (select from members where ${hasAddress(db, db`email`, email)})
      and not exists (select from accounts where ${hasAddress(db, db`email`, email)})
    `,
  )
  return { ...erased, mails: erased.mails + withoutSlice, open: found.length - erased.checkouts }
}

/**
 * Erases the data of buyers whose orders were completed `BUYER_DATA_DAYS` ago. Their reviews stay unless they were removed,
 * because they were written for the public.
 */
export async function eraseOldBuyers(ctx: Context & { files: FileStore }): Promise<void> {
  const days = ctx.config.buyerDataDays
  if (days === 0) return
  const before = new Date(ctx.now().getTime() - days * DAYS)
  let last = { createdAt: new Date(0), id: 0 }
  await inBatches(async (max) => {
    // Ordered like the index of checkouts with data. In the order of ids, each run would read all erased checkouts.
    const found = await ctx.db<(typeof last)[]>`
      select created_at as "createdAt", id
      from checkouts
      where
        erased_at is null
        and created_at <= ${before}
        and (created_at, id) > (${last.createdAt}, ${last.id})
      order by created_at, id
      limit ${max}
    `
    // A change of old orders keeps their checkouts, and each run finds them again: they cost two lookups per batch, and
    // no transaction.
    const { ids } = await completedOf(ctx.db, idsOf(found), before)
    for (let at = 0; at < ids.length; at += BATCH) {
      await eraseBatch(ctx, ids.slice(at, at + BATCH), before)
    }
    last = found.at(-1) ?? last
    return found.length
  })
}

const NOTHING: ErasedInBatch = {
  checkouts: 0,
  mails: 0,
  events: 0,
  labels: 0,
  disputes: 0,
  reviews: 0,
}

const sumOf = (a: ErasedInBatch, b: ErasedInBatch): ErasedInBatch => ({
  checkouts: a.checkouts + b.checkouts,
  mails: a.mails + b.mails,
  events: a.events + b.events,
  labels: a.labels + b.labels,
  disputes: a.disputes + b.disputes,
  reviews: a.reviews + b.reviews,
})

const idsOf = (rows: { id: number }[]) => rows.map(({ id }) => id)

/**
 * Selects the checkouts whose orders are all completed, and their slices.
 *
 * @param before leaves out checkouts with a row that has changed since; null for any time
 */
async function completedOf(
  db: Db,
  found: number[],
  before: Date | null,
): Promise<{ ids: number[]; slices: number[] }> {
  const slices = await slicesOf(db, found)
  const busy = await db<{ id: number }[]>`
    select distinct slice_id as id
    from orders
    where
      slice_id = any(${idsOf(slices)}::bigint[])
      and (status = any(${[...OPEN_STATUSES]}::text[]) or updated_at > ${before})
  `
  const busySlices = new Set(idsOf(busy))
  const kept = new Set(
    slices.filter(({ id }) => busySlices.has(id)).map(({ checkoutId }) => checkoutId),
  )
  return {
    ids: found.filter((id) => !kept.has(id)),
    slices: idsOf(slices.filter(({ checkoutId }) => !kept.has(checkoutId))),
  }
}

/** @param before leaves out checkouts with a row that has changed since; null for any time */
async function eraseBatch(
  ctx: Context & { files: FileStore },
  found: number[],
  before: Date | null,
): Promise<ErasedInBatch> {
  const { ids, slices: completed } = await completedOf(ctx.db, found, before)
  // Includes a purchase that a crash has interrupted, because its label may be stored.
  const labels = await ctx.db<{ sliceId: number; name: string; isReady: boolean }[]>`
    select slice_id as "sliceId", label_name as name, coalesce(status = 'ready', false) as "isReady"
    from shipments
    where slice_id = any(${completed}::bigint[])
  `
  // Before the transaction, which must not wait for files. After a crash, the next run finds the checkouts again.
  for (const { name } of labels) await ctx.files.delete(labelPath(`${name}.pdf`))
  await eraseResponses(ctx, completed)
  const { slices: erased, ...counts } = await eraseCheckouts(ctx, ids, {
    withReviews: before === null,
  })
  // Again, because a poll may have stored a label before the transaction, or an attempt at a delivery a response. A later
  // one finds the data erased.
  const erasedSlices = new Set(erased)
  for (const { sliceId, name } of labels) {
    if (erasedSlices.has(sliceId)) await ctx.files.delete(labelPath(`${name}.pdf`))
  }
  await eraseResponses(ctx, erased)
  return { ...counts, labels: labels.filter(({ isReady }) => isReady).length }
}

/** Each lookup is a statement of its own: the planner would read whole tables for a join of unknown size. */
const slicesOf = (db: Db, checkoutIds: number[]) => db<{ id: number; checkoutId: number }[]>`
  select id, checkout_id as "checkoutId"
  from slices
  where checkout_id = any(${checkoutIds}::bigint[])
`

const ordersOf = (db: Db, sliceIds: number[]) => db<{ id: number }[]>`
  select id from orders where slice_id = any(${sliceIds}::bigint[])
`

/** SQL condition: no order of the row of `checkouts` is open. */
const isCompleted = (db: Db) => db`
  not exists (
    select
    from slices s
    join orders o on o.slice_id = s.id
    where s.checkout_id = checkouts.id and o.status = any(${[...OPEN_STATUSES]}::text[])
  )
`

const eraseCheckouts = (ctx: Context, ids: number[], { withReviews }: { withReviews: boolean }) =>
  inTransaction(ctx, async ({ db, now }) => {
    // With these locks, a concurrent review or dispute either ends first or finds the data erased.
    await db`
      select from slices
      where checkout_id = any(${ids}::bigint[])
      order by id
      for no key update
    `
    // A dispute may have been opened meanwhile, so the condition is checked again with the slices locked.
    const checkouts = await db<{ id: number }[]>`
      update checkouts
      set buyer_name = '', buyer_email = '', address = null, erased_at = ${now()}
      where id = any(${ids}::bigint[]) and erased_at is null and ${isCompleted(db)}
      returning id
    `
    const slices = idsOf(await slicesOf(db, idsOf(checkouts)))
    // The PDFs of all these slices are deleted by now, also those of a checkout that is kept because of a dispute.
    const withoutLabels = idsOf(await slicesOf(db, ids))
    const orders = idsOf(await ordersOf(db, slices))
    const mails = await eraseMails({ db }, db`slice_id = any(${slices}::bigint[])`)
    const events = await db`
      update events
      set
        data = (
          select
            json_object_agg(
              key,
              case key
                when 'buyer_name' then '""'::json
                when 'delivery_address' then 'null'::json
                else value
              end
            )::text
          from json_each(data::json)
        )
      where slice_id = any(${slices}::bigint[]) and event = 'order.created'
    `
    // The address of a carrier's tracking page can contain the postal code of the recipient.
    await db`
      update slices
      set tracking_url = null
      where id = any(${slices}::bigint[]) and tracking_url is not null
    `
    const disputes = await db`
      update disputes
      set
        message = null,
        answer = case when answer is not null then '' end,
        photo_urls = case when photo_urls is not null then '{}'::text[] end
      where order_id = any(${orders}::bigint[]) and (message is not null or answer <> '')
    `
    const reviews = await db`
      update reviews
      set text = null, reply = null, replied_at = null
      where
        slice_id = any(${slices}::bigint[])
        and (${withReviews}::boolean or removed_at is not null)
        and (text is not null or reply is not null)
    `
    await db`
      update shipments
      set
        status = ${ERASED_LABEL.status},
        message = ${ERASED_LABEL.message},
        is_void = ${ERASED_LABEL.isVoid},
        link_nonce = null,
        link_expires_at = null,
        poll_at = null
      where slice_id = any(${withoutLabels}::bigint[]) and state = 'bought'
    `
    await forgetRecipients(db, slices)
    // Followers of the change feed have copies of the rows. They are locked by id, as everywhere (orders/locks.ts).
    await db`select from orders where id = any(${orders}::bigint[]) order by id for no key update`
    await db`update orders set changed_at = ${now()} where id = any(${orders}::bigint[])`
    return {
      slices,
      checkouts: checkouts.length,
      mails,
      events: events.count,
      disputes: disputes.count,
      reviews: reviews.count,
    }
  })

/**
 * The data of a buyer, without texts of staff, entries of the audit log, responses of webhook receivers, and e-mail
 * addresses of sellers.
 */
export type BuyerData = {
  checkouts: {
    id: number
    name: string
    email: string
    address: Address | null
    createdAt: Date
  }[]
  orders: Order[]
  mails: Mail[]
  shipments: AnyShipment[]
  events: { event: string; data: string; createdAt: Date }[]
  disputes: {
    orderId: number
    reason: DisputeReason
    message: string | null
    answer: string | null
    photoUrls: string[]
    openedAt: Date
  }[]
  reviews: {
    sliceKey: string
    stars: number
    text: string | null
    reply: string | null
    createdAt: Date
  }[]
}

/** Rows of one page of a list that is read as a whole. */
const PAGE_SIZE = 1_000

async function allPages<Row>(
  read: (page: Page) => Promise<{ rows: Row[]; total: number }>,
): Promise<Row[]> {
  const all: Row[] = []
  for (;;) {
    const { rows } = await read({ perPage: PAGE_SIZE, offset: all.length })
    all.push(...rows)
    if (rows.length < PAGE_SIZE) return all
  }
}

/** Reads the data of a buyer, by e-mail address in any casing and either form of its domain. */
export async function exportBuyer(ctx: Context, email: string): Promise<BuyerData> {
  const { db } = ctx
  const checkouts = await db<BuyerData['checkouts']>`
    select id, buyer_name as name, buyer_email as email, address, created_at as "createdAt"
    from checkouts
    where ${hasAddress(db, db`buyer_email`, email)}
    order by id desc
  `
  const slices = idsOf(await slicesOf(db, idsOf(checkouts)))
  const rows = idsOf(await ordersOf(db, slices))
  const [orders, mails, shipments, events, disputes, reviews] = await Promise.all([
    allPages((page) => listAllOrders(ctx, { buyerEmail: email }, page)),
    mailsAbout(ctx, email, slices),
    shipmentsOf(ctx, slices),
    db<BuyerData['events']>`
      select event, data, created_at as "createdAt"
      from events
      where slice_id = any(${slices}::bigint[])
      order by id desc
    `,
    db<BuyerData['disputes']>`
      select
        order_id as "orderId",
        reason,
        message,
        answer,
        coalesce(photo_urls, '{}') as "photoUrls",
        opened_at as "openedAt"
      from disputes
      where order_id = any(${rows}::bigint[])
      order by id desc
    `,
    db<BuyerData['reviews']>`
      select s.slice_key as "sliceKey", r.stars, r.text, r.reply, r.created_at as "createdAt"
      from reviews r
      join slices s on s.id = r.slice_id
      where r.slice_id = any(${slices}::bigint[])
      order by r.id desc
    `,
  ])
  return {
    checkouts: [...checkouts],
    orders,
    mails: mails.map((mail) => withoutSeller(mail, email)),
    shipments: [...shipments],
    events: [...events],
    disputes: [...disputes],
    reviews: [...reviews],
  }
}

/** An e-mail without the address of a seller who is its recipient, which the mail server's reply repeats. */
const withoutSeller = (mail: Mail, buyer: string): Mail =>
  canonicalAddress(mail.to) === canonicalAddress(buyer) ? mail : { ...mail, to: '…', error: null }
