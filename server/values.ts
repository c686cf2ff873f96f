/** The fixed value lists of §2.9, in the order in which they are published. */

export const LANGUAGES = ['EN', 'NL', 'DE', 'FR', 'JP', 'ES', 'IT', 'PT', 'CN', 'KR'] as const

export const PRODUCT_CATEGORIES = [
  'elite_trainer_box',
  'booster_box',
  'booster_bundle',
  'booster_pack',
  'premium_collection',
  'tin',
  'mini_tin',
  'theme_deck',
  'build_battle_box',
  'special_collection',
  'cases',
  'other',
] as const

export const SELLER_TIERS = ['Bronze', 'Silver', 'Gold', 'Diamond', 'Master'] as const
export type SellerTier = (typeof SELLER_TIERS)[number]

export const FULFILMENTS = ['platform', 'self_ship'] as const
export type Fulfilment = (typeof FULFILMENTS)[number]

/** Whether an account may use the seller API at all (operator API). */
export const API_ACCESS = ['enabled', 'disabled', 'suspended'] as const
export type ApiAccess = (typeof API_ACCESS)[number]
