import type { Context } from '../context.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { type BoughtLabelStatus, ORDER_STATUSES, type OrderStatus } from '../enums.ts'
import { validationError } from '../errors.ts'

/** One line of a seller's list of slices. */
export type SliceLine = {
  id: number
  sliceKey: string
  /** The slice's first row. Every row addresses its slice. */
  orderId: number
  createdAt: Date
  buyerName: string
  method: string
  /** Number of rows in each status. */
  statuses: Record<OrderStatus, number>
  lines: number
  units: number
  /** Over all rows, cancelled ones included. */
  merchandiseCents: number
  /** The first row's item. */
  item: { name: string | null; subtitle: string | null; image: string | null }
  /** Status of the platform label; null before it is bought. */
  label: BoughtLabelStatus | null
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

/** Slices that a search for a buyer reads from the list before it looks up the buyers themselves. */
const MAX_WALKED = 2_000

/** The slices on one side of a position, the nearest first: SQL about `created_at` and `id`. */
type Side = { isOnIt: (id: Fragment) => Fragment; order: Fragment }

/**
 * A page of a seller's slices, newest first. The page is found by its position instead of a number, and nothing is
 * counted, so that every page costs the same in a shop with millions of orders.
 *
 * @throws validation_error if the position is not a slice of the account
 */
export async function listSlices(
  { begin }: Context,
  accountId: number,
  filters: SliceFilters,
  { after, before }: SlicePosition,
  size: number,
): Promise<{ rows: SliceLine[]; hasNewer: boolean; hasOlder: boolean }> {
  const wanted = { ...filters, buyer: filters.buyer && searchable(filters.buyer) }
  return begin(async (db) => {
    const isBackward = after === undefined && before !== undefined
    const position = await positionOf(db, accountId, isBackward ? { before } : { after })
    const found = await findIds(
      db,
      accountId,
      wanted,
      {
        isOnIt: (id) =>
          position === undefined
            ? db`true`
            : isBackward
              ? db`(created_at, ${id}) > (${position.createdAt}, ${position.id})`
              : db`(created_at, ${id}) < (${position.createdAt}, ${position.id})`,
        order: db`order by ${isBackward ? db`created_at, id` : db`created_at desc, id desc`}`,
      },
      size + 1,
    )
    const hasMore = found.length > size
    return {
      rows: await readLines(db, found.slice(0, size)),
      hasNewer: isBackward ? hasMore : position !== undefined,
      hasOlder: isBackward || hasMore,
    }
  }, 'snapshot')
}

/** A UTF-16 unit takes up to three bytes, and PostgreSQL refuses a word of more than 2,046 in a search. */
const MAX_SEARCHED = 600

/** A text for `name_search`, which decomposes it: ㌖ becomes キロメートル. A longer one is cut, so that it can be searched. */
function searchable(text: string): string {
  const decomposed = text.normalize('NFKD')
  return decomposed.length <= MAX_SEARCHED ? text : decomposed.slice(0, MAX_SEARCHED).toWellFormed()
}

/** The line of the account's slice with this key or order row, if there is one. */
export async function findSliceLine(
  { db }: Context,
  accountId: number,
  wanted: { sliceKey: string } | { orderId: number },
): Promise<SliceLine | undefined> {
  const [slice] = await db<{ id: number }[]>`
    ${
      'sliceKey' in wanted
        ? db`select id from slices where slice_key = ${wanted.sliceKey}`
        : db`select slice_id as id from orders where id = ${wanted.orderId}`
    } and account_id = ${accountId}
  `
  return slice && (await readLines(db, [slice.id]))[0]
}

/** The rows of a slice: the first one, which addresses it, and their number. */
export type SliceRows = { orderId: number; rows: number }

/** The rows of slices of an account, by the slices' keys. */
export async function rowsOfSlices(
  { db }: Context,
  accountId: number,
  sliceKeys: string[],
): Promise<Map<string, SliceRows>> {
  const slices = await db<(SliceRows & { sliceKey: string })[]>`
    select s.slice_key as "sliceKey", min(o.id) as "orderId", count(*) as rows
    from slices s
    join orders o on o.slice_id = s.id
    where s.slice_key = any(${sliceKeys}::text[]) and s.account_id = ${accountId}
    group by s.id
  `
  return new Map(slices.map(({ sliceKey, ...rows }) => [sliceKey, rows]))
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

/**
 * The first slices that match. A search for a buyer first walks along the list, which finds a frequent name in
 * milliseconds. A name that is rare among these slices is looked up in the index of all buyers, because the walk would
 * read every slice of the shop.
 */
async function findIds(
  db: Db,
  accountId: number,
  filters: SliceFilters,
  side: Side,
  limit: number,
): Promise<number[]> {
  const { order } = side
  const first = (count: number) => db`${candidates(db, accountId, filters, side)} limit ${count}`
  if (filters.buyer === undefined) return idsIn(await db<{ id: number }[]>`${first(limit)}`)
  const [walk] = await db<{ ids: number[]; walked: number }[]>`
    select
      array(
        select id
        from (${first(MAX_WALKED)}) candidate
        where exists (
          select 1
          from slices s
          join checkouts c on c.id = s.checkout_id
          where s.id = candidate.id and name_words(c.buyer_name) @@ name_search(${filters.buyer})
        )
        ${order}
        limit ${limit}
      ) as ids,
      (select count(*) from (${first(MAX_WALKED)}) candidate) as walked
  `
  const { ids, walked } = walk!
  const isComplete = ids.length === limit || walked < MAX_WALKED
  return isComplete ? ids : findIdsOfBuyer(db, accountId, filters, side, limit)
}

/** The first slices that match, found by their buyers. The cost is that of the buyers with the name in all shops. */
async function findIdsOfBuyer(
  db: Db,
  accountId: number,
  { status, buyer, ...period }: SliceFilters,
  { isOnIt, order }: Side,
  limit: number,
): Promise<number[]> {
  const hasStatus =
    status === undefined
      ? db``
      : db`and exists (select 1 from orders where slice_id = slices.id and status = ${status})`
  return idsIn(
    await db<{ id: number }[]>`
      with buyers as materialized (
        select id as checkout_id
        from checkouts
        where name_words(buyer_name) @@ name_search(${buyer!})
      )
      select id
      from buyers
      -- The limit makes the planner look up each checkout. Its estimate of the buyers is far too high, and it would
      -- read all slices of the shop.
      cross join lateral (
        select id, created_at
        from slices
        where checkout_id = buyers.checkout_id and account_id = ${accountId} ${hasStatus}
        limit 1
      ) candidate
      where ${isOnIt(db`id`)} ${isIn(db, period)}
      ${order}
      limit ${limit}
    `,
  )
}

const idsIn = (rows: { id: number }[]) => rows.map(({ id }) => id)

const isIn = (db: Db, { from, to }: Pick<SliceFilters, 'from' | 'to'>) => db`
  ${from === undefined ? db`` : db`and created_at >= ${from}`}
  ${to === undefined ? db`` : db`and created_at < ${to}`}
`

/**
 * The slices with a status in a period, on one side of a position. The rows of a slice have its time, so a status is found
 * with the index of the rows. The caller adds the limit to this level, because PostgreSQL plans a DISTINCT inside another
 * SELECT for all of its rows: a shop with most of all orders would have them read and sorted for each page.
 */
const candidates = (
  db: Db,
  accountId: number,
  { status, ...period }: SliceFilters,
  { isOnIt, order }: Side,
) =>
  status === undefined
    ? db`
        select id, created_at
        from slices
        where account_id = ${accountId} ${isIn(db, period)} and ${isOnIt(db`id`)}
        ${order}
      `
    : db`
        select distinct created_at, slice_id as id
        from orders
        where
          account_id = ${accountId} and status = ${status} ${isIn(db, period)}
          and ${isOnIt(db`slice_id`)}
        ${order}
      `

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
      s.shipping_method as method,
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
