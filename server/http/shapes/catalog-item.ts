import Type, { type Static } from 'typebox'
import { type Catalog, listedCard, listedProduct } from '../../catalog/catalog.ts'
import { cardObject, productObject } from '../../catalog/json.ts'
import type { Listable } from '../../listings/listing.ts'
import { component, Nullable } from '../schema.ts'

export const CatalogItem = component(
  'CatalogItem',
  Type.Object(
    {
      card: Nullable(Type.String(), { description: 'Canonical id' }),
      product: Nullable(Type.String(), { description: 'Slug' }),
      name: Type.String(),
      details: Type.String({ description: 'The set’s name, and for a card its number' }),
      language: Nullable(Type.String()),
      image: Nullable(Type.String()),
    },
    {
      description: 'A card or sealed product, as far as a list of listings shows it.',
    },
  ),
)

export type CatalogItemRecord = Static<typeof CatalogItem>

/** The card or product of a listing; null if the catalog lacks it. */
export function itemOf(
  catalog: Catalog,
  { cardId, productSlug }: Listable,
): CatalogItemRecord | null {
  const card = cardId === null ? undefined : listedCard(catalog, cardId)
  if (card) {
    const { name, number, set } = card
    return {
      card: card.id,
      product: null,
      name,
      details: `${set.name} ${number}`,
      language: set.language,
      image: cardObject(card).image_small,
    }
  }
  const product = productSlug === null ? undefined : listedProduct(catalog, productSlug)
  if (!product) return null
  const { slug, name, category, set } = product
  return {
    card: null,
    product: slug,
    name,
    details: set?.name ?? category.replaceAll('_', ' '),
    language: set?.language ?? null,
    image: productObject(product).image_url,
  }
}
