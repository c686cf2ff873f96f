import { overviewPage, payoutsPage } from '../accounts/dashboard-pages.ts'
import type { Context } from '../context.ts'
import type { NewMail } from '../mail/mail.ts'
import { euros, textFor } from '../mail/text.ts'
import type { ShownBankAccount } from './bank-account.ts'

/** The e-mails to sellers about their payouts. Plain text. */

type Recipient = { shopName: string; email: string }

/**
 * @param payouts the transfers; none if the deductions have used up all payouts of the run
 * @param deductions what the run has deducted from the seller's payouts for refunds of these order rows
 */
export function payoutSentEmail(
  ctx: Pick<Context, 'config'>,
  { shopName, email }: Recipient,
  payouts: { amountCents: number; reference: string }[],
  deductions: { cents: number; orderIds: number[] }[],
): NewMail {
  const total = payouts.reduce((sum, { amountCents }) => sum + amountCents, 0)
  const deducted = deductions.reduce((sum, { cents }) => sum + cents, 0)
  const isSent = payouts.length > 0
  return {
    to: email,
    subject: isSent ? `Payout: ${euros(total)}` : `No payout: ${euros(deducted)} deducted`,
    text: textFor(shopName, [
      isSent && `We have sent ${euros(total)} to your bank account:`,
      listOf(
        payouts,
        ({ amountCents, reference }) => `${euros(amountCents)}, reference ${reference}`,
      ),
      deducted > 0 &&
        `We have deducted ${euros(deducted)} for refunds that exceeded what was left to pay out for these orders:`,
      listOf(
        deductions,
        ({ cents, orderIds }) =>
          `${euros(cents)} for ${orderIds.length === 1 ? 'order' : 'orders'} ${orderIds.join(', ')}`,
      ),
      !isSent &&
        'That uses up the payouts that were due, so we have sent nothing to your bank account.',
      `Your payouts: ${payoutsPage(ctx)}`,
    ]),
  }
}

/** The setup to whose bank account a payout goes; without one, the sandbox uses a test account. */
type Destination = { state: string; country: string | null; ibanLast4: string | null }

/**
 * @param leftCents what is left to send: refunds since the transfer may have reduced it
 * @param goesTo the setup, if a run will send that without a further change of the setup
 */
export function payoutFailedEmail(
  ctx: Pick<Context, 'config'>,
  {
    shopName,
    email,
    isClosed,
    reference,
    amountCents,
  }: Recipient & { isClosed: boolean; reference: string; amountCents: number },
  {
    reason,
    leftCents,
    goesTo,
  }: { reason: string; leftCents: number; goesTo: Destination | undefined },
): NewMail {
  const isReduced = leftCents < amountCents
  const left = leftCents === 0 ? 'nothing' : euros(leftCents)
  const again = `We will send ${isReduced ? 'the rest' : 'the payout again'}`
  const check = 'Please check the bank account that you have entered'
  const page = payoutsPage(ctx)
  const next = () => {
    if (goesTo) return [`${again} to ${accountOf(goesTo)}.`, !isClosed && `Your payouts: ${page}`]
    if (leftCents === 0) return [!isClosed && `${check}: ${page}`]
    // The members of a closed account were deleted, so nobody can enter another bank account.
    if (isClosed) return ['Your account is closed, so please tell us how we can pay you.']
    return [`${check}. ${again} once you have changed it: ${page}`]
  }
  return {
    to: email,
    subject: `Payout failed: ${euros(amountCents)}`,
    text: textFor(shopName, [
      `Your bank has returned the payout of ${euros(amountCents)} with the reference ${reference}.`,
      `Reason: ${reason}`,
      isReduced && `After the refunds since the transfer, ${left} is left to send.`,
      ...next(),
    ]),
  }
}

function accountOf({ state, country, ibanLast4 }: Destination): string {
  const shown = ibanLast4 === null ? '' : `, ${country} •••• ${ibanLast4}`
  return `your current bank account${shown}${state === 'verified' ? '' : ', once it is verified'}`
}

export const confirmSetupEmail = (
  ctx: Pick<Context, 'config'>,
  { shopName, email }: Recipient,
  { holder, ibanLast4, country }: ShownBankAccount,
  token: string,
): NewMail => {
  const link = `${payoutsPage(ctx)}/setup?confirm=${token}`
  return {
    to: email,
    subject: 'Confirm your bank account',
    text: textFor(shopName, [
      'Please confirm the bank account for your payouts:',
      `Holder: ${holder}\nIBAN: ${country} •••• ${ibanLast4}`,
      'The link is valid for 24 hours:',
      link,
      'If you have not entered a bank account, ignore this e-mail and change your password.',
    ]),
    secret: link,
  }
}

/** @param formerLast4 of an IBAN that is replaced; undefined if the same one is entered again */
export const setupChangedEmail = (
  ctx: Pick<Context, 'config'>,
  { shopName, email }: Recipient,
  { holder, ibanLast4 }: ShownBankAccount,
  formerLast4: string | undefined,
): NewMail => ({
  to: email,
  subject: 'Your bank account is being changed',
  text: textFor(shopName, [
    formerLast4 === undefined
      ? `The bank account for your payouts (•••• ${ibanLast4}) was entered again, with the holder ${holder}.`
      : `The bank account for your payouts is being changed from •••• ${formerLast4} to •••• ${ibanLast4}. Payouts are held for 48 hours after the change.`,
    `If this was not you, change your password and contact us at once: ${payoutsPage(ctx)}`,
  ]),
})

export const setupVerifiedEmail = (
  ctx: Pick<Context, 'config'>,
  { shopName, email }: Recipient,
): NewMail => ({
  to: email,
  subject: 'Your bank account is verified',
  text: textFor(shopName, [
    'We have verified the bank account for your payouts.',
    `You can list and ship now: ${overviewPage(ctx)}`,
  ]),
})

export const setupRejectedEmail = (
  ctx: Pick<Context, 'config'>,
  { shopName, email }: Recipient,
  reason: string,
): NewMail => ({
  to: email,
  subject: 'Your payout setup was rejected',
  text: textFor(shopName, [
    'We could not verify the bank account for your payouts.',
    `Reason: ${reason}`,
    `Please enter it again: ${payoutsPage(ctx)}`,
  ]),
})

const MAX_LINES = 50

function listOf<Item>(items: Item[], lineOf: (item: Item) => string): string {
  const lines = items.slice(0, MAX_LINES).map((item) => `- ${lineOf(item)}`)
  if (items.length > MAX_LINES) lines.push(`- and ${items.length - MAX_LINES} more`)
  return lines.join('\n')
}
