import type { Context } from '../context.ts'
import type { SellerTier } from '../enums.ts'
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
