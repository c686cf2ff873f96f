import { getAccount } from '../../accounts/accounts.ts'
import type { Context } from '../../context.ts'
import { findKey } from '../../keys/keys.ts'
import { getAnyListing } from '../../listings/all-listings.ts'
import { getReservation } from '../../listings/reservations.ts'
import { listMembers } from '../../members/members.ts'
import { getSetup } from '../../money/payout-setup.ts'
import { getPayout } from '../../money/payouts.ts'
import { getOrder } from '../../orders/orders.ts'
import { getReview, reviewOfOrder } from '../../reviews/reviews.ts'
import { readTracking } from '../../shipping/tracking.ts'
import { getStaff } from '../../staff/staff.ts'
import { requireEndpoint } from '../../webhooks/endpoints.ts'
import { accountJson } from '../shapes/account.ts'
import { keyJson } from '../shapes/api-key.ts'
import { memberJson } from '../shapes/member.ts'
import { operatorListingJson } from '../shapes/operator-listing.ts'
import { orderJson } from '../shapes/order.ts'
import { payoutJson } from '../shapes/payout.ts'
import { payoutSetupJson } from '../shapes/payout-setup.ts'
import { reservationJson } from '../shapes/reservation.ts'
import { reviewJson } from '../shapes/review.ts'
import { staffJson } from '../shapes/staff.ts'
import { trackingJson } from '../shapes/tracking.ts'
import { endpointJson } from '../shapes/webhook-endpoint.ts'
import { pathId } from '../validate.ts'

/** A record that a request is about. */
export type RecordRef = {
  /** `order:501` */
  name: string
  kind: string
  /** The parameter of the path. */
  value: string
  /** Undefined for a record that a path names by another text, such as a slice. */
  id: number | undefined
  accountId: number | undefined
}

/**
 * The record that a path is about: that of its last parameter. `/orders/{id}/cancel` is about an order,
 * `/accounts/{id}/keys/{key}` about a key. A path of the dashboard without a parameter is about the seller's account.
 */
export function recordOf(
  url: string,
  params: unknown,
  { accountId }: { accountId?: number },
): RecordRef | null {
  const values = params as Record<string, string | number>
  const segments = url.split('/')
  const at = segments.findLastIndex((segment) => segment.startsWith(':'))
  const owner =
    accountId ?? (segments.includes('accounts') ? pathId(String(values.id ?? '')) : undefined)
  if (at < 0) {
    return accountId === undefined ? null : refTo('account', String(accountId), accountId)
  }
  const kind = kindOf(segments[at - 1]!)
  const value = String(values[segments[at]!.slice(1)])
  return refTo(kind, value, owner)
}

const refTo = (kind: string, value: string, accountId: number | undefined): RecordRef => ({
  name: `${kind}:${value}`,
  kind,
  value,
  id: pathId(value),
  accountId,
})

/** The review that `/orders/{id}/review` is about, whose id is not in the path. Any other record stays as it is. */
export async function withReview(
  ctx: Context,
  url: string,
  record: RecordRef | null,
): Promise<RecordRef | null> {
  if (!record?.id || !url.endsWith('/orders/:id/review')) return record
  const review = await reviewOfOrder(ctx, record.id)
  return review ? refTo('review', String(review.id), record.accountId) : record
}

/** `order` for `orders`, as it is called in a path. */
export const kindOf = (plural: string) =>
  KINDS[plural] ?? plural.replace(/ies$/, 'y').replace(/s$/, '').replaceAll('-', '_')

const KINDS: Record<string, string> = { webhooks: 'endpoint', invitations: 'member' }

/** Readers of the records whose state the audit log keeps before and after a change. */
const READERS: Record<
  string,
  (ctx: Context, id: number, accountId: number | undefined) => Promise<object | undefined>
> = {
  account: async (ctx, id) => {
    const account = await getAccount(ctx, id)
    const { reason, state, holder, iban_last4 } = payoutSetupJson(await getSetup(ctx, id))
    const { onHoliday: on_holiday, timeZone: time_zone } = account
    const payoutSetup = { state, reason, holder, iban_last4 }
    return { ...accountJson(account), on_holiday, time_zone, payout_setup: payoutSetup }
  },
  order: async (ctx, id) => orderJson(await getOrder(ctx, id)),
  listing: async (ctx, id) => operatorListingJson(await getAnyListing(ctx, id)),
  payout: async (ctx, id) => payoutJson(await getPayout(ctx, id)),
  staff: async (ctx, id) => staffJson(await getStaff(ctx, id)),
  review: async (ctx, id) => reviewJson(await getReview(ctx, id)),
  reservation: async (ctx, id) => reservationJson(await getReservation(ctx, id)),
  member: async (ctx, id, accountId) => {
    if (accountId === undefined) return undefined
    const member = (await listMembers(ctx, accountId)).find((member) => member.id === id)
    return member && memberJson(member)
  },
  key: async (ctx, id, accountId) => {
    if (accountId === undefined) return undefined
    const key = await findKey(ctx, accountId, id)
    return key && keyJson(key)
  },
  endpoint: async (ctx, id, accountId) =>
    accountId === undefined ? undefined : endpointJson(await requireEndpoint(ctx, accountId, id)),
}

/** The record's state as the API shows it; null for a kind without a reader. */
export async function readRecord(
  ctx: Context,
  { kind, value, id, accountId }: RecordRef,
): Promise<object | null> {
  if (kind === 'slice') return trackingJson(value, await readTracking(ctx, value))
  const read = READERS[kind]
  return (id !== undefined && (await read?.(ctx, id, accountId))) || null
}
