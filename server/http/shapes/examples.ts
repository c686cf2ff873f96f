import { SAMPLE_ADDRESS } from '../../sandbox/sample-events.ts'

/** Real records of the bundled catalog, for the published descriptions. */

export const exampleSet = {
  id: 'swsh9',
  shortcut: 'brs',
  name: 'Brilliant Stars',
  series: 'Sword & Shield',
  language: 'EN',
  region: 'int',
  release_date: '2022-02-25',
  total_cards: 186,
  printed_total: 172,
  logo_url: 'https://images.pokemontcg.io/swsh9/logo.png',
  symbol_url: 'https://images.pokemontcg.io/swsh9/symbol.png',
  cards_count: 186,
  products_count: 8,
}

export const exampleCard = {
  id: 'swsh9-18',
  friendly_id: 'brs_18',
  name: 'Charizard VSTAR',
  number: '18',
  rarity: 'Rare Holo VSTAR',
  supertype: 'Pokemon',
  hp: '280',
  types: ['Fire'],
  image_small: 'https://images.pokemontcg.io/swsh9/18.png',
  image_large: 'https://images.pokemontcg.io/swsh9/18_hires.png',
  url: 'https://cards.example/cards/swsh9-18',
  set: exampleSet,
}

export const exampleProduct = {
  slug: 'brilliant-stars-booster-box',
  name: 'Brilliant Stars Booster Box',
  category: 'booster_box',
  set: exampleSet,
  image_url: null,
  release_date: '2022-02-25',
  url: 'https://cards.example/products/brilliant-stars-booster-box',
}

export const exampleListing = {
  id: 1204,
  price: 4.5,
  currency: 'EUR',
  condition: 'NM',
  language: 'EN',
  printing: 'holo',
  graded: null,
  quantity_available: 2,
  description: 'Straight from the booster into a sleeve',
  photos: ['https://cards.example/photos/bU3mJ0Kc2rQe9XnYw1sZ5A-thumb.jpg'],
  seller: {
    name: 'Demo Cards',
    slug: 'demo-cards',
    url: 'https://cards.example/shops/demo-cards',
    tier: 'Gold',
    rating: 4.9,
    reviews: 312,
  },
  status: 'active',
  quantity: 3,
  listable: {
    type: 'card',
    id: 'swsh9-18',
    friendly_id: 'brs_18',
    name: 'Charizard VSTAR',
    number: '18',
    set: 'brs',
  },
  created_at: '2026-03-01T09:30:00Z',
  updated_at: '2026-03-02T18:05:12Z',
}

export const exampleOrder = {
  id: 501,
  slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
  checkout_id: 77,
  status: 'shipped',
  quantity: 2,
  price: 4.5,
  currency: 'EUR',
  item: {
    name: 'Charizard VSTAR',
    subtitle: 'Brilliant Stars 18',
    image: 'https://images.pokemontcg.io/swsh9/18.png',
    condition: 'NM',
    language: 'EN',
    type: 'card',
    id: 'swsh9-18',
    friendly_id: 'brs_18',
  },
  listing_id: 1204,
  tracking: {
    code: '3SABCD1234567',
    url: null,
    status: null,
    updated_at: '2026-03-02T18:05:12Z',
    fulfilment: 'self_ship',
  },
  financial: { seller_net: 8.64, seller_fee: 0.36, commission: 0.36, refunded_amount: 0 },
  buyer: { name: 'Ash Ketchum' },
  created_at: '2026-03-01T09:30:00Z',
  shipped_at: '2026-03-02T18:05:12Z',
  received_at: null,
  cancelled_at: null,
  disputed_at: null,
}

export const exampleSlice = {
  slice_key: exampleOrder.slice_key,
  orders: [exampleOrder],
  buyer: {
    name: 'Ash Ketchum',
    address: SAMPLE_ADDRESS,
  },
  totals: { merchandise: 9, shipping: 6.95, seller_net: 15.59, currency: 'EUR' },
  shipping: {
    method: 'Tracked parcel',
    price: 6.95,
    paid_to: 'seller',
    seller_share: 6.95,
    provider: null,
    has_label: false,
    tracking_code: '3SABCD1234567',
    tracking_status: null,
    label_url: null,
    expires_at: null,
  },
}

/** The label of another slice, which ships by the platform. */
export const exampleLabel = {
  status: 'ready',
  label_url:
    'https://cards.example/labels/Zk0oY3n8vQ2mT7dR1sWxLA.pdf?expires=1772789400&nonce=4Jm0KQ8yVn3xXo2bT5sWgA&signature=3f9Xk2LqzVw0aBcDeFgHiJkLmNoPqRsTuVwXyZ01234',
  expires_at: '2026-03-06T09:30:00Z',
  message: null,
  tracking_code: '3SABCD1234567',
  tracking_url: 'https://carrier.example/track/3SABCD1234567',
  provider: 'sendcloud',
  shipped_lines: 1,
  order: {
    ...exampleSlice,
    orders: [
      {
        ...exampleOrder,
        status: 'pending',
        shipped_at: null,
        tracking: { ...exampleOrder.tracking, fulfilment: 'platform' },
      },
    ],
    totals: { ...exampleSlice.totals, seller_net: 8.64 },
    shipping: {
      ...exampleSlice.shipping,
      paid_to: 'platform',
      seller_share: 0,
      provider: 'sendcloud',
      has_label: true,
      label_url:
        'https://cards.example/labels/Zk0oY3n8vQ2mT7dR1sWxLA.pdf?expires=1772789400&nonce=4Jm0KQ8yVn3xXo2bT5sWgA&signature=3f9Xk2LqzVw0aBcDeFgHiJkLmNoPqRsTuVwXyZ01234',
      expires_at: '2026-03-06T09:30:00Z',
    },
  },
}

/** A card, a graded card and a sealed product. */
export const bulkRequestExample = {
  items: [
    {
      card: 'swsh9-18',
      condition: 'NM',
      language: 'EN',
      printing: 'holo',
      price: 4.5,
      quantity: 3,
      description: 'Straight from the booster into a sleeve',
    },
    {
      card: 'cel25c-15_A1',
      condition: 'G',
      grading_company: 'PSA',
      grading_grade: '9.5',
      language: 'EN',
      price: 120,
      quantity: 1,
    },
    { product: 'brilliant-stars-booster-box', language: 'EN', price: 159.95, quantity: 2 },
  ],
}

/** One item that was listed, and one whose friendly id means two cards. */
export const bulkExample = {
  results: [
    {
      status: 'created',
      index: 0,
      listing: { id: 1204, price: 4.5, currency: 'EUR', quantity: 3, status: 'active' },
    },
    {
      status: 'failed',
      index: 1,
      errors: {
        card: ['The identifier "cel_15" means 2 cards. Use a canonical id.'],
      },
      candidates: [
        {
          id: 'cel25-15',
          name: 'Lunala',
          number: '15',
          set: 'Celebrations',
          language: 'EN',
          region: 'int',
        },
        {
          id: 'cel25c-15_A1',
          name: 'Venusaur',
          number: '15',
          set: 'Celebrations: Classic Collection',
          language: 'EN',
          region: 'int',
        },
      ],
    },
  ],
  created: 1,
  failed: 1,
}

/** A list that these records fill, as its first and only page. */
export function pageExample(path: string, data: object[]) {
  const address = `https://cards.example/v1/${path}`
  return {
    data,
    links: { first: `${address}?page=1`, last: `${address}?page=1`, prev: null, next: null },
    meta: {
      current_page: 1,
      from: 1,
      last_page: 1,
      path: address,
      per_page: 30,
      to: data.length,
      total: data.length,
    },
  }
}
