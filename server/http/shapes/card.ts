import Type from 'typebox'
import { component, Nullable } from '../schema.ts'
import { PublicListingSchema } from './public-listing.ts'
import { exampleSet, SetSchema } from './set.ts'

export const CardSchema = component(
  'Card',
  Type.Object(
    {
      id: Type.String({ description: 'Canonical id. Always resolves to this card' }),
      friendly_id: Nullable(Type.String(), {
        description: '`{shortcut}_{number}`; null if the set has no shortcut',
      }),
      name: Type.String(),
      number: Type.String({ description: 'Collector number. Not always digits: TG12' }),
      rarity: Nullable(Type.String()),
      supertype: Nullable(Type.String(), { description: 'Pokemon, Trainer or Energy' }),
      hp: Nullable(Type.String(), { description: 'Hit points as printed' }),
      types: Type.Unsafe<string[] | null>({
        type: ['array', 'null'],
        items: { type: 'string' },
        description: 'null for cards without types, such as Trainer cards',
      }),
      image_small: Nullable(Type.String()),
      image_large: Nullable(Type.String()),
      url: Type.String({ description: 'The card’s public page on the marketplace' }),
      set: SetSchema,
      listings: Type.Optional(
        Type.Array(PublicListingSchema, {
          description: 'All active listings, cheapest first. Only with `include=listings`',
        }),
      ),
    },
    { description: 'A card. Its language is that of its set.' },
  ),
)

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
