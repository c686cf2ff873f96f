import Type from 'typebox'
import { LANGUAGES } from '../../enums.ts'
import { component, Nullable, OneOf } from '../schema.ts'

export const setFields = {
  id: Type.String({ description: 'Canonical id. Always resolves to this set' }),
  shortcut: Nullable(Type.String(), {
    description:
      'Friendly id in lower case; null if the set has none. Sets of several languages and regions can share a shortcut.',
  }),
  name: Type.String(),
  series: Type.String({ description: 'Name of the series' }),
  language: OneOf(LANGUAGES, { description: 'Language code' }),
  region: Type.String({ description: 'Region code in lower case' }),
  release_date: Nullable(Type.String({ format: 'date' })),
  total_cards: Nullable(Type.Integer(), { description: 'Number of cards, including secret rares' }),
  printed_total: Nullable(Type.Integer(), {
    description: 'Number of cards as printed on the cards',
  }),
  logo_url: Nullable(Type.String()),
  symbol_url: Nullable(Type.String()),
  cards_count: Type.Integer({ description: 'Number of this set’s cards in the catalog' }),
  products_count: Type.Integer({
    description: 'Number of this set’s sealed products in the catalog',
  }),
}

export const SetSchema = component(
  'CardSet',
  Type.Object(setFields, { description: 'A set of cards in one language.' }),
)

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
