import Type from 'typebox'
import { LANGUAGES } from '../../enums.ts'
import { component, Nullable, OneOf } from '../schema.ts'

export const setFields = {
  id: Type.String({ description: 'Canonical id; always resolves' }),
  shortcut: Nullable(Type.String(), {
    description:
      'Friendly id in lower case, null for sets that have none. Languages and regions can share one.',
  }),
  name: Type.String(),
  series: Type.String({ description: 'Name of the series' }),
  language: OneOf(LANGUAGES, { description: 'Language code' }),
  region: Type.String({ description: 'Region code in lower case' }),
  release_date: Nullable(Type.String({ format: 'date' })),
  total_cards: Nullable(Type.Integer(), { description: 'Including secret rares' }),
  printed_total: Nullable(Type.Integer(), { description: 'The count printed on the cards' }),
  logo_url: Nullable(Type.String()),
  symbol_url: Nullable(Type.String()),
  cards_count: Type.Integer({ description: 'Cards of this set in the catalog' }),
  products_count: Type.Integer({ description: 'Sealed products of this set in the catalog' }),
}

export const SetSchema = component(
  'Set',
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
