import { payoutMissing } from '../../listings/create-listings.ts'
import type { Service } from '../../service.ts'
import { NO_SHIPPING } from '../shapes/bulk-create.ts'
import type { SellerCall } from './tool.ts'

const ON_HOLIDAY =
  'The shop is on holiday, so buyers see none of its offers and cannot order until the seller ends the holiday.'

/** The reasons why a shop cannot list or sell now. */
export const salesWarnings = (ctx: Service, { account }: Pick<SellerCall, 'account'>): string[] => [
  ...(account.payoutVerified ? [] : [payoutMissing(ctx).message]),
  ...(account.ships ? [] : [NO_SHIPPING]),
  ...(account.onHoliday ? [ON_HOLIDAY] : []),
]
