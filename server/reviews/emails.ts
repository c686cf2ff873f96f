import { orderPage } from '../accounts/dashboard-pages.ts'
import type { Context } from '../context.ts'
import { type NewMail, quote } from '../mail/mail.ts'
import { textFor } from '../mail/text.ts'
import { nameOf, type Parties } from '../orders/emails.ts'

/** The e-mail to the seller about a new review. Plain text. */
export const newReviewEmail = (
  ctx: Pick<Context, 'config'>,
  { buyer, seller }: Parties,
  { orderId, stars, text }: { orderId: number; stars: number; text: string | null },
): NewMail => ({
  to: seller.email,
  subject: `New review: ${stars} of 5 stars`,
  text: textFor(seller.shopName, [
    `${nameOf(buyer)} has given you ${stars} of 5 stars for order ${orderId}.`,
    text && quote(text),
    `Reply to it: ${orderPage(ctx, orderId)}`,
  ]),
})
