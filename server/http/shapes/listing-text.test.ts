import { beforeAll, expect, it } from 'vitest'
import { randomNumbers } from '../../../scripts/random.ts'
import {
  CONDITIONS,
  GRADES,
  GRADING_COMPANIES,
  LANGUAGES,
  LISTING_STATUSES,
  PRINTINGS,
  SELLER_TIERS,
} from '../../enums.ts'
import type { Listing } from '../../listings/listing.ts'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { listingJson } from './listing.ts'
import { listingWriter } from './listing-text.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture' })
})

const next = randomNumbers(1)
const random = (below: number) => Math.floor(next() * below)
const pick = <T>(values: readonly T[]): T => values[random(values.length)]!

const TEXTS = [
  null,
  '',
  'Mint',
  'é',
  'ピカチュウ 🃏',
  'a "b" \\ \n \u0001 \u2028',
  '","quantity":0',
]

function randomListing(): Listing {
  const catalog = app.ctx.catalog.current
  const condition = pick([null, ...CONDITIONS])
  return {
    ...(random(3) === 0
      ? { cardId: null, productSlug: pick([...catalog.products.map(({ slug }) => slug), 'gone']) }
      : { cardId: pick([...catalog.cards.map(({ id }) => id), 'gone']), productSlug: null }),
    id: pick([1, random(1e9), 2 ** 53 - 1]),
    priceCents: pick([1, 10, 450, 9_999_999, random(1e6)]),
    quantity: random(1000),
    reserved: random(10),
    condition,
    language: pick(LANGUAGES),
    printing: pick(PRINTINGS),
    gradingCompany: condition === 'G' ? pick(GRADING_COMPANIES) : null,
    gradingGrade: condition === 'G' ? pick(GRADES) : null,
    description: pick(TEXTS),
    photos: pick([[], ['a'], ['bU3mJ0Kc2rQe9XnYw1sZ5A', 'b']]),
    status: pick(LISTING_STATUSES),
    createdAt: new Date(1.7e12 + random(1e11)),
    updatedAt: new Date(1.7e12 + random(1e11)),
  } as Listing
}

it('the text of a listing has the bytes of its JSON', () => {
  const { ctx } = app
  const write = listingWriter(ctx.config)
  const sellers = TEXTS.slice(1).map((shopName, id) => ({
    id,
    shopName: shopName!,
    slug: `shop-${id}`,
    sellerTier: pick(SELLER_TIERS),
    rating: pick([null, 4.9]),
    reviews: random(3),
  }))
  for (let i = 0; i < 3_000; i++) {
    const listing = randomListing()
    const seller = pick(sellers)
    const json = JSON.stringify(listingJson(listing, seller, ctx.catalog.current, ctx.config))
    const text = write(listing, seller, ctx.catalog.current)
    expect(Buffer.from(text, 'latin1').toString()).toBe(json)
  }
})
