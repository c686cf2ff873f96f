import { ambiguousIdentifier, notFound } from '../errors.ts'
import type { Catalog } from './catalog.ts'
import type { CardEntry, ProductEntry, SetEntry } from './entries.ts'

/** What narrows an ambiguous identifier (§2.1). */
export type Narrowing = { language?: string | undefined; region?: string | undefined }

/**
 * The one set an identifier means (§4.3): the whole string as a canonical id, which ignores the narrowing, else a shortcut.
 *
 * @throws not_found, or ambiguous_identifier with the narrowed candidates
 */
export function findSet(catalog: Catalog, identifier: string, narrowing: Narrowing): SetEntry {
  const canonical = catalog.setsById.get(identifier)
  if (canonical) return canonical
  const sharing = catalog.setsByShortcut.get(identifier) ?? []
  return theOnlySet(identifier, narrowed(sharing, narrowing)) ?? setNotFound(identifier)
}

/**
 * The set that a `set` filter means (§4.4), or none when narrowing leaves none: an empty page, not an error.
 *
 * @throws not_found when the filter matches no set at all, or ambiguous_identifier
 */
export function findSetForFilter(
  catalog: Catalog,
  identifier: string,
  narrowing: Narrowing,
): SetEntry | undefined {
  const canonical = catalog.setsById.get(identifier)
  const sharing = canonical ? [canonical] : (catalog.setsByShortcut.get(identifier) ?? [])
  if (sharing.length === 0) setNotFound(identifier)
  return theOnlySet(identifier, narrowed(sharing, narrowing))
}

/**
 * The one card an identifier means (§4.5): the whole string as a canonical id, which ignores the narrowing, else
 * `{shortcut}_{number}`.
 *
 * @throws not_found, or ambiguous_identifier with the narrowed candidates
 */
export function findCard(catalog: Catalog, identifier: string, narrowing: Narrowing): CardEntry {
  const canonical = catalog.cardsById.get(identifier)
  if (canonical) return canonical
  const sharing = catalog.cardsByFriendlyId.get(identifier) ?? []
  const candidates = sharing.filter((card) => fits(card.set, narrowing))
  return theOnlyCard(
    identifier,
    candidates,
    'Narrow it with language or region where these are offered, or use',
  )
}

/**
 * The one card an identifier means, where a hint at the language of its set may decide between several (§4.9). It
 * never rules out the one card there is.
 *
 * @throws not_found, or ambiguous_identifier with the candidates in that language, or all where it has none
 */
export function findHintedCard(
  catalog: Catalog,
  identifier: string,
  languageHint: string | undefined,
): CardEntry {
  const canonical = catalog.cardsById.get(identifier)
  if (canonical) return canonical
  const sharing = catalog.cardsByFriendlyId.get(identifier) ?? []
  const hinted = sharing.filter(({ set }) => set.language === languageHint)
  const candidates = hinted.length > 0 ? hinted : sharing
  const languages = new Set(candidates.map(({ set }) => set.language))
  const advice = languages.size > 1 ? 'Narrow it with language_hint, or use' : 'Use'
  return theOnlyCard(identifier, candidates, advice)
}

/** Refuses an identifier that means no set, however it's narrowed. @throws not_found */
export function requireSet(catalog: Catalog, identifier: string): void {
  if (!catalog.setsById.has(identifier) && !catalog.setsByShortcut.has(identifier)) {
    setNotFound(identifier)
  }
}

/** Refuses an identifier that means no card, however it's narrowed. @throws not_found */
export function requireCard(catalog: Catalog, identifier: string): void {
  if (!catalog.cardsById.has(identifier) && !catalog.cardsByFriendlyId.has(identifier)) {
    cardNotFound(identifier)
  }
}

/** @throws not_found */
export function findProduct(catalog: Catalog, slug: string): ProductEntry {
  return (
    catalog.productsBySlug.get(slug) ?? refuse(notFound(`There is no sealed product "${slug}".`))
  )
}

/** Whether a set passes the `language` and `region` filters; both are exact. */
export const fits = (set: SetEntry, { language, region }: Narrowing) =>
  (language === undefined || set.language === language) &&
  (region === undefined || set.region === region)

const narrowed = (sets: SetEntry[], narrowing: Narrowing) =>
  sets.filter((set) => fits(set, narrowing))

/** A shortcut has no underscore: comparing whole friendly ids was splitting them at the first one. */
function theOnlyCard(identifier: string, candidates: CardEntry[], advice: string): CardEntry {
  if (candidates.length > 1) {
    throw ambiguousIdentifier(
      `The identifier "${identifier}" means ${candidates.length} cards. ${advice} a canonical id.`,
      candidates.map(cardCandidate),
    )
  }
  return candidates[0] ?? cardNotFound(identifier)
}

function theOnlySet(identifier: string, candidates: SetEntry[]): SetEntry | undefined {
  if (candidates.length > 1) {
    throw ambiguousIdentifier(
      `The shortcut "${identifier}" means ${candidates.length} sets. Narrow it with language or region where these are offered, or use a canonical id.`,
      candidates.map(setCandidate),
    )
  }
  return candidates[0]
}

const setCandidate = ({ id, shortcut, name, series, language, region }: SetEntry) => ({
  id,
  shortcut,
  name,
  series,
  language,
  region,
})

const cardCandidate = ({ id, name, number, set }: CardEntry) => ({
  id,
  name,
  number,
  set: set.name,
  language: set.language,
  region: set.region,
})

const cardNotFound = (identifier: string) => refuse(notFound(`There is no card "${identifier}".`))

const setNotFound = (identifier: string) => refuse(notFound(`There is no set "${identifier}".`))

function refuse(error: Error): never {
  throw error
}
