import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { type Page, readPage } from '../database/paging.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { conflict, validationError } from '../errors.ts'
import { sendMail } from '../mail/outbox.ts'
import { refuseTaken, setFirstPassword } from '../members/members.ts'
import {
  type Account,
  type AccountChanges,
  accountNotFound,
  type ShippingOption,
  slugFor,
} from './account.ts'
import { reactivatedEmail, suspendedEmail, tierEmail } from './emails.ts'
import { publishRating } from './rating.ts'

/** Fields of a new account; the shop's name and e-mail address are required. */
export type NewAccount = AccountChanges & { shopName: string; email: string }

/**
 * Opens an account. Without a slug, one is derived from the shop's name, with a number if it is taken. With a password,
 * its first member signs in with the account's e-mail address.
 *
 * @throws validation_error if the e-mail address or the given slug is taken
 */
export async function createAccount(ctx: Context, wanted: NewAccount): Promise<Account> {
  return refuseTaken(() =>
    inTransaction(ctx, async (tx) => {
      const { db, now } = tx
      const id = await insertAccount(db, { ...wanted, createdAt: now() })
      await writeShippingOptions(db, id, wanted.shippingOptions ?? [])
      if (wanted.passwordHash) {
        await setFirstPassword(tx, { id, email: wanted.email }, wanted.passwordHash)
      }
      return getAccount({ db }, id)
    }),
  )
}

/**
 * Changes the given fields. Shipping options are replaced as a whole. A password is set for the first member, who keeps
 * signing in with the same e-mail address when that of the account changes. `setPayoutVerified` changes the verification.
 *
 * @param check refuses the changes by throwing. The account that it gets can't change before they are made
 * @throws not_found, or validation_error if the e-mail address or slug is taken
 */
export async function changeAccount(
  ctx: Context,
  id: number,
  changes: Omit<AccountChanges, 'payoutVerified'>,
  check: (former: Account) => void = () => {},
): Promise<Account> {
  if (changes.timeZone !== undefined) requireTimeZone(changes.timeZone)
  return refuseTaken(() =>
    inTransaction(ctx, async (tx) => {
      const { db, signal } = tx
      const columns = Object.fromEntries(
        Object.entries({
          shop_name: changes.shopName,
          slug: changes.slug,
          email: changes.email,
          business: changes.business,
          seller_tier: changes.sellerTier,
          api_access: changes.apiAccess,
          imported_rating: changes.rating,
          imported_reviews: changes.reviews,
          time_zone: changes.timeZone,
          closed_at: changes.apiAccess === 'enabled' ? null : undefined,
        }).filter(([, value]) => value !== undefined),
      )
      // With the lock, a concurrent change is either part of the former state or waits for this one. A new slug needs the
      // stronger one, because it is a key: a transaction that got it later could wait for one that waits for it.
      await db`
        select from accounts
        where id = ${id}
        ${changes.slug === undefined ? db`for no key update` : db`for update`}
      `
      const former = await getAccount(tx, id)
      check(former)
      if (Object.keys(columns).length > 0) {
        await db`update accounts set ${db(columns)} where id = ${id}`
      }
      if (changes.rating !== undefined || changes.reviews !== undefined) await publishRating(tx, id)
      if (changes.shippingOptions) await writeShippingOptions(db, id, changes.shippingOptions)
      const changed = await getAccount(tx, id)
      const about = { accountId: id }
      if (former.sellerTier !== changed.sellerTier) {
        const tiers = { before: former.sellerTier, after: changed.sellerTier }
        await sendMail(
          tx,
          tierEmail(tx, { ...changed, ...tiers }, 'by a decision of the marketplace'),
          about,
        )
      }
      // A closed shop has no members, keys or listings that it could be about.
      if (former.closedAt === null && former.apiAccess !== changed.apiAccess) {
        if (changed.apiAccess === 'suspended')
          await sendMail(tx, suspendedEmail(tx, changed), about)
        if (former.apiAccess === 'suspended')
          await sendMail(tx, reactivatedEmail(tx, changed), about)
      }
      if (changes.passwordHash !== undefined) {
        await setFirstPassword(tx, changed, changes.passwordHash)
      }
      // A program may send the same settings all the time: only a change costs the caches of all processes anything.
      if (!isDeepStrictEqual(former, changed)) await signal('keys', id)
      return changed
    }),
  )
}

/**
 * Replaces the shipping options at the seller's request. While the marketplace sells no labels, the seller can't add an
 * option with one: buyers would pay the marketplace for a parcel that the seller has to pay.
 *
 * @param isCurrent whether these are the options that the seller wants to replace
 * @throws validation_error, or conflict unless `isCurrent`
 */
export async function changeOwnShippingOptions(
  ctx: Context,
  id: number,
  options: ShippingOption[],
  isCurrent: (former: ShippingOption[]) => boolean = () => true,
): Promise<void> {
  await changeAccount(ctx, id, { shippingOptions: options }, ({ shippingOptions }) => {
    if (!isCurrent(shippingOptions)) {
      throw conflict('The shipping options were changed meanwhile. Try again.')
    }
    if (ctx.config.carrier !== undefined) return
    const isNewLabel = ({ code, fulfilment }: ShippingOption) =>
      fulfilment === 'platform' &&
      !shippingOptions.some((stored) => stored.code === code && stored.fulfilment === fulfilment)
    const index = options.findIndex(isNewLabel)
    if (index >= 0) {
      const field = `shipping_options.${index}.fulfilment`
      const message = `The ${field} field must be self_ship, because the marketplace sells no labels.`
      throw validationError({ [field]: [message] })
    }
  })
}

/**
 * Checks the name of a time zone, with an area: an abbreviation such as `IST` can mean several zones.
 *
 * @throws validation_error for any other text
 */
function requireTimeZone(name: string): void {
  if (/^(UTC$|[A-Z]\w*\/)/.test(name) && isTimeZone(name)) return
  const message = 'The time_zone field must be the name of a time zone, such as Europe/Amsterdam.'
  throw validationError({ time_zone: [message] })
}

function isTimeZone(name: string): boolean {
  try {
    // Intl knows more names, with which start-of-day.ts can't compute.
    return Boolean(Temporal.Now.zonedDateTimeISO(name))
  } catch {
    return false
  }
}

/** One account with its shipping options. @throws not_found */
export async function getAccount(ctx: Pick<Context, 'db'>, id: number): Promise<Account> {
  const [account] = await ctx.db<Account[]>`
    select ${accountColumns(ctx.db)} from accounts a where id = ${id}
  `
  if (!account) throw accountNotFound()
  return account
}

/**
 * One page of the accounts, newest first, and their total number.
 *
 * @param wanted.text the id, or a part of the shop's name, slug or e-mail address in any casing
 * @param wanted.ids only these accounts
 */
export const listAccounts = (
  ctx: Context,
  { text, ids }: { text?: string | undefined; ids?: number[] | undefined },
  page: Page,
): Promise<{ rows: Account[]; total: number }> =>
  readPage(ctx, page, (db) => {
    // Counting reads all accounts anyway, so an index would not help.
    const matching = db`
      from accounts
      where
        true
        ${ids === undefined ? db`` : db`and id = any(${ids}::bigint[])`}
        ${
          text === undefined
            ? db``
            : db`
                and (
                  id::text = ${text}
                  -- The collation of slugs knows only the casing of ASCII letters.
                  or strpos(
                    lower(concat_ws(' ', shop_name, slug, email) collate "default"),
                    lower(${text})
                  ) > 0
                )
              `
        }
    `
    return {
      total: db<{ total: number }[]>`select count(*) as total ${matching}`,
      rows: ({ size, skipped, fromEnd }) => {
        const direction = fromEnd ? db`` : db`desc`
        return db<Account[]>`
          select ${accountColumns(db)}
          -- The page is selected first, so that shipping options are aggregated for its rows only.
          from (
            select * ${matching} order by id ${direction} limit ${size} offset ${skipped}
          ) a
          order by a.id ${direction}
        `
      },
    }
  })

/** Number of slugs that are tried in order. All names without Latin letters share the base `shop`, with thousands of numbers. */
const TRIED_IN_ORDER = 10

type AccountRow = NewAccount & { createdAt: Date }

async function insertAccount(db: Db, row: AccountRow): Promise<number> {
  if (row.slug !== undefined) {
    const [inserted] = await insertWithSlug(db, row, row.slug, db``)
    if (inserted) return inserted.id
  }
  const base = slugFor(row.shopName)
  for (let copy = 1; ; copy++) {
    if (copy === TRIED_IN_ORDER + 1) copy = (await lastCopy(db, base)) + 1
    const slug = copy === 1 ? base : `${base}-${copy}`
    const [inserted] = await insertWithSlug(db, row, slug, db`on conflict (slug) do nothing`)
    if (inserted) return inserted.id
  }
}

/** The highest number that a slug has behind this base. The range is one of the unique index. */
async function lastCopy(db: Db, base: string): Promise<number> {
  const begin = `${base}-`
  const [row] = await db<{ last: number }[]>`
    select coalesce(max(substr(slug, ${begin.length + 1}::int)::int), ${TRIED_IN_ORDER}::int) as last
    from accounts
    where
      slug >= ${begin}
      and slug < ${`${base}.`}
      and slug ~ ${`^${begin}[0-9]{1,6}$`}
  `
  return row!.last
}

const insertWithSlug = (db: Db, row: AccountRow, slug: string, whenTaken: Fragment) => db<
  { id: number }[]
>`
  insert into accounts (
    shop_name, slug, email, business, seller_tier,
    payout_verified, api_access, rating, reviews, imported_rating, imported_reviews, created_at
  )
  values (
    ${row.shopName},
    ${slug},
    ${row.email},
    ${row.business ?? false},
    ${row.sellerTier ?? 'Bronze'},
    ${row.payoutVerified ?? false},
    ${row.apiAccess ?? 'disabled'},
    ${row.rating ?? null},
    ${row.reviews ?? 0},
    ${row.rating ?? null},
    ${row.reviews ?? 0},
    ${row.createdAt}
  )
  ${whenTaken}
  returning id
`

/** The caller holds the account's lock: the options of a concurrent replacement would violate the key of these. */
async function writeShippingOptions(
  db: Db,
  accountId: number,
  options: ShippingOption[],
): Promise<void> {
  await db`delete from shipping_options where account_id = ${accountId}`
  await db`
    insert into shipping_options (
      account_id, code, position, name, fulfilment, tracked, price_cents, enabled, countries,
      max_value_cents
    )
    select
      ${accountId}, code, position, name, fulfilment, tracked, "priceCents", enabled, countries,
      "maxValueCents"
    from jsonb_to_recordset(${db.json(options.map((option, position) => ({ ...option, position })))})
      as o (
        code text, position integer, name text, fulfilment text, tracked boolean,
        "priceCents" integer, enabled boolean, countries text[], "maxValueCents" integer
      )
  `
}

const accountColumns = (db: Db) => db`
  a.id,
  a.shop_name as "shopName",
  a.slug,
  a.email,
  a.business,
  a.seller_tier as "sellerTier",
  a.payout_verified as "payoutVerified",
  a.api_access as "apiAccess",
  a.imported_rating::float8 as rating,
  a.imported_reviews as reviews,
  a.rating::float8 as "sellerRating",
  a.reviews as "sellerReviews",
  a.time_zone as "timeZone",
  a.on_holiday as "onHoliday",
  ${isShown(db)} as "isShown",
  a.created_at as "createdAt",
  a.closed_at as "closedAt",
  ${shippingOptionsOf(db)} as "shippingOptions"
`

/** Whether buyers see the shop of a row `a` of `accounts`, and its offers. */
export const isShown = (db: Db) => db`(a.api_access <> 'suspended' and not a.on_holiday)`

/** Whether a row `a` of `accounts` sells anything. The shop of a closed account is still shown. */
export const isSelling = (db: Db) => db`(${isShown(db)} and a.closed_at is null)`

/** The shipping options of a row `a` of `accounts`, in their order, as JSON. */
export const shippingOptionsOf = (db: Db) => db`
  (
    select coalesce(
      json_agg(
        json_build_object(
          'code', o.code,
          'name', o.name,
          'fulfilment', o.fulfilment,
          'tracked', o.tracked,
          'priceCents', o.price_cents,
          'enabled', o.enabled,
          'countries', o.countries,
          'maxValueCents', o.max_value_cents
        )
        order by o.position
      ),
      '[]'
    )
    from shipping_options o
    where o.account_id = a.id
  )
`
