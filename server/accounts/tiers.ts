import type { SellerTier } from '../enums.ts'

/** The marketplace's commission by seller tier (§2.9), in hundredths of a percent. */
export const COMMISSION_RATES: Record<SellerTier, number> = {
  Bronze: 500,
  Silver: 450,
  Gold: 400,
  Diamond: 350,
  Master: 300,
}
