import { createListings, payoutMissing } from '../../listings/create-listings.ts'
import type { Service } from '../../service.ts'
import { once, type Repeatable, type StoredResponse } from '../idempotency.ts'
import { bulkResultJson, isAccepted } from '../shapes/bulk-create.ts'
import { readItem } from '../shapes/read-item.ts'

/**
 * Lists the valid ones of these items (§4.9), at most once per Idempotency-Key.
 *
 * @param given objects with known fields only
 * @returns the response with the serialised bulk result
 * @throws authorization_error without a verified payout setup
 */
export async function createItems(
  ctx: Service,
  account: { id: number; payoutVerified: boolean; ships: boolean },
  given: unknown[],
  identity: Repeatable,
): Promise<StoredResponse> {
  const items = given.map((item) => readItem(ctx.catalog.current, item))
  const accepted = items.filter(isAccepted)
  return once(ctx, identity, async (tx) => {
    // After the lookup of the first response, which a repeated request gets in any case.
    if (!account.payoutVerified) throw payoutMissing(ctx)
    const ids = await createListings(tx, account.id, accepted)
    return { status: 200, body: bulkResultJson(items, ids, account.ships) }
  })
}
