import Type from 'typebox'
import { PRODUCT_CATEGORIES } from '../../enums.ts'
import { component, Nullable, OneOf } from '../schema.ts'
import { PublicListingSchema } from './public-listing.ts'
import { exampleSet, SetSchema } from './set.ts'

export const ProductSchema = component(
  'SealedProduct',
  Type.Object(
    {
      slug: Type.String(),
      name: Type.String(),
      category: OneOf(PRODUCT_CATEGORIES),
      set: Type.Unsafe<object | null>({
        anyOf: [SetSchema, { type: 'null' }],
        description: 'The set of the product; null if it belongs to none',
      }),
      image_url: Nullable(Type.String()),
      release_date: Nullable(Type.String({ format: 'date' })),
      url: Type.String({ description: 'The product’s public page on the marketplace' }),
      listings: Type.Optional(
        Type.Array(PublicListingSchema, {
          description: 'All active listings, cheapest first. Only with `include=listings`',
        }),
      ),
    },
    { description: 'A sealed product.' },
  ),
)

export const exampleProduct = {
  slug: 'brilliant-stars-booster-box',
  name: 'Brilliant Stars Booster Box',
  category: 'booster_box',
  set: exampleSet,
  image_url: null,
  release_date: '2022-02-25',
  url: 'https://cards.example/products/brilliant-stars-booster-box',
}
