// Generated from openapi/seller.json and openapi/tools.json by "npm run generate". Don't edit it.

/**
 * The card or sealed product of a listing.
 */
export type Listable = ListableCard | ListableProduct
/**
 * A new listing for a card or a sealed product. An optional field that is null counts as absent.
 */
export type ListingItem = CardListingItem | ProductListingItem
/**
 * A new listing for a card or a sealed product. An optional field that is null counts as absent.
 */
export type OwnListingItem = OwnCardListingItem | OwnProductListingItem
export type Change = ListingFeedChange | OrderFeedChange

/**
 * The account of the key in use, and the key itself.
 */
export interface Account {
  id: number
  shop_name: string
  slug: string
  seller_tier: 'Bronze' | 'Silver' | 'Gold' | 'Diamond' | 'Master'
  business: boolean
  /**
   * Scopes of the key in use
   */
  scopes: (
    | 'catalog:read'
    | 'listings:read'
    | 'listings:write'
    | 'orders:read'
    | 'orders:write'
    | 'webhooks:manage'
  )[]
  /**
   * The first characters of the key in use
   */
  key_prefix: string
  /**
   * Updated at most once a minute
   */
  last_used_at: string
  /**
   * Maximum number of requests in a window of 60 seconds. A window begins with each minute of Unix time. GET and HEAD count as reads, all other methods as writes.
   */
  rate_limit: {
    read: number
    write: number
  }
}
/**
 * A buyer’s delivery address.
 */
export interface Address {
  full_name: string
  street: string
  house_number: string
  house_number_suffix: string | null
  zip: string
  city: string
  /**
   * ISO country code
   */
  country: string
  phone: string | null
}
/**
 * The result for each item.
 */
export interface BulkCreateResult {
  /**
   * One result per item, in the order of the request
   */
  results: (ListingCreated | ListingFailed)[]
  created: number
  failed: number
  /**
   * A problem of the account that prevents sales: no shipping option is enabled, so nobody can order. Absent without one
   */
  warnings?: string[]
}
/**
 * The item was listed.
 */
export interface ListingCreated {
  status: 'created'
  /**
   * Position of the item in the request, from 0
   */
  index: number
  listing: {
    id: number
    /**
     * Price per unit in decimal euros, after rounding
     */
    price: number
    currency: 'EUR'
    quantity: number
    status: 'active'
  }
}
/**
 * The item was not listed.
 */
export interface ListingFailed {
  status: 'failed'
  /**
   * Position of the item in the request, from 0
   */
  index: number
  /**
   * Messages by field name
   */
  errors: {
    [k: string]: string[]
  }
  /**
   * Cards that share the friendly id, at most 25. Only if there are several
   */
  candidates?: CardCandidate[]
}
/**
 * A card that an ambiguous friendly id may mean.
 */
export interface CardCandidate {
  id: string
  name: string
  number: string
  /**
   * Name of the set
   */
  set: string
  language: string
  region: string
}
/**
 * A card. Its language is that of its set.
 */
export interface Card {
  /**
   * Canonical id. Always resolves to this card
   */
  id: string
  /**
   * `{shortcut}_{number}`; null if the set has no shortcut
   */
  friendly_id: string | null
  name: string
  /**
   * Collector number. Not always digits: TG12
   */
  number: string
  rarity: string | null
  /**
   * Pokemon, Trainer or Energy
   */
  supertype: string | null
  /**
   * Hit points as printed
   */
  hp: string | null
  /**
   * null for cards without types, such as Trainer cards
   */
  types: string[] | null
  image_small: string | null
  image_large: string | null
  /**
   * The card’s public page on the marketplace
   */
  url: string
  set: CardSet
  /**
   * All active listings, cheapest first. Only with `include=listings`
   */
  listings?: PublicListing[]
}
/**
 * A set of cards in one language.
 */
export interface CardSet {
  /**
   * Canonical id. Always resolves to this set
   */
  id: string
  /**
   * Friendly id in lower case; null if the set has none. Sets of several languages and regions can share a shortcut.
   */
  shortcut: string | null
  name: string
  /**
   * Name of the series
   */
  series: string
  /**
   * Language code
   */
  language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR'
  /**
   * Region code in lower case
   */
  region: string
  release_date: string | null
  /**
   * Number of cards, including secret rares
   */
  total_cards: number | null
  /**
   * Number of cards as printed on the cards
   */
  printed_total: number | null
  logo_url: string | null
  symbol_url: string | null
  /**
   * Number of this set’s cards in the catalog
   */
  cards_count: number
  /**
   * Number of this set’s sealed products in the catalog
   */
  products_count: number
}
/**
 * An active listing as buyers see it.
 */
export interface PublicListing {
  id: number
  /**
   * Price per unit in decimal euros
   */
  price: number
  currency: 'EUR'
  /**
   * null for sealed products
   */
  condition: 'M' | 'NM' | 'LP' | 'MP' | 'HP' | 'DMG' | 'G' | null
  /**
   * Language code of the card or product on sale
   */
  language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR'
  /**
   * `standard` if it was never set
   */
  printing:
    | 'standard'
    | 'reverse_holo'
    | 'holo'
    | 'first_edition'
    | 'shadowless'
    | 'full_art'
    | 'alternate_art'
    | 'promo'
  /**
   * null unless the condition is G
   */
  graded: {
    company: 'PSA' | 'BGS' | 'CGC' | 'SGC' | 'TAG' | 'GRAAD' | 'ACE' | 'PCA' | 'OVERIG'
    grade:
      | '10.0'
      | '9.5'
      | '9.0'
      | '8.5'
      | '8.0'
      | '7.5'
      | '7.0'
      | '6.5'
      | '6.0'
      | '5.5'
      | '5.0'
      | '4.5'
      | '4.0'
      | '3.5'
      | '3.0'
      | '2.5'
      | '2.0'
      | '1.5'
      | '1.0'
    /**
     * Company and grade in one text
     */
    label: string
  } | null
  /**
   * Stock minus the units that buyers’ carts reserve now; never below 0
   */
  quantity_available: number
  description: string | null
  /**
   * URLs of thumbnails. A photo appears here after the service has fetched it
   */
  photos: string[]
  seller: Seller
}
/**
 * The shop that offers the listing.
 */
export interface Seller {
  name: string
  slug: string | null
  /**
   * The shop’s public page on the marketplace
   */
  url: string | null
  tier: 'Bronze' | 'Silver' | 'Gold' | 'Diamond' | 'Master'
  /**
   * Average rating; null without reviews
   */
  rating: number | null
  reviews: number
}
/**
 * A new listing for a card.
 */
export interface CardListingItem {
  /**
   * Canonical or friendly id of a card. Send either `card` or `product`
   */
  card: string
  product?: null | undefined
  /**
   * Language code of the card or product on sale
   */
  language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR'
  /**
   * Price per unit in decimal euros. More than two decimals are rounded, half a cent up
   */
  price: number
  quantity: number
  /**
   * Required for cards; ignored for products
   */
  condition: 'M' | 'NM' | 'LP' | 'MP' | 'HP' | 'DMG' | 'G'
  /**
   * For cards. `standard` by default
   */
  printing?:
    | (
        | 'standard'
        | 'reverse_holo'
        | 'holo'
        | 'first_edition'
        | 'shadowless'
        | 'full_art'
        | 'alternate_art'
        | 'promo'
        | null
      )
    | undefined
  /**
   * Language code of the set. Selects one card if the friendly id means several; ignored otherwise. The listing’s language is in `language`.
   */
  language_hint?:
    ('EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR' | null) | undefined
  /**
   * Required if the condition is G
   */
  grading_company?:
    ('PSA' | 'BGS' | 'CGC' | 'SGC' | 'TAG' | 'GRAAD' | 'ACE' | 'PCA' | 'OVERIG' | null) | undefined
  /**
   * Required if the condition is G
   */
  grading_grade?:
    | (
        | '10.0'
        | '9.5'
        | '9.0'
        | '8.5'
        | '8.0'
        | '7.5'
        | '7.0'
        | '6.5'
        | '6.0'
        | '5.5'
        | '5.0'
        | '4.5'
        | '4.0'
        | '3.5'
        | '3.0'
        | '2.5'
        | '2.0'
        | '1.5'
        | '1.0'
        | null
      )
    | undefined
  description?: (string | null) | undefined
  /**
   * Public http or https URLs of images (JPEG, PNG, WebP, GIF or AVIF, at most 10 MB each). The service fetches them after it has responded
   *
   * @maxItems 10
   */
  photo_urls?: (string[] | null) | undefined
}
/**
 * The body of every error response.
 */
export interface ErrorBody {
  error: {
    /**
     * Kind of the error, for programs
     */
    type: string
    /**
     * Explanation of the error, for people
     */
    message: string
    /**
     * Messages by field name if `type` is validation_error, `candidates` if it is ambiguous_identifier. Absent otherwise.
     */
    fields?: {
      /**
       * At most 25 cards, or at most 25 sets
       */
      candidates?: (CardCandidate | SetCandidate)[]
      [k: string]: unknown
    }
  }
}
/**
 * A set that an ambiguous shortcut may mean.
 */
export interface SetCandidate {
  id: string
  shortcut: string
  name: string
  /**
   * Name of the series
   */
  series: string
  language: string
  region: string
}
/**
 * The card of a listing.
 */
export interface ListableCard {
  type: 'card'
  /**
   * Canonical id of the card
   */
  id: string
  /**
   * null if the set has no shortcut
   */
  friendly_id: string | null
  name: string
  number: string
  /**
   * The set’s shortcut
   */
  set: string | null
}
/**
 * The sealed product of a listing.
 */
export interface ListableProduct {
  type: 'product'
  /**
   * Slug of the sealed product
   */
  id: string
  name: string
}
/**
 * A listing as its seller sees it.
 */
export interface Listing {
  id: number
  /**
   * Price per unit in decimal euros
   */
  price: number
  currency: 'EUR'
  /**
   * null for sealed products
   */
  condition: 'M' | 'NM' | 'LP' | 'MP' | 'HP' | 'DMG' | 'G' | null
  /**
   * Language code of the card or product on sale
   */
  language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR'
  /**
   * `standard` if it was never set
   */
  printing:
    | 'standard'
    | 'reverse_holo'
    | 'holo'
    | 'first_edition'
    | 'shadowless'
    | 'full_art'
    | 'alternate_art'
    | 'promo'
  /**
   * null unless the condition is G
   */
  graded: {
    company: 'PSA' | 'BGS' | 'CGC' | 'SGC' | 'TAG' | 'GRAAD' | 'ACE' | 'PCA' | 'OVERIG'
    grade:
      | '10.0'
      | '9.5'
      | '9.0'
      | '8.5'
      | '8.0'
      | '7.5'
      | '7.0'
      | '6.5'
      | '6.0'
      | '5.5'
      | '5.0'
      | '4.5'
      | '4.0'
      | '3.5'
      | '3.0'
      | '2.5'
      | '2.0'
      | '1.5'
      | '1.0'
    /**
     * Company and grade in one text
     */
    label: string
  } | null
  /**
   * Stock minus the units that buyers’ carts reserve now; never below 0
   */
  quantity_available: number
  description: string | null
  /**
   * URLs of thumbnails. A photo appears here after the service has fetched it
   */
  photos: string[]
  seller: Seller
  status: 'active' | 'sold' | 'hidden'
  /**
   * Whole stock: reserved units are not subtracted
   */
  quantity: number
  /**
   * The card or sealed product on sale
   */
  listable: Listable | null
  created_at: string
  /**
   * Time of the last change to the listing or its photos
   */
  updated_at: string
}
/**
 * A new listing for a sealed product.
 */
export interface ProductListingItem {
  /**
   * Slug of a sealed product. Send either `product` or `card`
   */
  product: string
  card?: null | undefined
  /**
   * Language code of the card or product on sale
   */
  language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR'
  /**
   * Price per unit in decimal euros. More than two decimals are rounded, half a cent up
   */
  price: number
  quantity: number
  description?: (string | null) | undefined
  /**
   * Public http or https URLs of images (JPEG, PNG, WebP, GIF or AVIF, at most 10 MB each). The service fetches them after it has responded
   *
   * @maxItems 10
   */
  photo_urls?: (string[] | null) | undefined
}
/**
 * A sale from a listing, and the remaining stock.
 */
export interface ListingSoldData {
  listing_id: number
  /**
   * Id of the order row of this sale
   */
  order_id: number
  /**
   * Number of units in this sale
   */
  quantity_sold: number
  /**
   * Number of units left after the sale. At 0 the listing is `sold`
   */
  remaining_quantity: number
}
/**
 * The body of a delivery of `listing.sold`.
 */
export interface ListingSoldEvent {
  event: 'listing.sold'
  /**
   * Unique id of the delivery, the same in every attempt. Equals `X-Service-Delivery`
   */
  delivery_id: number
  /**
   * Time of the event, the same in every attempt
   */
  created_at: string
  data: ListingSoldData
}
/**
 * One listing sold to one buyer in one checkout.
 */
export interface Order {
  id: number
  /**
   * Rows with the same slice key ship together
   */
  slice_key: string
  checkout_id: number | null
  status: 'pending' | 'shipped' | 'received' | 'cancelled' | 'disputed'
  /**
   * Number of units sold
   */
  quantity: number
  /**
   * Price per unit in decimal euros, at the time of the order
   */
  price: number
  currency: 'EUR'
  /**
   * The item as it was at the time of the order
   */
  item: {
    name: string | null
    /**
     * Set and number; then the region of the set unless it is `int` or that of its language (`TW` of a Chinese set), the printing unless it is `standard`, and the grading: `Obsidian Flames 125 · reverse holo · PSA 9.5`
     */
    subtitle: string | null
    image: string | null
    /**
     * null for sealed products
     */
    condition: string | null
    language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR' | null
    type: 'card' | 'product' | null
    /**
     * Catalog id of the card or product
     */
    id: string | null
    /**
     * null unless the item is a card with a friendly id
     */
    friendly_id: string | null
  }
  /**
   * null after the listing has been deleted
   */
  listing_id: number | null
  tracking: {
    code: string | null
    url: string | null
    /**
     * Latest status that the carrier reported
     */
    status: string | null
    updated_at: string | null
    /**
     * `platform`: the service buys the label. `self_ship`: you ship with your own option.
     */
    fulfilment: 'platform' | 'self_ship'
  }
  /**
   * Amounts in decimal euros. A refund changes only `refunded_amount`.
   */
  financial: {
    /**
     * Price times quantity minus the commission, without shipping
     */
    seller_net: number
    /**
     * All fees deducted
     */
    seller_fee: number
    /**
     * Commission included in `seller_fee`, by the seller tier at the time of the order
     */
    commission: number
    /**
     * Sum of all refunds of this row
     */
    refunded_amount: number
  }
  buyer: {
    /**
     * null if the buyer’s data was erased
     */
    name: string | null
  }
  created_at: string | null
  shipped_at: string | null
  received_at: string | null
  cancelled_at: string | null
  disputed_at: string | null
}
/**
 * The cancelled order row.
 */
export interface OrderCancelledData {
  order_id: number
  /**
   * Party that cancelled the order
   */
  cancelled_by: 'buyer' | 'seller' | 'admin' | 'system'
}
/**
 * The body of a delivery of `order.cancelled`.
 */
export interface OrderCancelledEvent {
  event: 'order.cancelled'
  /**
   * Unique id of the delivery, the same in every attempt. Equals `X-Service-Delivery`
   */
  delivery_id: number
  /**
   * Time of the event, the same in every attempt
   */
  created_at: string
  data: OrderCancelledData
}
/**
 * The new order row.
 */
export interface OrderCreatedData {
  /**
   * Id of the order row, as in `GET /orders`
   */
  order_id: number
  /**
   * Rows with the same slice key ship together
   */
  slice_key: string
  listing_id: number
  /**
   * Number of units sold
   */
  quantity: number
  /**
   * Price per unit in decimal euros
   */
  price: number
  currency: 'EUR'
  /**
   * Name of the card or product at the time of the sale
   */
  item_name: string
  /**
   * Empty if the buyer’s data was erased
   */
  buyer_name: string
  /**
   * null if the checkout had no address, or the buyer’s data was erased
   */
  delivery_address: Address | null
}
/**
 * The body of a delivery of `order.created`.
 */
export interface OrderCreatedEvent {
  event: 'order.created'
  /**
   * Unique id of the delivery, the same in every attempt. Equals `X-Service-Delivery`
   */
  delivery_id: number
  /**
   * Time of the event, the same in every attempt
   */
  created_at: string
  data: OrderCreatedData
}
/**
 * The current label and tracking of a shipment.
 */
export interface OrderLabelReadyData {
  /**
   * Id of the order row for which the label was requested
   */
  order_id: number
  /**
   * Whether a PDF is available to print
   */
  has_label: boolean
  /**
   * Signed link to the PDF, valid for five days. Anyone who has the link can download the PDF. null while there is no PDF
   */
  label_url: string | null
  /**
   * null until the carrier has assigned one
   */
  tracking_code: string | null
}
/**
 * The body of a delivery of `order.label_ready`.
 */
export interface OrderLabelReadyEvent {
  event: 'order.label_ready'
  /**
   * Unique id of the delivery, the same in every attempt. Equals `X-Service-Delivery`
   */
  delivery_id: number
  /**
   * Time of the event, the same in every attempt
   */
  created_at: string
  data: OrderLabelReadyData
}
/**
 * A slice: your part of one checkout. All of its rows go to one buyer in one parcel.
 */
export interface OrderSlice {
  slice_key: string
  /**
   * All rows of the slice
   */
  orders: Order[]
  buyer: {
    /**
     * null if the buyer’s data was erased
     */
    name: string | null
    /**
     * null if the checkout had no address, or the buyer’s data was erased
     */
    address: Address | null
  }
  totals: {
    /**
     * Sum of price times quantity over all rows
     */
    merchandise: number
    /**
     * Shipping price that the buyer paid
     */
    shipping: number
    /**
     * Sum of `seller_net` over all rows, plus `shipping.seller_share`: the payout before cancellations and refunds
     */
    seller_net: number
    currency: 'EUR'
  }
  shipping: {
    /**
     * Shipping option that the buyer chose
     */
    method: string | null
    /**
     * The same as `totals.shipping`
     */
    price: number
    /**
     * `seller`: paid out in full. `platform`: pays for the label that the service buys.
     */
    paid_to: 'seller' | 'platform'
    /**
     * The price if it is paid to you, otherwise 0
     */
    seller_share: number
    /**
     * Carrier platform of the label; null before it is bought
     */
    provider: string | null
    has_label: boolean
    tracking_code: string | null
    tracking_status: string | null
    /**
     * The latest link to the label; null after it has expired
     */
    label_url: string | null
    expires_at: string | null
  }
}
/**
 * Absolute URLs of other pages, with all parameters of the request.
 */
export interface PageLinks {
  first: string
  last: string
  /**
   * null on the first page
   */
  prev: string | null
  /**
   * null on the last page
   */
  next: string | null
}
/**
 * Position of this page in the whole list.
 */
export interface PageMeta {
  current_page: number
  /**
   * Position of the page’s first record in the list, from 1; null if the page is empty
   */
  from: number | null
  last_page: number
  /**
   * URL of the list without its query
   */
  path: string
  per_page: number
  /**
   * Position of the page’s last record in the list; null if the page is empty
   */
  to: number | null
  /**
   * Number of all matching records
   */
  total: number
}
/**
 * A sealed product.
 */
export interface SealedProduct {
  slug: string
  name: string
  category:
    | 'elite_trainer_box'
    | 'booster_box'
    | 'booster_bundle'
    | 'booster_pack'
    | 'premium_collection'
    | 'tin'
    | 'mini_tin'
    | 'theme_deck'
    | 'build_battle_box'
    | 'special_collection'
    | 'cases'
    | 'other'
  /**
   * The set of the product; null if it belongs to none
   */
  set: CardSet | null
  image_url: string | null
  release_date: string | null
  /**
   * The product’s public page on the marketplace
   */
  url: string
  /**
   * All active listings, cheapest first. Only with `include=listings`
   */
  listings?: PublicListing[]
}
/**
 * A series: a family of sets.
 */
export interface Series {
  name: string
  /**
   * Curated code of the series; null if it has none
   */
  shortcut: string | null
  /**
   * Number of sets in this series, in all languages
   */
  sets_count: number
}
/**
 * A set, with its cards and sealed products on request.
 */
export interface SetDetail {
  /**
   * Canonical id. Always resolves to this set
   */
  id: string
  /**
   * Friendly id in lower case; null if the set has none. Sets of several languages and regions can share a shortcut.
   */
  shortcut: string | null
  name: string
  /**
   * Name of the series
   */
  series: string
  /**
   * Language code
   */
  language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR'
  /**
   * Region code in lower case
   */
  region: string
  release_date: string | null
  /**
   * Number of cards, including secret rares
   */
  total_cards: number | null
  /**
   * Number of cards as printed on the cards
   */
  printed_total: number | null
  logo_url: string | null
  symbol_url: string | null
  /**
   * Number of this set’s cards in the catalog
   */
  cards_count: number
  /**
   * Number of this set’s sealed products in the catalog
   */
  products_count: number
  /**
   * The set’s cards by number. Only with `include=cards`
   */
  cards?: Card[]
  /**
   * The set’s sealed products. Only with `include=products`
   */
  products?: SealedProduct[]
}
/**
 * The slice after shipping.
 */
export interface ShippedOrderSlice {
  slice_key: string
  /**
   * All rows of the slice
   */
  orders: Order[]
  buyer: {
    /**
     * null if the buyer’s data was erased
     */
    name: string | null
    /**
     * null if the checkout had no address, or the buyer’s data was erased
     */
    address: Address | null
  }
  totals: {
    /**
     * Sum of price times quantity over all rows
     */
    merchandise: number
    /**
     * Shipping price that the buyer paid
     */
    shipping: number
    /**
     * Sum of `seller_net` over all rows, plus `shipping.seller_share`: the payout before cancellations and refunds
     */
    seller_net: number
    currency: 'EUR'
  }
  shipping: {
    /**
     * Shipping option that the buyer chose
     */
    method: string | null
    /**
     * The same as `totals.shipping`
     */
    price: number
    /**
     * `seller`: paid out in full. `platform`: pays for the label that the service buys.
     */
    paid_to: 'seller' | 'platform'
    /**
     * The price if it is paid to you, otherwise 0
     */
    seller_share: number
    /**
     * Carrier platform of the label; null before it is bought
     */
    provider: string | null
    has_label: boolean
    tracking_code: string | null
    tracking_status: string | null
    /**
     * The latest link to the label; null after it has expired
     */
    label_url: string | null
    expires_at: string | null
  }
  /**
   * Number of rows that this request shipped
   */
  shipped_lines: number
}
/**
 * A webhook endpoint. The signing secret is not shown.
 */
export interface WebhookEndpoint {
  id: number
  /**
   * Target of the deliveries
   */
  url: string
  events: ('order.created' | 'order.cancelled' | 'order.label_ready' | 'listing.sold')[]
  /**
   * false while the endpoint is disabled
   */
  active: boolean
  disabled_at: string | null
  /**
   * Number of failed deliveries in a row. A successful delivery resets it to 0
   */
  consecutive_failures: number
  created_at: string
}
export interface ListSetsQuery {
  /**
   * Search by set name. Exact names come first, then prefixes, words, other parts and similar spellings. Case, accents and apostrophes are ignored.
   */
  q?: string | undefined
  /**
   * Exact language code of the set: EN, NL, DE, FR, JP, ES, IT, PT, CN, KR
   */
  language?: string | undefined
  /**
   * Exact region code of the set, in lower case
   */
  region?: string | undefined
  /**
   * Shortcut or name of a series, ignoring case
   */
  series?: string | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface GetSetQuery {
  /**
   * Comma-separated list without spaces: `cards`, `products`. Other values are ignored.
   */
  include?: string | undefined
  /**
   * Exact language code of the set: EN, NL, DE, FR, JP, ES, IT, PT, CN, KR
   */
  language?: string | undefined
  /**
   * Exact region code of the set, in lower case
   */
  region?: string | undefined
}
export interface ListCardsQuery {
  /**
   * Search by card name. Exact names come first, then prefixes, words, other parts and similar spellings. Case, accents and apostrophes are ignored. When no name has every word, the other words are compared with number, set name and code, and rarity: `charizard 4`, `brs 18`, `base set charizard`.
   */
  q?: string | undefined
  /**
   * Canonical id or shortcut of a set, resolved as in `GET /sets/{identifier}`. `language` and `region` also filter the result
   */
  set?: string | undefined
  /**
   * Exact language code of the set: EN, NL, DE, FR, JP, ES, IT, PT, CN, KR
   */
  language?: string | undefined
  /**
   * Exact region code of the set, in lower case
   */
  region?: string | undefined
  /**
   * Exact rarity
   */
  rarity?: string | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface GetCardQuery {
  /**
   * Comma-separated list without spaces: `listings`. Other values are ignored.
   */
  include?: string | undefined
  /**
   * Exact language code of the set: EN, NL, DE, FR, JP, ES, IT, PT, CN, KR
   */
  language?: string | undefined
  /**
   * Exact region code of the set, in lower case
   */
  region?: string | undefined
}
export interface ListProductsQuery {
  /**
   * Search by product name. Exact names come first, then prefixes, words, other parts and similar spellings. Case, accents and apostrophes are ignored. When no name has every word, the other words are compared with set name and code, and category: `evs etb`.
   */
  q?: string | undefined
  /**
   * Canonical id or unambiguous shortcut of a set
   */
  set?: string | undefined
  /**
   * Exact category: elite_trainer_box, booster_box, booster_bundle, booster_pack, premium_collection, tin, mini_tin, theme_deck, build_battle_box, special_collection, cases, other. Another value matches nothing.
   */
  category?: string | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface GetProductQuery {
  /**
   * Comma-separated list without spaces: `listings`. Other values are ignored.
   */
  include?: string | undefined
}
export interface ListListingsQuery {
  status?: ('active' | 'sold' | 'hidden') | undefined
  /**
   * Only listings changed at or after this ISO 8601 date or date-time. A date means its first second; without an offset the time is UTC
   */
  updated_since?: string | Date | undefined
  /**
   * Canonical or friendly id of a card
   */
  card?: string | undefined
  /**
   * Slug of a sealed product
   */
  product?: string | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface CreateListingsBody {
  /**
   * @minItems 1
   * @maxItems 100
   */
  items: ListingItem[]
}
export interface ChangeListingBody {
  /**
   * Price per unit in decimal euros. More than two decimals are rounded, half a cent up
   */
  price?: number | undefined
  /**
   * Stock. 0 makes an active listing `sold`; more makes a sold listing `active`
   */
  quantity?: number | undefined
  /**
   * A `hidden` listing keeps its stock and is not on sale. The stock decides between `active` and `sold`: a `sold` listing with stock becomes `active` again, so send `quantity` 0 as well. A hidden listing stays hidden until you send `active`; neither a new quantity nor `sold` puts it on sale.
   */
  status?: ('active' | 'sold' | 'hidden') | undefined
  /**
   * null or an empty text removes the description
   */
  description?: (string | null) | undefined
}
export interface ListOrdersQuery {
  status?: ('pending' | 'shipped' | 'received' | 'cancelled' | 'disputed') | undefined
  /**
   * Only orders created at or after this ISO 8601 date or date-time. A date means its first second; without an offset the time is UTC
   */
  since?: string | Date | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface ShipOrderBody {
  /**
   * null or an empty text means no tracking code
   */
  tracking_code?: (string | null) | undefined
}
export interface Label {
  /**
   * `ready`: the PDF is at `label_url`. `processing`: the label is bought, and the PDF is not available yet (call again shortly) or a cancellation of the shipment was requested (see `message`, and don’t use the label). `action_required`: the label is bought, and the carrier withholds the PDF until a problem is fixed, or has cancelled the shipment (see `message`). `self_ship`: you ship with your own option, so there is no label.
   */
  status: 'ready' | 'processing' | 'action_required' | 'self_ship'
  /**
   * Signed link to the PDF, new with each call. Anyone who has the link can download the PDF. null unless `ready`
   */
  label_url: string | null
  /**
   * Expiry of the link: five days after the call
   */
  expires_at: string | null
  /**
   * Explanation for people: what to do next
   */
  message: string | null
  /**
   * Can be available later than the label
   */
  tracking_code: string | null
  tracking_url: string | null
  /**
   * Carrier platform
   */
  provider: string | null
  /**
   * Number of rows that were pending or shipped when the shipment was bought; 0 for `self_ship`
   */
  shipped_lines: number
  order: OrderSlice
}
export interface CreateWebhookBody {
  /**
   * An http or https URL. A private or reserved IP address is refused in any notation. The service resolves a host name before each attempt and delivers only to public addresses. One line, without control characters
   */
  url: string
  /**
   * Events to deliver. Duplicates are ignored
   *
   * @minItems 1
   * @maxItems 1000
   */
  events: ('order.created' | 'order.cancelled' | 'order.label_ready' | 'listing.sold')[]
}
/**
 * An API key. Its secret is shown only when the key is created or rotated.
 */
export interface ApiKey {
  id: number
  name: string | null
  /**
   * The first characters of the key
   */
  prefix: string
  scopes: (
    | 'catalog:read'
    | 'listings:read'
    | 'listings:write'
    | 'orders:read'
    | 'orders:write'
    | 'webhooks:manage'
  )[]
  created_at: string
  last_used_at: string | null
  revoked_at: string | null
}
/**
 * A card or sealed product, as far as a list of listings shows it.
 */
export interface CatalogItem {
  /**
   * Canonical id
   */
  card: string | null
  /**
   * Slug
   */
  product: string | null
  name: string
  /**
   * The set’s name, and for a card its number
   */
  details: string
  language: string | null
  image: string | null
}
/**
 * The outcome that a bulk create would have for an item.
 */
export interface CheckedItem {
  /**
   * Messages by field name. Only if the item would fail
   */
  errors?: {
    [k: string]: string[]
  }
  /**
   * Cards that share the friendly id, at most 25. Only if there are several
   */
  candidates?: CardCandidate[]
  item?: CatalogItem
}
/**
 * The delivery of one event to one endpoint.
 */
export interface Delivery {
  /**
   * Equals `delivery_id` in the payload
   */
  id: number
  account_id: number
  endpoint_id: number
  /**
   * A delivery to a deleted endpoint can’t be sent again
   */
  endpoint_deleted: boolean
  event: 'order.created' | 'order.cancelled' | 'order.label_ready' | 'listing.sold'
  /**
   * `pending`: waits for its first or next attempt. `failed`: all attempts failed. `skipped`: the endpoint was disabled or deleted before the delivery succeeded.
   */
  status: 'pending' | 'delivered' | 'failed' | 'skipped'
  /**
   * The latest 50, oldest first, including resends
   */
  attempts: {
    /**
     * Start of the attempt
     */
    at: string
    /**
     * Status of the response; null if there was none
     */
    status_code: number | null
    /**
     * Reason of the failure; null if the attempt succeeded
     */
    error: string | null
    duration_ms: number
    /**
     * Beginning of the response body
     */
    response: string | null
  }[]
  /**
   * null if no attempt is scheduled
   */
  next_attempt_at: string | null
  /**
   * Time of the event
   */
  created_at: string
  /**
   * The body that is sent
   */
  payload: OrderCreatedEvent | OrderCancelledEvent | OrderLabelReadyEvent | ListingSoldEvent
}
/**
 * A buyer’s report of a problem with an order row.
 */
export interface Dispute {
  id: number
  order_id: number
  slice_key: string
  account_id: number
  item_name: string | null
  /**
   * `open` waits for the seller’s answer, `answered` for the marketplace’s decision
   */
  state: 'open' | 'answered' | 'resolved'
  reason: 'not_received' | 'not_as_described' | 'damaged' | 'other'
  /**
   * The buyer’s words
   */
  message: string | null
  opened_at: string
  /**
   * The seller should have answered by then. A later answer counts until the dispute is resolved
   */
  answer_by: string
  answer: null | {
    message: string
    /**
     * Links from the seller. The service does not fetch or check them
     */
    photo_urls: string[]
    answered_at: string
  }
  /**
   * The side in whose favour the dispute was resolved
   */
  resolution: 'seller' | 'buyer' | null
  /**
   * Amount that the resolution refunded, in decimal euros
   */
  refund: number | null
  resolved_at: string | null
}
/**
 * The holiday mode of your shop.
 */
export interface Holiday {
  /**
   * Whether the shop is hidden and sells nothing
   */
  on: boolean
}
/**
 * The label of one order of the request.
 */
export interface LabelResult {
  /**
   * The order row of the request
   */
  order: number
  /**
   * The response of `POST /v1/orders/{order}/label`; null after an error
   */
  label: {
    /**
     * `ready`: the PDF is at `label_url`. `processing`: the label is bought, and the PDF is not available yet (call again shortly) or a cancellation of the shipment was requested (see `message`, and don’t use the label). `action_required`: the label is bought, and the carrier withholds the PDF until a problem is fixed, or has cancelled the shipment (see `message`). `self_ship`: you ship with your own option, so there is no label.
     */
    status: 'ready' | 'processing' | 'action_required' | 'self_ship'
    /**
     * Signed link to the PDF, new with each call. Anyone who has the link can download the PDF. null unless `ready`
     */
    label_url: string | null
    /**
     * Expiry of the link: five days after the call
     */
    expires_at: string | null
    /**
     * Explanation for people: what to do next
     */
    message: string | null
    /**
     * Can be available later than the label
     */
    tracking_code: string | null
    tracking_url: string | null
    /**
     * Carrier platform
     */
    provider: string | null
    /**
     * Number of rows that were pending or shipped when the shipment was bought; 0 for `self_ship`
     */
    shipped_lines: number
    order: OrderSlice
  } | null
  /**
   * The error that the request for this order alone would get, or `provider_error` if no time was left for it
   */
  error: {
    /**
     * Kind of the error, for programs
     */
    type: string
    /**
     * Explanation of the error, for people
     */
    message: string
    /**
     * Messages by field name if `type` is validation_error, `candidates` if it is ambiguous_identifier. Absent otherwise.
     */
    fields?: {
      /**
       * At most 25 cards, or at most 25 sets
       */
      candidates?: (CardCandidate | SetCandidate)[]
      [k: string]: unknown
    }
  } | null
}
/**
 * Changes to the listing with this `id` or `reference`. Absent fields stay.
 */
export interface ListingChange {
  /**
   * The listing’s id
   */
  id?: number | undefined
  /**
   * Without `id` it selects the listing. With `id` it is the listing’s new reference; null removes it. One line, without control characters
   */
  reference?: (string | null) | undefined
  /**
   * Price per unit in decimal euros. More than two decimals are rounded, half a cent up
   */
  price?: number | undefined
  /**
   * Stock. 0 makes an active listing `sold`; more makes a sold listing `active`
   */
  quantity?: number | undefined
  /**
   * A `hidden` listing keeps its stock and is not on sale. The stock decides between `active` and `sold`: a `sold` listing with stock becomes `active` again, so send `quantity` 0 as well. A hidden listing stays hidden until you send `active`; neither a new quantity nor `sold` puts it on sale.
   */
  status?: ('active' | 'sold' | 'hidden') | undefined
  /**
   * null or an empty text removes the description
   */
  description?: (string | null) | undefined
  /**
   * Units to add to the stock, or to take from it, at the moment of the change: a sale that happens meanwhile is not lost. The item fails if the stock would be below 0, or if units are added and it would be above 999. Excludes `quantity`
   */
  quantity_delta?: number | undefined
}
/**
 * The item was applied; a change without effect is not an error.
 */
export interface ListingChanged {
  status: 'changed'
  /**
   * Position of the item in the request, from 0
   */
  index: number
  listing: {
    id: number
    reference: string | null
    /**
     * Price per unit in decimal euros
     */
    price: number
    currency: 'EUR'
    /**
     * Whole stock: reserved units are not subtracted
     */
    quantity: number
    status: 'active' | 'sold' | 'hidden'
    description: string | null
  }
}
/**
 * The result for each item.
 */
export interface ListingChangesResult {
  /**
   * One result per item, in the order of the request
   */
  results: (ListingChanged | ListingItemFailed)[]
  changed: number
  failed: number
}
/**
 * The item had no effect.
 */
export interface ListingItemFailed {
  status: 'failed'
  /**
   * Position of the item in the request, from 0
   */
  index: number
  /**
   * Messages by field name
   */
  errors: {
    [k: string]: string[]
  }
}
/**
 * The listing was deleted.
 */
export interface ListingDeleted {
  status: 'deleted'
  /**
   * Position of the item in the request, from 0
   */
  index: number
  id: number
}
/**
 * The result for each item.
 */
export interface ListingDeletionsResult {
  /**
   * One result per item, in the order of the request
   */
  results: (ListingDeleted | ListingItemFailed)[]
  deleted: number
  failed: number
}
/**
 * A change of one of your listings.
 */
export interface ListingFeedChange {
  kind: 'listing'
  /**
   * Id of the listing
   */
  id: number
  change: 'created' | 'updated' | 'deleted'
  /**
   * The listing as it is now; null if it has been deleted
   */
  record: OwnListing | null
}
/**
 * A listing with the fields that only its seller’s software needs.
 */
export interface OwnListing {
  id: number
  /**
   * Price per unit in decimal euros
   */
  price: number
  currency: 'EUR'
  /**
   * null for sealed products
   */
  condition: 'M' | 'NM' | 'LP' | 'MP' | 'HP' | 'DMG' | 'G' | null
  /**
   * Language code of the card or product on sale
   */
  language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR'
  /**
   * `standard` if it was never set
   */
  printing:
    | 'standard'
    | 'reverse_holo'
    | 'holo'
    | 'first_edition'
    | 'shadowless'
    | 'full_art'
    | 'alternate_art'
    | 'promo'
  /**
   * null unless the condition is G
   */
  graded: {
    company: 'PSA' | 'BGS' | 'CGC' | 'SGC' | 'TAG' | 'GRAAD' | 'ACE' | 'PCA' | 'OVERIG'
    grade:
      | '10.0'
      | '9.5'
      | '9.0'
      | '8.5'
      | '8.0'
      | '7.5'
      | '7.0'
      | '6.5'
      | '6.0'
      | '5.5'
      | '5.0'
      | '4.5'
      | '4.0'
      | '3.5'
      | '3.0'
      | '2.5'
      | '2.0'
      | '1.5'
      | '1.0'
    /**
     * Company and grade in one text
     */
    label: string
  } | null
  /**
   * Stock minus the units that buyers’ carts reserve now; never below 0
   */
  quantity_available: number
  description: string | null
  /**
   * URLs of thumbnails. A photo appears here after the service has fetched it
   */
  photos: string[]
  seller: Seller
  status: 'active' | 'sold' | 'hidden'
  /**
   * Whole stock: reserved units are not subtracted
   */
  quantity: number
  /**
   * The card or sealed product on sale
   */
  listable: Listable | null
  created_at: string
  /**
   * Time of the last change to the listing or its photos
   */
  updated_at: string
  /**
   * Your own name of the listing. Never public
   */
  reference: string | null
  /**
   * Number of the listing’s photos that could not be fetched
   */
  photos_failed: number
}
/**
 * A listing, by its `id` or its `reference`.
 */
export interface ListingTarget {
  /**
   * The listing’s id
   */
  id?: number | undefined
  /**
   * Your own name of the listing, such as a SKU: unique among your listings. One line, without control characters
   */
  reference?: string | undefined
}
/**
 * A change of one of your order rows.
 */
export interface OrderFeedChange {
  kind: 'order'
  /**
   * Id of the order row
   */
  id: number
  change: 'created' | 'updated' | 'deleted'
  /**
   * The order row as it is now; null if it has been deleted
   */
  record: OwnOrder | null
}
/**
 * An order row, with its cancellation and the time of its last change.
 */
export interface OwnOrder {
  id: number
  /**
   * Rows with the same slice key ship together
   */
  slice_key: string
  checkout_id: number | null
  status: 'pending' | 'shipped' | 'received' | 'cancelled' | 'disputed'
  /**
   * Number of units sold
   */
  quantity: number
  /**
   * Price per unit in decimal euros, at the time of the order
   */
  price: number
  currency: 'EUR'
  /**
   * The item as it was at the time of the order
   */
  item: {
    name: string | null
    /**
     * Set and number; then the region of the set unless it is `int` or that of its language (`TW` of a Chinese set), the printing unless it is `standard`, and the grading: `Obsidian Flames 125 · reverse holo · PSA 9.5`
     */
    subtitle: string | null
    image: string | null
    /**
     * null for sealed products
     */
    condition: string | null
    language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR' | null
    type: 'card' | 'product' | null
    /**
     * Catalog id of the card or product
     */
    id: string | null
    /**
     * null unless the item is a card with a friendly id
     */
    friendly_id: string | null
  }
  /**
   * null after the listing has been deleted
   */
  listing_id: number | null
  tracking: {
    code: string | null
    url: string | null
    /**
     * Latest status that the carrier reported
     */
    status: string | null
    updated_at: string | null
    /**
     * `platform`: the service buys the label. `self_ship`: you ship with your own option.
     */
    fulfilment: 'platform' | 'self_ship'
  }
  /**
   * Amounts in decimal euros. A refund changes only `refunded_amount`.
   */
  financial: {
    /**
     * Price times quantity minus the commission, without shipping
     */
    seller_net: number
    /**
     * All fees deducted
     */
    seller_fee: number
    /**
     * Commission included in `seller_fee`, by the seller tier at the time of the order
     */
    commission: number
    /**
     * Sum of all refunds of this row
     */
    refunded_amount: number
  }
  buyer: {
    /**
     * null if the buyer’s data was erased
     */
    name: string | null
  }
  created_at: string | null
  shipped_at: string | null
  received_at: string | null
  cancelled_at: string | null
  disputed_at: string | null
  cancelled_by: 'buyer' | 'seller' | 'admin' | 'system' | null
  /**
   * Given by the seller who cancelled the row
   */
  cancel_reason: 'out_of_stock' | 'buyer_asked' | 'other' | null
  /**
   * Last change of the row, its tracking included
   */
  updated_at: string
}
/**
 * A new listing for a card.
 */
export interface OwnCardListingItem {
  /**
   * Canonical or friendly id of a card. Send either `card` or `product`
   */
  card: string
  product?: null | undefined
  /**
   * Language code of the card or product on sale
   */
  language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR'
  /**
   * Price per unit in decimal euros. More than two decimals are rounded, half a cent up
   */
  price: number
  quantity: number
  /**
   * Required for cards; ignored for products
   */
  condition: 'M' | 'NM' | 'LP' | 'MP' | 'HP' | 'DMG' | 'G'
  /**
   * For cards. `standard` by default
   */
  printing?:
    | (
        | 'standard'
        | 'reverse_holo'
        | 'holo'
        | 'first_edition'
        | 'shadowless'
        | 'full_art'
        | 'alternate_art'
        | 'promo'
        | null
      )
    | undefined
  /**
   * Language code of the set. Selects one card if the friendly id means several; ignored otherwise. The listing’s language is in `language`.
   */
  language_hint?:
    ('EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR' | null) | undefined
  /**
   * Required if the condition is G
   */
  grading_company?:
    ('PSA' | 'BGS' | 'CGC' | 'SGC' | 'TAG' | 'GRAAD' | 'ACE' | 'PCA' | 'OVERIG' | null) | undefined
  /**
   * Required if the condition is G
   */
  grading_grade?:
    | (
        | '10.0'
        | '9.5'
        | '9.0'
        | '8.5'
        | '8.0'
        | '7.5'
        | '7.0'
        | '6.5'
        | '6.0'
        | '5.5'
        | '5.0'
        | '4.5'
        | '4.0'
        | '3.5'
        | '3.0'
        | '2.5'
        | '2.0'
        | '1.5'
        | '1.0'
        | null
      )
    | undefined
  description?: (string | null) | undefined
  /**
   * Public http or https URLs of images (JPEG, PNG, WebP, GIF or AVIF, at most 10 MB each). The service fetches them after it has responded
   *
   * @maxItems 10
   */
  photo_urls?: (string[] | null) | undefined
  /**
   * Your own name of the listing, such as a SKU: unique among your listings, without blanks at its ends. One line, without control characters
   */
  reference?: (string | null) | undefined
}
/**
 * A new listing for a sealed product.
 */
export interface OwnProductListingItem {
  /**
   * Slug of a sealed product. Send either `product` or `card`
   */
  product: string
  card?: null | undefined
  /**
   * Language code of the card or product on sale
   */
  language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR'
  /**
   * Price per unit in decimal euros. More than two decimals are rounded, half a cent up
   */
  price: number
  quantity: number
  description?: (string | null) | undefined
  /**
   * Public http or https URLs of images (JPEG, PNG, WebP, GIF or AVIF, at most 10 MB each). The service fetches them after it has responded
   *
   * @maxItems 10
   */
  photo_urls?: (string[] | null) | undefined
  /**
   * Your own name of the listing, such as a SKU: unique among your listings, without blanks at its ends. One line, without control characters
   */
  reference?: (string | null) | undefined
}
/**
 * A shipping option of your shop.
 */
export interface OwnShippingOption {
  /**
   * Unique within the account
   */
  code: string
  name: string
  /**
   * `platform`: the service buys the label. `self_ship`: the seller ships with their own option.
   */
  fulfilment: 'platform' | 'self_ship'
  tracked: boolean
  /**
   * Price in decimal euros
   */
  price: number
  enabled: boolean
  /**
   * ISO codes of the countries that it delivers to; null for all
   *
   * @minItems 1
   * @maxItems 250
   */
  countries: string[] | null
  /**
   * Highest value of the goods in decimal euros; null for any
   */
  max_value: number | null
}
/**
 * The content of one parcel.
 */
export interface PackingSlip {
  slice_key: string
  created_at: string
  buyer: {
    name: string
    address: Address | null
  }
  shipping_method: string
  /**
   * The rows to pack
   */
  orders: {
    id: number
    /**
     * The item as it was at the time of the order
     */
    item: {
      name: string | null
      /**
       * Set and number; then the region of the set unless it is `int` or that of its language (`TW` of a Chinese set), the printing unless it is `standard`, and the grading: `Obsidian Flames 125 · reverse holo · PSA 9.5`
       */
      subtitle: string | null
      image: string | null
      /**
       * null for sealed products
       */
      condition: string | null
      language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR' | null
      type: 'card' | 'product' | null
      /**
       * Catalog id of the card or product
       */
      id: string | null
      /**
       * null unless the item is a card with a friendly id
       */
      friendly_id: string | null
    }
    /**
     * null after the listing has been deleted
     */
    listing_id: number | null
    /**
     * Your own name of the listing
     */
    reference: string | null
    quantity: number
  }[]
}
/**
 * The money that a seller gets for one slice.
 */
export interface Payout {
  id: number
  account_id: number
  slice_key: string
  /**
   * gross − commission − refunds + shipping of all lines
   */
  amount: number
  state: 'due' | 'sent' | 'paid' | 'failed' | 'held'
  /**
   * Why the payout is held or failed
   */
  reason: string | null
  /**
   * Reference of the current or next transfer, which the bank statement shows. Unique. A paid payout with an amount of 0 has no transfer: what the seller owed took all of it
   */
  reference: string
  created_at: string
  sent_at: string | null
  paid_at: string | null
  lines: PayoutLine[]
  /**
   * The parts of the line for the deduction of refunds, oldest order of each run first. An earlier version kept none: what it deducted is only in the line
   */
  deductions: PayoutDeduction[]
}
/**
 * The part of a payout from one order row.
 */
export interface PayoutLine {
  /**
   * null for shipping, and for the deduction of an earlier payout’s refund
   */
  order_id: number | null
  /**
   * Price × quantity
   */
  gross: number
  /**
   * Commission of the marketplace; 0 for a cancelled row
   */
  commission: number
  /**
   * Refunds that the seller bears, and what another payout of the slice has paid; negative for what was deducted from another payout before
   */
  refunds: number
  /**
   * Shipping that the buyer paid for an option of the seller
   */
  shipping: number
}
/**
 * The part of a payout that a run has deducted for the refunds of another slice.
 */
export interface PayoutDeduction {
  slice_key: string
  /**
   * The order rows whose refunds or cancellations caused the debt
   */
  order_ids: number[]
  /**
   * The part of the debt that this payout has paid
   */
  amount: number
}
/**
 * An item to take from your stock.
 */
export interface PickLine {
  /**
   * The item as it was at the time of the order
   */
  item: {
    name: string | null
    /**
     * Set and number; then the region of the set unless it is `int` or that of its language (`TW` of a Chinese set), the printing unless it is `standard`, and the grading: `Obsidian Flames 125 · reverse holo · PSA 9.5`
     */
    subtitle: string | null
    image: string | null
    /**
     * null for sealed products
     */
    condition: string | null
    language: 'EN' | 'NL' | 'DE' | 'FR' | 'JP' | 'ES' | 'IT' | 'PT' | 'CN' | 'KR' | null
    type: 'card' | 'product' | null
    /**
     * Catalog id of the card or product
     */
    id: string | null
    /**
     * null unless the item is a card with a friendly id
     */
    friendly_id: string | null
  }
  /**
   * null after the listing has been deleted
   */
  listing_id: number | null
  /**
   * Your own name of the listing
   */
  reference: string | null
  /**
   * Units for all orders together
   */
  quantity: number
  /**
   * The order rows that need it
   */
  orders: number[]
}
/**
 * A buyer’s opinion about what one seller sent in one parcel.
 */
export interface Review {
  id: number
  /**
   * The order row whose receipt allowed the review
   */
  order_id: number
  slice_key: string
  account_id: number
  /**
   * 1 to 5
   */
  stars: number
  text: string | null
  reply: null | {
    text: string
    replied_at: string
  }
  created_at: string
  updated_at: string
  removed: null | {
    reason: string
    removed_at: string
  }
}
/**
 * A seller’s month, computed from the ledger.
 */
export interface Statement {
  month: string
  currency: 'EUR'
  /**
   * The marketplace’s debt to the seller when the month began
   */
  opening_balance: number
  slices: {
    slice_key: string
    /**
     * Price × quantity of the rows sold
     */
    gross: number
    /**
     * Commission charged, minus that of cancelled rows
     */
    commission: number
    /**
     * Shipping that buyers paid for an option of the seller
     */
    shipping: number
    /**
     * Refunds that the seller bears
     */
    refunds: number
    /**
     * Transfers to the seller, minus those that failed
     */
    payout: number
  }[]
  totals: {
    /**
     * Price × quantity of the rows sold
     */
    gross: number
    /**
     * Commission charged, minus that of cancelled rows
     */
    commission: number
    /**
     * Shipping that buyers paid for an option of the seller
     */
    shipping: number
    /**
     * Refunds that the seller bears
     */
    refunds: number
    /**
     * Transfers to the seller, minus those that failed
     */
    payout: number
  }
  /**
   * opening_balance + gross − commission + shipping − refunds − payout of the totals
   */
  closing_balance: number
  /**
   * The fee invoice. null until it is issued, within half an hour after the end of the month, and without commission
   */
  invoice: {
    number: string
    /**
     * The commission of the month
     */
    commission: number
    issued_at: string
  } | null
}
export interface ListOwnListingsQuery {
  status?: ('active' | 'sold' | 'hidden') | undefined
  /**
   * Only listings changed at or after this ISO 8601 date or date-time. A date means its first second; without an offset the time is UTC
   */
  updated_since?: string | Date | undefined
  /**
   * Canonical or friendly id of a card
   */
  card?: string | undefined
  /**
   * Slug of a sealed product
   */
  product?: string | undefined
  /**
   * Only the listing with this reference
   */
  reference?: string | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface CreateOwnListingsBody {
  /**
   * @minItems 1
   * @maxItems 100
   */
  items: OwnListingItem[]
}
export interface CheckListingsBody {
  /**
   * @minItems 1
   * @maxItems 500
   */
  items: OwnListingItem[]
}
export interface ChangeListingsBody {
  /**
   * @minItems 1
   * @maxItems 1000
   */
  items: ListingChange[]
}
export interface DeleteListingsBody {
  /**
   * @minItems 1
   * @maxItems 1000
   */
  items: ListingTarget[]
}
export interface ListOwnOrdersQuery {
  status?: ('pending' | 'shipped' | 'received' | 'cancelled' | 'disputed') | undefined
  /**
   * Only orders created at or after this ISO 8601 date or time
   */
  since?: string | Date | undefined
  /**
   * Only orders changed at or after this ISO 8601 date or time
   */
  updated_since?: string | Date | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface GetPackingQuery {
  status?: ('pending' | 'shipped') | undefined
  /**
   * Paper of the print page
   */
  paper?: ('a4' | 'a6') | undefined
  /**
   * Documents of the print page
   */
  document?: ('all' | 'pick_list' | 'slips') | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface Packing {
  shop_name: string
  /**
   * The items of all slips together, by set and number
   */
  pick_list: PickLine[]
  /**
   * One slip for each parcel
   */
  slips: PackingSlip[]
}
export interface CancelOwnOrderBody {
  /**
   * The buyer’s e-mail names it
   */
  reason: 'out_of_stock' | 'buyer_asked' | 'other'
  /**
   * Whether the units go on sale again. By default they do, unless the reason is `out_of_stock`
   */
  restock?: boolean | undefined
}
export interface ListOwnReviewsQuery {
  stars?: number | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface ReplyToReviewBody {
  text: string
}
export interface AnswerDisputeBody {
  /**
   * The `id` of the dispute that you have read. With it, the request can’t apply to a later dispute of the row: it fails with 409
   */
  dispute_id?: number | undefined
  message: string
  /**
   * Public http or https URLs of photos. They are kept as links: the service does not fetch them
   *
   * @maxItems 10
   */
  photo_urls?: string[] | undefined
}
export interface ListOwnDisputesQuery {
  state?: ('open' | 'answered' | 'resolved') | undefined
  order_id?: number | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface BuyLabelsBody {
  /**
   * Ids of order rows. A slice gets one label, however many of its rows are named
   *
   * @minItems 1
   * @maxItems 50
   */
  orders: number[]
  /**
   * Respond with one PDF of all labels that are ready instead of JSON
   */
  merge?: boolean | undefined
}
export interface ListChangesQuery {
  /**
   * `next` of the previous response
   */
  cursor?: string | undefined
  /**
   * Seconds to wait for changes if there are none
   */
  wait?: number | undefined
}
export interface ListOwnPayoutsQuery {
  state?: ('due' | 'sent' | 'paid' | 'failed' | 'held') | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface CreateOwnKeyBody {
  /**
   * Scopes of the key. Duplicates are ignored
   *
   * @minItems 1
   * @maxItems 1000
   */
  scopes: (
    | 'catalog:read'
    | 'listings:read'
    | 'listings:write'
    | 'orders:read'
    | 'orders:write'
    | 'webhooks:manage'
  )[]
  /**
   * Label that tells keys apart. One line, without control characters
   */
  name?: (string | null) | undefined
}
export interface ReplaceShippingOptionsBody {
  /**
   * In the order in which buyers see them. Replaces all former shipping options
   *
   * @maxItems 50
   */
  shipping_options: {
    /**
     * Unique within the account
     */
    code: string
    /**
     * One line, without control characters
     */
    name: string
    /**
     * `platform`: the service buys the label. `self_ship`: the seller ships with their own option.
     */
    fulfilment: 'platform' | 'self_ship'
    tracked: boolean
    /**
     * Price in decimal euros
     */
    price: number
    enabled: boolean
    /**
     * ISO codes of the countries that it delivers to; null for all. A code that no country has is refused
     *
     * @minItems 1
     * @maxItems 250
     */
    countries?: (string[] | null) | undefined
    /**
     * Highest value of the goods in decimal euros; null for any
     */
    max_value?: (number | null) | undefined
  }[]
}
export interface SetHolidayBody {
  /**
   * Whether the shop is hidden and sells nothing
   */
  on: boolean
}
export interface ResendOwnDeliveriesBody {
  /**
   * First second of the period. ISO 8601 date or date-time; without an offset the time is UTC
   */
  from: string
  /**
   * Last second of the period; a date means its first second. ISO 8601 date or date-time; without an offset the time is UTC
   */
  to: string
}
export interface TestWebhookBody {
  event: 'order.created' | 'order.cancelled' | 'order.label_ready' | 'listing.sold'
}
export interface ListOwnDeliveriesQuery {
  endpoint_id?: number | undefined
  status?: ('pending' | 'delivered' | 'failed' | 'skipped') | undefined
  event?: ('order.created' | 'order.cancelled' | 'order.label_ready' | 'listing.sold') | undefined
  /**
   * Only events at or after this ISO 8601 date or time
   */
  from?: string | Date | undefined
  /**
   * Only events at or before this ISO 8601 time; a date means its first second
   */
  to?: string | Date | undefined
  /**
   * Page number, from 1. If records leave the list while you read it, such as pending orders that you ship, read from the last page to the first, and then once more: a record that is new at the beginning of the list moves one to a page that you have read. A page after the last one is empty.
   */
  page?: number | undefined
  /**
   * Number of records per page. Invalid values are adjusted: below 1 to 1, above 100 to 100, text that is not a number to 30.
   */
  per_page?: number | undefined
}
export interface FollowOwnEventsQuery {
  /**
   * Position after which the stream continues
   */
  after?: string | undefined
}
export interface SendOwnSampleEventBody {
  event: 'order.created' | 'order.cancelled' | 'order.label_ready' | 'listing.sold'
}
