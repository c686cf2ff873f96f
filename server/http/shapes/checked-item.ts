import Type, { type Static } from 'typebox'
import type { Catalog } from '../../catalog/catalog.ts'
import { component } from '../schema.ts'
import {
  bulkCreateOf,
  candidates,
  exampleOwnItems,
  exampleRefusedItem,
  isAccepted,
} from './bulk-create.ts'
import { CatalogItem, itemOf } from './catalog-item.ts'
import { OwnListingItem } from './listing-item.ts'
import { readItem } from './read-item.ts'

/** Items that one call checks: below the limit of values in a body, with every field and one photo. */
export const MAX_CHECKED = 500

export const ItemsToCheck = bulkCreateOf(OwnListingItem, exampleOwnItems, MAX_CHECKED)

export const CheckedItem = component(
  'CheckedItem',
  Type.Object(
    {
      errors: Type.Optional(
        Type.Record(Type.String(), Type.Array(Type.String()), {
          description: 'Messages by field name. Only if the item would fail',
        }),
      ),
      candidates,
      item: Type.Optional(CatalogItem),
    },
    { description: 'The outcome that a bulk create would have for an item.' },
  ),
)

export type CheckedItemRecord = Static<typeof CheckedItem>

/** Checks items as a bulk create does before it writes. References are compared with other listings only there. */
export const checkItems = (catalog: Catalog, items: unknown[]): CheckedItemRecord[] =>
  items.map((given) => {
    const item = readItem(catalog, given)
    return isAccepted(item) ? { item: itemOf(catalog, item)! } : item
  })

export const exampleCheckedItems: CheckedItemRecord[] = [
  {
    item: {
      card: 'swsh9-18',
      product: null,
      name: 'Charizard VSTAR',
      details: 'Brilliant Stars 18',
      language: 'EN',
      image: 'https://images.pokemontcg.io/swsh9/18.png',
    },
  },
  exampleRefusedItem,
  {
    item: {
      card: null,
      product: 'brilliant-stars-booster-box',
      name: 'Brilliant Stars Booster Box',
      details: 'Brilliant Stars',
      language: 'EN',
      image: null,
    },
  },
]
