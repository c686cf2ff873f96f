import Type from 'typebox'
import { component } from '../schema.ts'
import { CardSchema } from './card.ts'
import { ProductSchema } from './product.ts'
import { setFields } from './set.ts'

export const SetDetailSchema = component(
  'SetDetail',
  Type.Object(
    {
      ...setFields,
      cards: Type.Optional(
        Type.Array(CardSchema, {
          description: 'The set’s cards by number. Only with `include=cards`',
        }),
      ),
      products: Type.Optional(
        Type.Array(ProductSchema, {
          description: 'The set’s sealed products. Only with `include=products`',
        }),
      ),
    },
    { description: 'A set, with its cards and sealed products on request.' },
  ),
)
