import type { Context } from '../context.ts'
import type { Page } from '../database/paging.ts'
import type { Db } from '../database/sql.ts'
import { failInterrupted, INTERRUPTED } from '../queue/interrupted.ts'
import type { Delivered } from './mail.ts'
import {
  type ClaimedMail,
  delayAfter,
  MAX_ATTEMPTS,
  type Mail,
  type NewMail,
  oneLine,
} from './mail.ts'

/** How long a process that claimed a mail is believed to be alive: twice what a try can take (smtp.ts). */
const LEASE_SECONDS = 120
const KEPT_MS = 30 * 24 * 60 * 60 * 1000

/**
 * Writes an e-mail; inside a transaction it's a part of that one, and never without its cause. The mail worker sends
 * it: at least once, and twice if the service dies between the mail server's yes and our noting it.
 */
export async function sendMail(
  { db, now, signal }: Pick<Context, 'db' | 'now' | 'signal'>,
  { to, subject, text }: NewMail,
): Promise<void> {
  const at = now()
  await db`
    insert into mails (recipient, subject, text, created_at, next_attempt_at)
    values (${to}, ${oneLine(subject)}, ${text}, ${at}, ${at})
  `
  await signal('mail')
}

/** One page of all e-mail that is remembered, newest first, and how much there is. */
export async function listMails(
  { db }: Context,
  page: Page,
): Promise<{ rows: Mail[]; total: number }> {
  const [rows, [counted]] = await Promise.all([
    db<Mail[]>`
      select recipient as "to", subject, text, created_at as "createdAt"
      from mails
      order by id desc
      limit ${page.perPage} offset ${page.offset}
    `,
    db<{ total: number }[]>`select count(*) as total from mails`,
  ])
  return { rows, total: counted?.total ?? 0 }
}

/**
 * Takes the mail that has waited longest, if one is due: it's to be sent now, by this process alone. A try that ended
 * with its process counts.
 */
export async function claimMail(ctx: Context): Promise<ClaimedMail | undefined> {
  await failInterrupted(ctx.db, 'mails', MAX_ATTEMPTS)
  const [mail] = await ctx.db<ClaimedMail[]>`
    update mails
    set
      attempts = attempts + 1,
      error = case when leased_until is null then error else ${INTERRUPTED} end,
      leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where id = (
      select id
      from mails
      where
        status = 'waiting'
        and next_attempt_at <= ${ctx.now()}
        and (leased_until is null or leased_until < clock_timestamp())
      order by next_attempt_at, id
      limit 1
      for update skip locked
    )
    returning id, recipient as "to", subject, text, attempts, created_at as "createdAt"
  `
  return mail
}

/** Notes what has become of a mail that is no longer waiting. */
export async function finishMail(
  { db, now }: Context,
  mail: ClaimedMail,
  outcome: Delivered,
): Promise<void> {
  await db`
    update mails
    set
      status = ${outcome},
      sent_at = ${outcome === 'sent' ? now() : null},
      error = null,
      next_attempt_at = null,
      leased_until = null
    where ${claimStillHeld(db, mail)}
  `
}

/** Plans the next try, if there is one; gives it up otherwise, or when another would end the same. */
export async function retryMail(
  { db, now }: Context,
  mail: ClaimedMail,
  { message, final }: { message: string; final: boolean },
): Promise<{ isFailed: boolean }> {
  const delay = final ? undefined : delayAfter(mail.attempts)
  await db`
    update mails
    set
      status = ${delay === undefined ? 'failed' : 'waiting'},
      error = ${message},
      next_attempt_at = ${delay === undefined ? null : new Date(now().getTime() + delay)},
      leased_until = null
    where ${claimStillHeld(db, mail)}
  `
  return { isFailed: delay === undefined }
}

/** Leaves it to the next who looks, as if it had never been tried: this process is about to end. */
export async function releaseMail({ db }: Context, mail: ClaimedMail): Promise<void> {
  await db`
    update mails set attempts = attempts - 1, leased_until = null where ${claimStillHeld(db, mail)}
  `
}

const claimStillHeld = (db: Db, { id, attempts }: ClaimedMail) => db`
  id = ${id} and attempts = ${attempts} and status = 'waiting' and leased_until is not null
`

/** Forgets what was sent, or given up, a month ago. What somebody else is deleting is left to them. */
export async function pruneMails({ db, now }: Context): Promise<void> {
  await db`
    delete from mails
    where id in (
      select id
      from mails
      where status <> 'waiting' and created_at <= ${new Date(now().getTime() - KEPT_MS)}
      for update skip locked
    )
  `
}
