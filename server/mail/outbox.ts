import type { Context } from '../context.ts'
import { deleteInBatches } from '../database/batches.ts'
import { hasAddress } from '../database/has-address.ts'
import { type Page, readPage } from '../database/paging.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { conflict, notFound } from '../errors.ts'
import { claimStillHeld, waitingAccounts } from '../queue/claim.ts'
import { failInterrupted, INTERRUPTED } from '../queue/interrupted.ts'
import type { FastTurn, SlowTurn } from '../queue/turns.ts'
import { DAYS } from '../time/units.ts'
import {
  type ClaimedMail,
  delayAfter,
  delayOfServer,
  type Handled,
  MAX_ATTEMPTS,
  type Mail,
  type MailError,
  type MailStatus,
  type NewMail,
  oneLine,
} from './mail.ts'

/** Lease of a claim: twice the longest attempt (smtp.ts). */
const LEASE_SECONDS = 360
const RETENTION_MS = 30 * DAYS

/**
 * Writes e-mails to the outbox, inside the transaction of their cause. The mail worker sends them at least once
 * (queue/README.md). A buyer whose data was erased has no address, and gets none.
 *
 * @param about.sliceId the slice that all of them are about
 * @param about.accountId the seller whose turn all of them take
 */
export async function sendMails(
  { db, now, signal }: Pick<Context, 'db' | 'now' | 'signal'>,
  all: NewMail[],
  about: Pick<NewMail, 'sliceId' | 'accountId'> = {},
): Promise<void> {
  const mails = all.filter(({ to }) => to !== '')
  if (mails.length === 0) return
  await db`
    insert into mails (
      recipient, subject, text, secret, slice_id, account_id, checkout_id, created_at,
      next_attempt_at
    )
    select
      recipient, subject, text, secret, slice_id,
      coalesce(account_id, (select slices.account_id from slices where slices.id = slice_id)),
      checkout_id, ${now()}::timestamptz, ${now()}::timestamptz
    from unnest(
      ${mails.map(({ to }) => to)}::text[],
      ${mails.map(({ subject }) => oneLine(subject))}::text[],
      ${mails.map(({ text }) => text)}::text[],
      ${mails.map(({ secret }) => secret ?? null)}::text[],
      ${mails.map(({ sliceId }) => sliceId ?? about.sliceId ?? null)}::bigint[],
      ${mails.map(({ accountId }) => accountId ?? about.accountId ?? null)}::bigint[],
      ${mails.map(({ checkoutId }) => checkoutId ?? null)}::bigint[]
    ) with ordinality as mail (
      recipient, subject, text, secret, slice_id, account_id, checkout_id, index
    )
    order by index
  `
  await signal('mail')
}

/** Writes one e-mail to the outbox, like `sendMails`. */
export const sendMail = (
  ctx: Pick<Context, 'db' | 'now' | 'signal'>,
  mail: NewMail,
  about?: Pick<NewMail, 'sliceId' | 'accountId'>,
): Promise<void> => sendMails(ctx, [mail], about)

export type MailFilters = {
  /** The recipient's address, in any casing. */
  to?: string | undefined
  /** Also those about its whole checkout. */
  sliceKey?: string | undefined
  status?: MailStatus | undefined
}

/**
 * A page of the outbox, newest first.
 *
 * @param options.secrets whether the texts contain their secrets
 */
export const listMails = (
  ctx: Pick<Context, 'begin'>,
  { to, sliceKey, status }: MailFilters,
  page: Page,
  { secrets = false } = {},
): Promise<{ rows: Mail[]; total: number }> =>
  readPage(ctx, page, (db) => {
    const isMatch = db`
      true
      ${to === undefined ? db`` : db`and ${hasAddress(db, db`m.recipient`, to)}`}
      ${status === undefined ? db`` : db`and m.status = ${status}`}
      ${
        sliceKey === undefined
          ? db``
          : db`
              and m.slice_id = any(array(
                select slices.id
                from slices wanted
                join slices using (checkout_id)
                where wanted.slice_key = ${sliceKey}
              ))
              and (
                m.checkout_id is not null
                or m.slice_id = (select id from slices where slice_key = ${sliceKey})
              )
            `
      }
    `
    return {
      total: db<{ total: number }[]>`select count(*) as total from mails m where ${isMatch}`,
      rows: ({ size, skipped, fromEnd }) => db<Mail[]>`
        select ${columns(db, secrets ? db`text` : textWithoutSecret(db))}
        from mails m
        left join slices s on s.id = m.slice_id
        where ${isMatch}
        order by m.id ${fromEnd ? db`` : db`desc`}
        limit ${size}
        offset ${skipped}
      `,
    }
  })

/**
 * Attempts an e-mail again that was given up.
 *
 * @throws not_found, conflict unless it has failed, or if its text was erased
 */
export async function resendMail(ctx: Context, id: number): Promise<Mail> {
  const { db, now, signal } = ctx
  const { count } = await db`
    update mails
    set status = 'waiting', attempts = 0, is_slow = false, next_attempt_at = ${now()}
    where id = ${id} and status = 'failed' and not erased
  `
  const [mail] = await db<Mail[]>`
    select ${columns(db)} from mails m left join slices s on s.id = m.slice_id where m.id = ${id}
  `
  if (!mail) throw notFound('There is no such e-mail.')
  if (count === 0)
    throw conflict('Only an e-mail that has failed and is not erased can be sent again.')
  await signal('mail')
  return mail
}

/**
 * All e-mails about a buyer's slices, and those to the buyer's address, in any casing, that are about no slice, newest
 * first. A buyer who sells as well also gets e-mails about other buyers' slices.
 */
export const mailsAbout = (
  { db }: Pick<Context, 'db'>,
  to: string,
  sliceIds: number[],
): Promise<Mail[]> => db<Mail[]>`
  select ${columns(db)}
  from mails m
  left join slices s on s.id = m.slice_id
  where m.id = any(array(
    select id from mails where ${hasAddress(db, db`recipient`, to)} and slice_id is null
    union
    select id from mails where slice_id = any(${sliceIds}::bigint[])
  ))
  order by m.id desc
`

const columns = (db: Db, text = textWithoutSecret(db)) => db`
  m.id,
  m.recipient as "to",
  m.subject,
  ${text} as text,
  m.status,
  m.error,
  s.slice_key as "sliceKey",
  m.created_at as "createdAt",
  m.sent_at as "sentAt"
`

const textWithoutSecret = (db: Db) => db`coalesce(replace(text, secret, '…'), text)`

/**
 * Assignments that delete the secret of an e-mail which gets no further attempt. The sandbox keeps it, because its
 * developers follow the links of captured e-mails.
 */
const deletedSecret = ({ db, config }: Context) =>
  config.sandbox ? db`` : db`, text = ${textWithoutSecret(db)}, secret = null`

/** Claims the e-mails that have been due longest (queue/README.md). */
export const claimMails = (ctx: Context, max: number): Promise<ClaimedMail[]> =>
  leaseMails(ctx, dueMail(ctx, ctx.db`true`, max))

/** Claims e-mails that people wait for, and then one of each seller whose turn it is. */
export function claimFastMails(ctx: Context, turn: FastTurn): Promise<ClaimedMail[]> {
  const { db } = ctx
  const { max, maxOfNobody, after, excluded } = turn
  return leaseMails(
    ctx,
    db`
      with recursive urgent as (
        ${dueMail(ctx, db`account_id is null and not is_slow`, maxOfNobody)}
      ),
      ${waitingAccounts(db, 'mails', after, db`status = 'waiting' and not is_slow`)}
      select id from urgent
      union all
      (
        select due.id
        from waiting
        cross join lateral (
          ${dueMail(ctx, db`account_id = waiting.account_id and not is_slow`)}
        ) due
        where waiting.account_id <> all(${excluded}::bigint[])
        limit ${max} - (select count(*) from urgent)
      )
    `,
  )
}

/** Claims the repeat that has been due longest, or an e-mail of a slow seller. */
export async function claimSlowMail(
  ctx: Context,
  { sellers, excluded, repeatFirst }: SlowTurn,
): Promise<ClaimedMail | undefined> {
  const { db } = ctx
  const repeat = dueMail(ctx, db`is_slow and coalesce(account_id, 0) <> all(${excluded}::bigint[])`)
  const ofSeller = db`
    select due.id
    from unnest(${sellers}::bigint[]) as seller (id)
    cross join lateral (${dueMail(ctx, db`account_id = seller.id and not is_slow`)}) due
    limit 1
  `
  const [first, second] = repeatFirst ? [repeat, ofSeller] : [ofSeller, repeat]
  const [mail] = await leaseMails(ctx, db`select coalesce((${first}), (${second}))`)
  return mail
}

/** A query that locks the e-mails which have been due longest. */
const dueMail = ({ db, now }: Context, condition: Fragment, max = 1) => db`
  select id
  from mails
  where
    ${condition}
    and status = 'waiting'
    and next_attempt_at <= ${now()}
    and attempts < ${MAX_ATTEMPTS}
    and (leased_until is null or leased_until < clock_timestamp())
  order by next_attempt_at, id
  limit ${max}
  for update skip locked
`

/** @param ids a query for the ids of locked e-mails */
const leaseMails = ({ db }: Context, ids: Fragment): Promise<ClaimedMail[]> => db<ClaimedMail[]>`
  update mails
  set
    attempts = attempts + 1,
    error = case when leased_until is null then error else ${INTERRUPTED} end,
    leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
  where id = any(array(${ids}))
  returning
    id, recipient as "to", subject, text, attempts, created_at as "createdAt",
    account_id as "accountId", is_slow as "isSlow"
`

/** Fails the e-mails whose last permitted attempt was interrupted. Reads every e-mail that is due. */
export const failInterruptedMails = (ctx: Context) =>
  failInterrupted(ctx, 'mails', MAX_ATTEMPTS, deletedSecret(ctx))

/** Records that a mailer has handled e-mails. */
export async function recordSuccesses(ctx: Context, handled: Handled[]): Promise<void> {
  const { db, now } = ctx
  await db`
    with handled as (
      select given.*
      from unnest(
        ${handled.map(({ mail }) => mail.id)}::bigint[],
        ${handled.map(({ mail }) => mail.attempts)}::smallint[],
        ${handled.map(({ outcome }) => outcome)}::text[]
      ) as given (id, attempts, status)
      join mails on mails.id = given.id
      -- In the order of eraseMails, so that the two don't deadlock.
      order by mails.id
      for no key update of mails
    )
    update mails
    set
      status = handled.status,
      sent_at = case when handled.status = 'sent' then ${now()}::timestamptz end,
      error = null,
      next_attempt_at = null,
      leased_until = null
      ${deletedSecret(ctx)}
    from handled
    where
      mails.id = handled.id
      and mails.attempts = handled.attempts
      and mails.status = 'waiting'
      and mails.leased_until is not null
  `
}

/**
 * Records a failed attempt, and schedules the next one unless this was the last or a permanent failure. One that is due to
 * the mail server does not count for some days, because an outage must not cost the e-mails. A trigger ends the attempts of
 * an erased e-mail, and removes the server's text from its error.
 */
export async function recordFailure(
  ctx: Context,
  mail: ClaimedMail,
  { message, isPermanent, isOfServer, mayHaveArrived }: MailError,
  isSlow: boolean,
): Promise<{ isFailed: boolean }> {
  const { db, now } = ctx
  const delayUncounted =
    isOfServer && !mayHaveArrived
      ? delayOfServer(now().getTime() - mail.createdAt.getTime())
      : undefined
  const delay = isPermanent ? undefined : (delayUncounted ?? delayAfter(mail.attempts))
  const [failed] = await db<{ status: MailStatus }[]>`
    update mails
    set
      status = ${delay === undefined ? 'failed' : 'waiting'},
      attempts = attempts - ${delayUncounted === undefined ? 0 : 1},
      error = ${message},
      is_slow = ${isSlow},
      next_attempt_at = ${delay === undefined ? null : new Date(now().getTime() + delay)},
      leased_until = null
      ${delay === undefined ? deletedSecret(ctx) : db``}
    where ${claimStillHeld(db, mail)}
    returning status
  `
  return { isFailed: failed ? failed.status === 'failed' : delay === undefined }
}

/**
 * Erases the e-mails that match the condition. A trigger blanks recipient, text and the mail server's reply. An e-mail
 * that has not been attempted is sent first.
 *
 * @returns their number
 */
export async function eraseMails(
  { db }: Pick<Context, 'db'>,
  condition: Fragment,
): Promise<number> {
  const { count } = await db`
    with wanted as (
      select id from mails where ${condition} and not erased order by id for no key update
    )
    update mails set erased = true from wanted where mails.id = wanted.id
  `
  return count
}

/** Deletes e-mails that are older than 30 days and not waiting. */
export const pruneMails = ({ db, now }: Context): Promise<void> =>
  deleteInBatches(db, 'mails', {
    where: db`
      status <> 'waiting' and created_at <= ${new Date(now().getTime() - RETENTION_MS)}
    `,
    orderBy: 'created_at',
  })
