import { listingsPage } from '../accounts/dashboard-pages.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { conflict } from '../errors.ts'
import type { NewMail } from '../mail/mail.ts'
import { sendMail } from '../mail/outbox.ts'
import { textFor } from '../mail/text.ts'
import { type AnyListing, getAnyListing } from './all-listings.ts'
import { listingNotFound } from './listings.ts'
import { markRemoved } from './remove-listings.ts'

/**
 * Removes a listing on the operator's behalf, and e-mails the seller the reason. Its open orders stay.
 *
 * @throws not_found, conflict if it is removed already
 */
export const takeDownListing = (ctx: Context, id: number, reason: string): Promise<AnyListing> =>
  inTransaction(ctx, async (tx) => {
    // The lock excludes sales, as for a deletion.
    const [listing] = await tx.db<
      { accountId: number; status: string; title: string; shopName: string; to: string }[]
    >`
      select
        l.account_id as "accountId",
        l.status,
        coalesce(c.name, p.name) as title,
        a.shop_name as "shopName",
        a.email as "to"
      from listings l
      join accounts a on a.id = l.account_id
      left join cards c on c.id = l.card_id
      left join products p on p.slug = l.product_slug
      where l.id = ${id}
      for no key update of l
    `
    if (!listing) throw listingNotFound()
    if (listing.status === 'removed') throw conflict('The listing has already been removed.')
    const { accountId } = listing
    await markRemoved(tx, accountId, [id])
    await tx.db`update listings set removed_because = ${reason} where id = ${id}`
    await sendMail(tx, takenDownEmail(tx, { id, ...listing }, reason), { accountId })
    return getAnyListing(tx, id)
  })

const takenDownEmail = (
  ctx: Pick<Context, 'config'>,
  { id, title, shopName, to }: { id: number; title: string; shopName: string; to: string },
  reason: string,
): NewMail => ({
  to,
  subject: `Your listing was removed: ${title}`,
  text: textFor(shopName, [
    `The marketplace has removed your listing of ${title} (listing ${id}).`,
    `Reason: ${reason}`,
    'Open orders of this listing stay valid: please ship them as usual.',
    `Your listings: ${listingsPage(ctx)}`,
  ]),
})
