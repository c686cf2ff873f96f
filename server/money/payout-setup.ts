import { hash } from 'node:crypto'
import { composeIBAN } from 'ibantools'
import type { Context } from '../context.ts'
import { randomText } from '../crypto/random-text.ts'
import { sealText, unsealText } from '../crypto/sealed.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { type Page, readPage } from '../database/paging.ts'
import type { Db, Fragment } from '../database/sql.ts'
import { type ApiError, conflict, validationError } from '../errors.ts'
import { sendMail, sendMails } from '../mail/outbox.ts'
import { formerEmails } from '../members/audit.ts'
import { parseIban } from '../text/iban.ts'
import { HOURS } from '../time/units.ts'
import type { BankAccount, ShownBankAccount } from './bank-account.ts'
import {
  confirmSetupEmail,
  setupChangedEmail,
  setupRejectedEmail,
  setupVerifiedEmail,
} from './emails.ts'
import { hasSepaLetters } from './sepa-file.ts'

/** `verified` is the account's `payout_verified`; the other states follow from the setup. */
export const SETUP_STATES = ['missing', 'submitted', 'verified', 'rejected'] as const
export type SetupState = (typeof SETUP_STATES)[number]

/** A seller's bank account, and what was decided about it. */
export type PayoutSetup = {
  accountId: number
  state: SetupState
  /** The operator's reason to reject the setup. */
  reason: string | null
  holder: string | null
  ibanLast4: string | null
  country: string | null
  /** Differs for each submission, also of the same bank account, and after each decision. */
  submission: string | null
  /** Payouts are held until this time. */
  holdUntil: Date | null
  submittedAt: Date | null
  /** The end of the time to confirm a change by e-mail. */
  unconfirmedUntil: Date | null
  /** The bank account that waits for this confirmation. */
  unconfirmed: ShownBankAccount | null
}

/**
 * Lock order: the account, its setup, its payouts. Inserting a row of an account locks the account as well, so changes
 * of money keep this order (payouts.ts).
 */

const CONFIRM_MS = 24 * HOURS
/** Time in which a seller can notice that somebody else has changed the bank account. */
const HOLD_MS = 48 * HOURS

/** The setup of an account that exists. */
export async function getSetup(ctx: Context, accountId: number): Promise<PayoutSetup> {
  const [setup] = await ctx.db<PayoutSetup[]>`
    select ${columns(ctx.db, ctx.now())} ${source(ctx.db, ctx.now())} where a.id = ${accountId}
  `
  return setup!
}

/** One page of the submitted setups, oldest first, and the total; with the state `missing`, the accounts without one. */
export const listSetups = (
  ctx: Context,
  state: SetupState | undefined,
  page: Page,
): Promise<{ rows: PayoutSetup[]; total: number }> =>
  readPage(ctx, page, (db) => {
    const matching = db`
      ${source(db, ctx.now())}
      where
        s.account_id is ${state === 'missing' ? db`null` : db`not null`}
        ${state === undefined ? db`` : db`and ${setupStateOf(db)} = ${state}`}
    `
    const first = state === 'missing' ? db`a.id` : db`s.submitted_at`
    return {
      total: db<{ total: number }[]>`select count(*) as total ${matching}`,
      rows: ({ size, skipped, fromEnd }) => db<PayoutSetup[]>`
        select ${columns(db, ctx.now())}
        ${matching}
        order by
          ${fromEnd ? db`${first} desc, s.account_id desc` : db`${first}, s.account_id`}
        limit ${size}
        offset ${skipped}
      `,
    }
  })

const source = (db: Db, now: Date) => db`
  from accounts a
  left join payout_setups s on s.account_id = a.id
  left join payout_setup_changes c on c.account_id = a.id and c.expires_at > ${now}
`

/** The state of the setup of an account `a`; `setup` is its row, if there is one. */
export const setupStateOf = (db: Db, setup = db`s`) => db`
  case
    when a.payout_verified then 'verified'
    when ${setup}.account_id is null then 'missing'
    when ${setup}.rejected_because is not null then 'rejected'
    else 'submitted'
  end
`

const columns = (db: Db, now: Date) => db`
  a.id as "accountId",
  ${setupStateOf(db)} as state,
  case when not a.payout_verified then s.rejected_because end as reason,
  s.holder,
  s.iban_last4 as "ibanLast4",
  s.country,
  ${submissionOf(db)} as submission,
  case when s.hold_until > ${now} then s.hold_until end as "holdUntil",
  s.submitted_at as "submittedAt",
  c.expires_at as "unconfirmedUntil",
  case
    when c.account_id is not null then json_build_object(
      'holder', c.holder,
      'ibanLast4', c.iban_last4,
      'country', c.country
    )
  end as unconfirmed
`

// Each encryption has a nonce of its own, so the hash tells nothing about the IBAN. Times have whole seconds. Each
// decision updates the row, and PostgreSQL gives it another xmin: the value never returns to a former one.
const submissionOf = (db: Db) => db`
  left(encode(sha256(s.iban || convert_to(s.xmin::text, 'UTF8')), 'hex'), 32)
`

/**
 * Submits a seller's bank account. It takes effect when the seller confirms it by e-mail; in the sandbox it takes
 * effect at once and is verified as well. A change requires the password, and the account's current and former addresses
 * are notified: a thief of the password may have changed the address before.
 *
 * @param requirePassword throws validation_error unless a text is the member's password
 * @throws validation_error on `iban` or `holder`; the errors of `requirePassword`
 */
export async function submitSetup(
  ctx: Context,
  accountId: number,
  wanted: BankAccount & { password: string | undefined },
  requirePassword: (password: string | undefined) => Promise<void>,
): Promise<PayoutSetup> {
  const iban = parseIban(wanted.iban)
  if (iban === undefined) {
    throw validationError({
      iban: ['The iban field must be a valid IBAN of a country in the SEPA area.'],
    })
  }
  if (!hasSepaLetters(wanted.holder)) {
    throw validationError({
      holder: ['The holder field must be in Latin letters, as your bank writes it in transfers.'],
    })
  }
  const [current] = await ctx.db<{ iban: Buffer; ibanLast4: string }[]>`
    select iban, iban_last4 as "ibanLast4" from payout_setups where account_id = ${accountId}
  `
  if (current) await requirePassword(wanted.password)
  const token = randomText(40)
  const bankAccount: ShownBankAccount = {
    holder: wanted.holder,
    ibanLast4: iban.slice(-4),
    country: iban.slice(0, 2),
  }
  return inTransaction(ctx, async (tx) => {
    await tx.db`
      insert into payout_setup_changes (
        account_id, holder, iban, iban_last4, country, token_hash, expires_at
      )
      values (
        ${accountId},
        ${bankAccount.holder},
        ${sealText(ctx.config, 'bank accounts', accountId, iban)},
        ${bankAccount.ibanLast4},
        ${bankAccount.country},
        ${hashOf(token)},
        ${new Date(tx.now().getTime() + CONFIRM_MS)}
      )
      on conflict (account_id) do update
      set
        holder = excluded.holder,
        iban = excluded.iban,
        iban_last4 = excluded.iban_last4,
        country = excluded.country,
        token_hash = excluded.token_hash,
        expires_at = excluded.expires_at
    `
    const seller = await sellerOf(tx, accountId)
    if (current) {
      const addresses = new Set([seller.email, ...(await formerEmails(tx, accountId))])
      const isOther = plainIban(tx, accountId, current.iban) !== iban
      const formerLast4 = isOther ? current.ibanLast4 : undefined
      await sendMails(
        tx,
        [...addresses].map((email) =>
          setupChangedEmail(tx, { ...seller, email }, bankAccount, formerLast4),
        ),
      )
    }
    if (ctx.config.sandbox) await applyChange(tx, accountId)
    else await sendMail(tx, confirmSetupEmail(tx, seller, bankAccount, token))
    return getSetup(tx, accountId)
  })
}

/** Confirms a bank account with the token of the e-mail. @throws validation_error on `token` */
export function confirmSetup(ctx: Context, accountId: number, token: string): Promise<PayoutSetup> {
  return inTransaction(ctx, async (tx) => {
    const [change] = await tx.db`
      select
      from payout_setup_changes
      where
        account_id = ${accountId}
        and token_hash = ${hashOf(token)}
        and expires_at > ${tx.now()}
      for update
    `
    if (!change) {
      throw validationError({
        token: [
          'This link no longer works: it has been used, has expired, or belongs to another shop. If you have just used it, the bank account is confirmed. Otherwise use the link in the newest e-mail, or enter the bank account again.',
        ],
      })
    }
    await applyChange(tx, accountId)
    return getSetup(tx, accountId)
  })
}

/** Deletes the bank accounts that were not confirmed in time. */
export const pruneUnconfirmed = ({ db, now }: Context) =>
  db`delete from payout_setup_changes where expires_at <= ${now()}`

const hashOf = (token: string) => hash('sha256', token)

const plainIban = ({ config }: Context, accountId: number, sealed: Buffer): string =>
  unsealText(config, 'bank accounts', accountId, sealed)

/**
 * Makes the submitted bank account the current one. A change of the IBAN holds payouts, so that the seller can object.
 */
async function applyChange(tx: Context, accountId: number): Promise<void> {
  const { db, config } = tx
  const now = tx.now()
  // A payout that fails meanwhile waits for this change, or this change for the failure.
  await db`select from accounts where id = ${accountId} for no key update`
  if (config.sandbox) await setVerified(tx, accountId, true)
  const [change] = await db<{ iban: Buffer }[]>`
    select iban from payout_setup_changes where account_id = ${accountId}
  `
  const [known] = await db<{ iban: Buffer }[]>`
    select iban from payout_setups where account_id = ${accountId} for no key update
  `
  const plain = (sealed: Buffer) => plainIban(tx, accountId, sealed)
  const isOther = known !== undefined && plain(known.iban) !== plain(change!.iban)
  await db`
    insert into payout_setups (
      account_id, holder, iban, iban_last4, country, submitted_at
    )
    select account_id, holder, iban, iban_last4, country, ${now}
    from payout_setup_changes
    where account_id = ${accountId}
    on conflict (account_id) do update
    set
      holder = excluded.holder,
      iban = excluded.iban,
      iban_last4 = excluded.iban_last4,
      country = excluded.country,
      submitted_at = excluded.submitted_at,
      rejected_because = null,
      hold_until = case
        when ${isOther} then ${new Date(now.getTime() + HOLD_MS)}::timestamptz
        else payout_setups.hold_until
      end
  `
  await db`delete from payout_setup_changes where account_id = ${accountId}`
  await repeatFailedPayouts(tx, db`account_id = ${accountId}`)
}

/**
 * Verifies a submitted setup, and e-mails that to the seller.
 *
 * @param submission that the decision is about: a late decision can't verify a bank account that nobody has seen, or that
 *   was rejected meanwhile
 * @throws conflict if there is no setup, or another submission
 */
export const verifySetup = (
  ctx: Context,
  accountId: number,
  submission?: string,
): Promise<PayoutSetup> => decide(ctx, accountId, submission, (tx) => verify(tx, accountId))

/**
 * Verifies or revokes a seller's setup, submitted or not. A seller who has submitted one gets an e-mail about its
 * verification. Runs in the caller's transaction.
 */
export async function setPayoutVerified(
  tx: Context,
  accountId: number,
  isVerified: boolean,
): Promise<void> {
  if (isVerified) return verify(tx, accountId)
  await setVerified(tx, accountId, false)
  // Changes the submission: nobody who has seen the verified setup has decided about the revoked one.
  await tx.db`
    update payout_setups set rejected_because = rejected_because where account_id = ${accountId}
  `
}

async function verify(tx: Context, accountId: number): Promise<void> {
  const [before] = await tx.db<{ isVerified: boolean }[]>`
    select payout_verified as "isVerified"
    from accounts
    where id = ${accountId}
    for no key update
  `
  await setVerified(tx, accountId, true)
  const { count } = await tx.db`
    update payout_setups set rejected_because = null where account_id = ${accountId}
  `
  await repeatFailedPayouts(tx, tx.db`account_id = ${accountId}`)
  if (count > 0 && !before!.isVerified) {
    await sendMail(tx, setupVerifiedEmail(tx, await sellerOf(tx, accountId)))
  }
}

/**
 * Rejects a setup, and e-mails the reason to the seller.
 *
 * @param submission that the decision is about: a late decision can't reject a bank account that was verified meanwhile
 * @throws conflict if there is no setup, or another submission
 */
export const rejectSetup = (
  ctx: Context,
  accountId: number,
  { reason, submission }: { reason: string; submission?: string | undefined },
): Promise<PayoutSetup> =>
  decide(ctx, accountId, submission, async (tx) => {
    await tx.db`
      update payout_setups set rejected_because = ${reason} where account_id = ${accountId}
    `
    await setVerified(tx, accountId, false)
    await sendMail(tx, setupRejectedEmail(tx, await sellerOf(tx, accountId), reason))
  })

const decide = (
  ctx: Context,
  accountId: number,
  submission: string | undefined,
  decision: (tx: Context) => Promise<void>,
) =>
  inTransaction(ctx, async (tx) => {
    await tx.db`select from accounts where id = ${accountId} for no key update`
    const [setup] = await tx.db<{ submission: string }[]>`
      select ${submissionOf(tx.db)} as submission
      from payout_setups s
      where s.account_id = ${accountId}
      for no key update
    `
    if (!setup) throw await nothingToDecide(tx, accountId)
    if (submission !== undefined && submission !== setup.submission) {
      throw conflict(
        'The seller has submitted another bank account meanwhile, or this one was verified or rejected. Check the setup again.',
      )
    }
    await decision(tx)
    return getSetup(tx, accountId)
  })

async function nothingToDecide({ db, now }: Context, accountId: number): Promise<ApiError> {
  const [unconfirmed] = await db`
    select from payout_setup_changes where account_id = ${accountId} and expires_at > ${now()}
  `
  return conflict(
    unconfirmed
      ? 'The seller has entered a bank account, but not confirmed it yet with the link in the e-mail.'
      : 'The seller has not submitted a payout setup.',
  )
}

async function setVerified(tx: Context, accountId: number, isVerified: boolean): Promise<void> {
  await tx.db`update accounts set payout_verified = ${isVerified} where id = ${accountId}`
  await tx.signal('keys', accountId)
}

/**
 * Makes a payout that has failed due again if the seller has changed the bank account since the transfer: the IBAN, or its
 * holder. The caller holds a lock of the account.
 *
 * @param reference of the transfer
 */
export async function repeatIfAccountChanged(
  tx: Context,
  { id, accountId }: { id: number; accountId: number },
  reference: string,
): Promise<void> {
  const [former] = await tx.db<{ iban: Buffer; current: Buffer; isSameHolder: boolean }[]>`
    select t.iban, s.iban as current, t.holder = s.holder as "isSameHolder"
    from payout_transfers t
    join payout_setups s on s.account_id = t.account_id
    where t.reference = ${reference}
  `
  if (!former) return
  const plain = (sealed: Buffer) => plainIban(tx, accountId, sealed)
  if (former.isSameHolder && plain(former.iban) === plain(former.current)) return
  await repeatFailedPayouts(tx, tx.db`id = ${id}`)
}

/** Makes failed payouts due again, under new references, because banks refuse to execute a reference twice. */
async function repeatFailedPayouts({ db }: Context, selected: Fragment): Promise<void> {
  await db`
    update payouts
    set
      state = 'due',
      reason = null,
      reference = default,
      sent_at = null
    where ${selected} and state = 'failed' and amount_cents > 0
  `
}

async function sellerOf({ db }: Context, accountId: number) {
  const [seller] = await db<{ shopName: string; email: string }[]>`
    select shop_name as "shopName", email from accounts where id = ${accountId}
  `
  return seller!
}

/** The bank account that the sandbox uses for a seller whom the operator verified without one. */
export function testBankAccount(accountId: number, shopName: string): BankAccount {
  const bban = `10000000${String(accountId).padStart(10, '0')}`
  return { holder: shopName, iban: composeIBAN({ countryCode: 'DE', bban })! }
}
