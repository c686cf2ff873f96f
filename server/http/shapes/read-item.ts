import Type from 'typebox'
import type { Catalog } from '../../catalog/catalog.ts'
import { type CardCandidate, findHintedCard, findProduct } from '../../catalog/identifiers.ts'
import { centsFromEuros } from '../../cents.ts'
import {
  type Condition,
  GRADED,
  type GradingCompany,
  type Language,
  type Printing,
} from '../../enums.ts'
import { ApiError, type FieldMessages } from '../../errors.ts'
import type { NewListing } from '../../listings/create-listings.ts'
import type { Listable } from '../../listings/listing.ts'
import { refusalOfUrl } from '../../outbound/public-address.ts'
import { messagesOf } from '../validate.ts'
import type { RefusedItem } from './bulk-create.ts'
import {
  cardFields,
  gradedFields,
  itemFields,
  newReference,
  productFields,
} from './listing-item.ts'

/** A valid item. */
type Item = {
  language: Language
  price: number
  quantity: number
  description?: string
  photo_urls?: string[]
  card?: string
  product?: string
  language_hint?: string
  condition?: Condition
  printing?: Printing
  grading_company?: GradingCompany
  grading_grade?: string
  reference?: string
}

const anyFields = { ...itemFields, reference: Type.Optional(newReference) }

// Fields that don't apply are ignored and not validated: a product's condition, the grading of an ungraded card.
const checks = {
  any: messagesOf(Type.Object(anyFields)),
  product: messagesOf(Type.Object({ ...anyFields, ...productFields })),
  card: messagesOf(Type.Object({ ...anyFields, ...cardFields })),
  gradedCard: messagesOf(Type.Object({ ...anyFields, ...cardFields, ...gradedFields })),
}

/** Validates one item of a bulk create (§4.9) and finds its card or product. `given` holds known fields only. */
export function readItem(catalog: Catalog, given: unknown): NewListing | RefusedItem {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return { errors: { item: ['The item must be an object.'] } }
  }
  const item = withoutNulls(given)
  const kind = kindOf(item)
  const errors = { ...checks[kind](item), ...refusedPhotos(item.photo_urls) }
  if (kind === 'any') return { errors: { ...errors, ...ONE_OF_BOTH } }

  const cannotLookUp = errors.card || errors.product || errors.language_hint
  const found = cannotLookUp ? undefined : findListable(catalog, item)
  if (found && 'errors' in found) return { ...found, errors: { ...errors, ...found.errors } }
  if (!found || Object.keys(errors).length > 0) return { errors }
  const graded = kind === 'gradedCard'
  const isCard = kind !== 'product'
  return {
    ...found,
    priceCents: centsFromEuros(item.price),
    quantity: item.quantity,
    condition: (isCard && item.condition) || null,
    language: item.language,
    printing: (isCard && item.printing) || 'standard',
    gradingCompany: (graded && item.grading_company) || null,
    gradingGrade: (graded && item.grading_grade) || null,
    description: item.description || null,
    photoUrls: item.photo_urls ?? [],
    reference: item.reference,
  }
}

/** Refuses URLs by the rules for webhooks (§4.9, §4.16). DNS is checked later, when the photo is fetched. */
function refusedPhotos(urls: unknown): FieldMessages {
  if (!Array.isArray(urls)) return {}
  const refused: FieldMessages = {}
  for (const [index, url] of urls.entries()) {
    const field = `photo_urls.${index}`
    const refusal = typeof url === 'string' && url !== '' && refusalOfUrl(url)
    if (refusal) refused[field] = [`The ${field} field ${refusal}`]
  }
  return refused
}

const NOT_BOTH = 'Send exactly one of card and product.'

/** Messages for an item that names neither a card nor a product, or both. */
export const ONE_OF_BOTH = { card: [NOT_BOTH], product: [NOT_BOTH] }

/** Form-based clients send null for an empty field. */
const withoutNulls = (given: object) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as Item

function kindOf({ card, product, condition }: Item): keyof typeof checks {
  if ((card === undefined) === (product === undefined)) return 'any'
  if (product !== undefined) return 'product'
  return condition === GRADED ? 'gradedCard' : 'card'
}

function findListable(catalog: Catalog, item: Item): Listable | RefusedItem {
  const { card, product } = item
  const field = card === undefined ? 'product' : 'card'
  try {
    return card === undefined
      ? { cardId: null, productSlug: findProduct(catalog, product!).slug }
      : { cardId: findHintedCard(catalog, card, item.language_hint).id, productSlug: null }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const candidates = error.fields?.candidates as CardCandidate[] | undefined
    return { errors: { [field]: [error.message] }, ...(candidates ? { candidates } : {}) }
  }
}
