/** The enumerations of §2.9, in their published order. */

export const LANGUAGES = ['EN', 'NL', 'DE', 'FR', 'JP', 'ES', 'IT', 'PT', 'CN', 'KR'] as const
export type Language = (typeof LANGUAGES)[number]

/** The codes that are countries rather than languages, with their languages in HTML. */
const LANGUAGE_OF_CODE: Record<string, string> = { JP: 'ja', CN: 'zh', KR: 'ko' }

/** The language of a code in HTML, without a region. */
export const htmlLanguage = (code: string) => LANGUAGE_OF_CODE[code] ?? code.toLowerCase()

export const CONDITIONS = ['M', 'NM', 'LP', 'MP', 'HP', 'DMG', 'G'] as const
export type Condition = (typeof CONDITIONS)[number]

/** The conditions as pages show them. */
export const CONDITION_NAMES = {
  M: 'Mint',
  NM: 'Near mint',
  LP: 'Lightly played',
  MP: 'Moderately played',
  HP: 'Heavily played',
  DMG: 'Damaged',
  G: 'Graded',
} as const satisfies Record<Condition, string>

/** The condition of a card that a grading company has graded. */
export const GRADED: Condition = 'G'

export const GRADING_COMPANIES = [
  'PSA',
  'BGS',
  'CGC',
  'SGC',
  'TAG',
  'GRAAD',
  'ACE',
  'PCA',
  'OVERIG',
] as const
export type GradingCompany = (typeof GRADING_COMPANIES)[number]

/** From 10.0 down to 1.0 in steps of 0.5. */
export const GRADES = Array.from({ length: 19 }, (_, i) => (10 - i / 2).toFixed(1))

export const PRINTINGS = [
  'standard',
  'reverse_holo',
  'holo',
  'first_edition',
  'shadowless',
  'full_art',
  'alternate_art',
  'promo',
] as const
export type Printing = (typeof PRINTINGS)[number]

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

/** The published statuses. The database also has `removed`, which is never shown or accepted. */
export const LISTING_STATUSES = ['active', 'sold', 'hidden'] as const
export type ListingStatus = (typeof LISTING_STATUSES)[number]

export const ORDER_STATUSES = ['pending', 'shipped', 'received', 'cancelled', 'disputed'] as const
export type OrderStatus = (typeof ORDER_STATUSES)[number]

/** All transitions of an order row. */
export const TRANSITIONS = {
  ship: { from: ['pending'], to: 'shipped' },
  cancel: { from: ['pending', 'shipped', 'disputed'], to: 'cancelled' },
  cancelAsSeller: { from: ['pending'], to: 'cancelled' },
  cancelAsSystem: { from: ['pending'], to: 'cancelled' },
  receive: { from: ['shipped'], to: 'received' },
  dispute: { from: ['shipped', 'received'], to: 'disputed' },
  resolveForSeller: { from: ['disputed'], to: 'received' },
  resolveForBuyer: { from: ['disputed'], to: 'cancelled' },
} as const satisfies Record<string, { from: readonly OrderStatus[]; to: OrderStatus }>

/** The party that caused a cancellation. */
export const CANCELLERS = ['buyer', 'seller', 'admin', 'system'] as const
export type Canceller = (typeof CANCELLERS)[number]

/** The reasons that a seller can give for cancelling a row. */
export const CANCEL_REASONS = ['out_of_stock', 'buyer_asked', 'other'] as const
export type CancelReason = (typeof CANCEL_REASONS)[number]

/** The reasons that a buyer can give for a dispute. */
export const DISPUTE_REASONS = ['not_received', 'not_as_described', 'damaged', 'other'] as const
export type DisputeReason = (typeof DISPUTE_REASONS)[number]

export const DISPUTE_STATES = ['open', 'answered', 'resolved'] as const
/** `open` disputes wait for the seller's answer, `answered` ones for the operator's decision. */
export type DisputeState = (typeof DISPUTE_STATES)[number]

export const WEBHOOK_EVENTS = [
  'order.created',
  'order.cancelled',
  'order.label_ready',
  'listing.sold',
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'skipped'] as const
/**
 * `pending`: an attempt is due, now or later. `failed`: all attempts failed. `skipped`: the endpoint was disabled or
 * deleted first.
 */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** The statuses of a label that the service buys. */
export const BOUGHT_LABEL_STATUSES = ['ready', 'processing', 'action_required'] as const
export type BoughtLabelStatus = (typeof BOUGHT_LABEL_STATUSES)[number]

export const LABEL_STATUSES = [...BOUGHT_LABEL_STATUSES, 'self_ship'] as const
export type LabelStatus = (typeof LABEL_STATUSES)[number]

export const SELLER_TIERS = ['Bronze', 'Silver', 'Gold', 'Diamond', 'Master'] as const
export type SellerTier = (typeof SELLER_TIERS)[number]

export const FULFILMENTS = ['platform', 'self_ship'] as const
export type Fulfilment = (typeof FULFILMENTS)[number]

/** The parties that can get the shipping price. */
export const SHIPPING_RECEIVERS = ['seller', 'platform'] as const

/** An account's access to the seller API, set by the operator. */
export const API_ACCESS = ['enabled', 'disabled', 'suspended'] as const
export type ApiAccess = (typeof API_ACCESS)[number]

/** The kinds of the ledger's postings. */
export const POSTING_KINDS = [
  'sale',
  'shipping',
  'refund',
  'cancellation',
  'shipping_refund',
  'payout',
  'payout_failed',
  'recovery',
] as const
export type PostingKind = (typeof POSTING_KINDS)[number]

/** Statuses of orders that are neither completed nor cancelled: their listing cannot be deleted. */
export const OPEN_STATUSES = ['pending', 'shipped', 'disputed'] as const
