import type { Context } from '../context.ts'
import type { ApiAccess, SellerTier } from '../enums.ts'
import type { NewMail } from '../mail/mail.ts'
import { textFor } from '../mail/text.ts'
import { overviewPage } from './dashboard-pages.ts'
import { COMMISSION_RATES } from './tiers.ts'

export type TierChange = {
  shopName: string
  email: string
  before: SellerTier
  after: SellerTier
}

/**
 * The e-mail to a seller about a new tier. Plain text.
 *
 * @param reason the end of a sentence, without its full stop
 */
export const tierEmail = (
  ctx: Pick<Context, 'config'>,
  { shopName, email, before, after }: TierChange,
  reason: string,
): NewMail => ({
  to: email,
  subject: `Your seller tier is now ${after}`,
  text: textFor(shopName, [
    `Your tier has changed from ${before} to ${after}, ${reason}.`,
    `The commission of new orders is now ${COMMISSION_RATES[after] / 100} % (before: ${COMMISSION_RATES[before] / 100} %).`,
    `Your sales and your tier: ${overviewPage(ctx)}`,
  ]),
})

type Shop = { shopName: string; email: string; apiAccess: ApiAccess }

/** Tells a seller that the operator has suspended the shop, and what still works. */
export const suspendedEmail = (
  ctx: Pick<Context, 'config'>,
  { shopName, email }: Shop,
): NewMail => ({
  to: email,
  subject: 'Your shop is suspended',
  text: textFor(shopName, [
    'The marketplace has suspended your shop. Buyers don’t see it and can’t order, and your API keys and connected programs are refused.',
    `You can still sign in, ship your open orders and answer disputes: ${overviewPage(ctx)}`,
    'Ask the marketplace for the reason.',
  ]),
})

/** Tells a seller that the suspension has ended, and whether programs have access. */
export const reactivatedEmail = (
  ctx: Pick<Context, 'config'>,
  { shopName, email, apiAccess }: Shop,
): NewMail => ({
  to: email,
  subject: 'Your shop is no longer suspended',
  text: textFor(shopName, [
    'The marketplace has ended the suspension of your shop. Unless it is on holiday, buyers see it again and can order.',
    apiAccess === 'enabled'
      ? 'Your API keys and connected programs work now.'
      : 'API access is off, so your API keys and connected programs are still refused.',
    `Your shop: ${overviewPage(ctx)}`,
  ]),
})
