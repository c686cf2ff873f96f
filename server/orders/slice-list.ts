import type { Context } from '../context.ts'
import type { Db } from '../database/sql.ts'
import { type Fulfilment, ORDER_STATUSES, type OrderStatus } from '../enums.ts'
import { validationError } from '../errors.ts'

/** One line of a seller's list of slices. */
export type SliceLine = {
  id: number
  sliceKey: string
  /** The slice's first row. Every row addresses its slice. */
  orderId: number
  createdAt: Date
  buyerName: string
  hasAddress: boolean
  method: string
  fulfilment: Fulfilment
  tracked: boolean
  /** Number of rows in each status. */
  statuses: Record<OrderStatus, number>
  lines: number
  units: number
  /** Over all rows, cancelled ones included. */
  merchandiseCents: number
  /** The first row's item. */
  item: { name: string | null; subtitle: string | null; image: string | null }
  /** Status of the platform label; null before it is bought. */
  label: 'ready' | 'processing' | 'action_required' | null
}

export type SliceFilters = {
  /** At least one row has this status. */
  status?: OrderStatus | undefined
  /** Sold at or after this moment. */
  from?: Date | undefined
  /** Sold before this moment. */
  to?: Date | undefined
  /** The buyer's name has a word that begins with each word of this text. */
  buyer?: string | undefined
}

/** A position in the list: the key of the slice before or after the page. */
export type SlicePosition = { after?: string | undefined; before?: string | undefined }

/**
 * A page of a seller's slices, newest first. The page is found by its position instead of a number, and nothing is
 * counted, so that every page costs the same in a shop with millions of orders.
 *
 * @throws validation_error if the position is no slice of the account
 */
export async function listSlices(
  { begin }: Context,
  accountId: number,
  filters: SliceFilters,
  { after, before }: SlicePosition,
  size: number,
): Promise<{ rows: SliceLine[]; hasNewer: boolean; hasOlder: boolean }> {
  return begin(async (db) => {
    const isBackward = after === undefined && before !== undefined
    const position = await positionOf(db, accountId, isBackward ? { before } : { after })
    const found = await db<{ id: number }[]>`
      select id
      from (${candidates(db, accountId, filters)}) candidate
      where ${
        position === undefined
          ? db`true`
          : isBackward
            ? db`(created_at, id) > (${position.createdAt}, ${position.id})`
            : db`(created_at, id) < (${position.createdAt}, ${position.id})`
      }
      order by ${isBackward ? db`created_at, id` : db`created_at desc, id desc`}
      limit ${size + 1}
    `
    const ids = found.slice(0, size).map(({ id }) => id)
    const hasMore = found.length > size
    return {
      rows: await readLines(db, ids),
      hasNewer: isBackward ? hasMore : position !== undefined,
      hasOlder: isBackward || hasMore,
    }
  }, 'snapshot')
}

/** The line of the slice that an account's order row belongs to, if there is one. */
export async function findSliceLine(
  { db }: Context,
  accountId: number,
  orderId: number,
): Promise<SliceLine | undefined> {
  const [order] = await db<{ sliceId: number }[]>`
    select slice_id as "sliceId" from orders where id = ${orderId} and account_id = ${accountId}
  `
  return order && (await readLines(db, [order.sliceId]))[0]
}

async function positionOf(
  db: Db,
  accountId: number,
  position: SlicePosition,
): Promise<{ id: number; createdAt: Date } | undefined> {
  const [[field, key] = []] = Object.entries(position)
  if (field === undefined || key === undefined) return undefined
  const [slice] = await db<{ id: number; createdAt: Date }[]>`
    select id, created_at as "createdAt"
    from slices
    where slice_key = ${key} and account_id = ${accountId}
  `
  if (!slice) throw validationError({ [field]: [`The ${field} field must be one of your slices.`] })
  return slice
}

/** The matching slices. The rows of a slice have its time, so a status is found with the index of the rows. */
function candidates(db: Db, accountId: number, { status, from, to, buyer }: SliceFilters) {
  const isInPeriod = db`
    ${from === undefined ? db`` : db`and created_at >= ${from}`}
    ${to === undefined ? db`` : db`and created_at < ${to}`}
  `
  const hasBuyer =
    buyer === undefined
      ? db``
      : db`
          and exists (
            select 1
            from slices s
            join checkouts c on c.id = s.checkout_id
            where s.id = candidate.id and name_words(c.buyer_name) @@ name_search(${buyer})
          )
        `
  return status === undefined
    ? db`
        select id, created_at
        from slices candidate
        where account_id = ${accountId} ${isInPeriod} ${hasBuyer}
      `
    : db`
        select id, created_at
        from (
          select distinct created_at, slice_id as id
          from orders
          where account_id = ${accountId} and status = ${status} ${isInPeriod}
        ) candidate
        where true ${hasBuyer}
      `
}

/** In the order of the list. */
async function readLines(db: Db, ids: number[]): Promise<SliceLine[]> {
  type Columns = Omit<SliceLine, 'statuses' | 'item'> & SliceLine['item'] & { statuses: number[] }
  const rows = await db<Columns[]>`
    select
      s.id,
      s.slice_key as "sliceKey",
      first."orderId",
      s.created_at as "createdAt",
      c.buyer_name as "buyerName",
      c.address is not null as "hasAddress",
      s.shipping_method as method,
      s.fulfilment,
      s.tracked,
      summed.statuses,
      summed.lines,
      summed.units,
      summed."merchandiseCents",
      first.name,
      first.subtitle,
      first.image,
      sh.status as label
    from slices s
    join checkouts c on c.id = s.checkout_id
    left join shipments sh on sh.slice_id = s.id and sh.state = 'bought'
    cross join lateral (
      select
        count(*) as lines,
        sum(quantity) as units,
        sum(price_cents::bigint * quantity)::bigint as "merchandiseCents",
        array(
          select count(*) filter (where o.status = known.status)
          from unnest(${[...ORDER_STATUSES]}::text[]) with ordinality as known (status, index)
          left join orders o on o.slice_id = s.id
          group by known.index
          order by known.index
        ) as statuses
      from orders
      where slice_id = s.id
    ) summed
    cross join lateral (
      select id as "orderId", item_name as name, item_subtitle as subtitle, item_image as image
      from orders
      where slice_id = s.id
      order by id
      limit 1
    ) first
    where s.id = any(${ids}::bigint[])
    order by s.created_at desc, s.id desc
  `
  return rows.map(({ name, subtitle, image, statuses, ...line }) => ({
    ...line,
    statuses: Object.fromEntries(
      ORDER_STATUSES.map((status, index) => [status, statuses[index] ?? 0]),
    ) as SliceLine['statuses'],
    item: { name, subtitle, image },
  }))
}
