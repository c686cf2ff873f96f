import { ambiguousIdentifier, notFound } from '../errors.ts'
import { type Catalog, listedCard } from './catalog.ts'
import type { CardEntry, ProductEntry, SetEntry } from './entries.ts'

/** Filters that narrow an ambiguous identifier (§2.1). */
export type Narrowing = { language?: string | undefined; region?: string | undefined }

/** The names of the parameters that narrow an identifier in an operation. */
type Parameters = { language?: string; region?: string }

const BOTH: Parameters = { language: 'language', region: 'region' }
const HINT: Parameters = { language: 'language_hint' }

/**
 * Finds the set of an identifier (§4.3), a canonical id or a shortcut, by the rules of `candidatesFor`.
 *
 * @throws not_found, or ambiguous_identifier with the narrowed candidates
 */
export function findSet(catalog: Catalog, identifier: string, narrowing: Narrowing): SetEntry {
  return findSetForFilter(catalog, identifier, narrowing) ?? noneLeft('sets', identifier, narrowing)
}

/**
 * Finds the set of a `set` filter (§4.4). Undefined if narrowing excludes all of several sets: the result is then an
 * empty page, not an error.
 *
 * @param narrowing undefined if the operation has no such parameters
 * @throws not_found if the filter matches no set at all, or ambiguous_identifier
 */
export function findSetForFilter(
  catalog: Catalog,
  identifier: string,
  narrowing?: Narrowing,
): SetEntry | undefined {
  requireSet(catalog, identifier)
  const canonical = catalog.setsById.get(identifier)
  const sharing = catalog.setsByShortcut.get(identifier) ?? []
  const candidates = candidatesFor(canonical, sharing, narrowing ?? {}, (set) => set)
  if (candidates.length > 1) {
    throw ambiguousIdentifier(
      `The shortcut "${identifier}" means ${candidates.length} sets. ${remedy(candidates, narrowing && BOTH)}`,
      candidates.map(setCandidate),
    )
  }
  return candidates[0]
}

/**
 * Finds the card of an identifier (§4.5), a canonical id or `{shortcut}_{number}`, by the rules of `candidatesFor`.
 *
 * @param narrowing undefined if the operation has no such parameters
 * @throws not_found, or ambiguous_identifier with the narrowed candidates
 */
export function findCard(catalog: Catalog, identifier: string, narrowing?: Narrowing): CardEntry {
  return theOnlyCard(catalog, identifier, narrowing ?? {}, narrowing && BOTH)
}

/**
 * Finds the card of an item of a bulk create (§4.9), narrowed by the language of its set like `findCard`.
 *
 * @throws not_found, or ambiguous_identifier with the narrowed candidates
 */
export function findHintedCard(
  catalog: Catalog,
  identifier: string,
  language: string | undefined,
): CardEntry {
  return theOnlyCard(catalog, identifier, { language }, HINT)
}

/**
 * The canonical ids of all cards that an identifier means, hidden ones included, without narrowing. An unknown identifier
 * is returned itself.
 */
export function cardIdsOf(catalog: Catalog, identifier: string): string[] {
  if (listedCard(catalog, identifier)) return [identifier]
  const sharing = [
    ...(catalog.cardsByFriendlyId.get(identifier) ?? []),
    ...catalog.hidden.cardsById.values().filter(({ friendlyId }) => friendlyId === identifier),
  ]
  return sharing.length > 0 ? sharing.map(({ id }) => id) : [identifier]
}

/** Checks that an identifier matches a set, without narrowing. @throws not_found */
export function requireSet(catalog: Catalog, identifier: string): void {
  if (!catalog.setsById.has(identifier) && !catalog.setsByShortcut.has(identifier)) {
    setNotFound(identifier)
  }
}

/** Checks that an identifier matches a card, without narrowing. @throws not_found */
export function requireCard(catalog: Catalog, identifier: string): void {
  if (!catalog.cardsById.has(identifier) && !catalog.cardsByFriendlyId.has(identifier)) {
    cardNotFound(identifier)
  }
}

/** Finds the sealed product of a slug. @throws not_found */
export function findProduct(catalog: Catalog, slug: string): ProductEntry {
  return (
    catalog.productsBySlug.get(slug) ?? refuse(notFound(`There is no sealed product "${slug}".`))
  )
}

/** Whether a set matches the `language` and `region` filters exactly. */
export const matchesFilters = (set: SetEntry, { language, region }: Narrowing) =>
  (language === undefined || set.language === language) &&
  (region === undefined || set.region === region)

/**
 * The candidates for an identifier (§2.1). The record with that canonical id wins, unless `language` or `region`
 * excludes it and exactly one record with that shortcut or friendly id matches: the shortcuts of several real sets are
 * canonical ids of other sets. Several records with the same shortcut or friendly id are narrowed; a single one is not.
 */
function candidatesFor<T>(
  canonical: T | undefined,
  sharing: T[],
  narrowing: Narrowing,
  setOf: (record: T) => SetEntry,
): T[] {
  if (canonical && matchesFilters(setOf(canonical), narrowing)) return [canonical]
  if (!canonical && sharing.length === 1) return sharing
  const matching = sharing.filter((record) => matchesFilters(setOf(record), narrowing))
  return canonical && matching.length !== 1 ? [canonical] : matching
}

/** Compares whole friendly ids. A shortcut contains no underscore, so this equals splitting at the first one. */
function theOnlyCard(
  catalog: Catalog,
  identifier: string,
  narrowing: Narrowing,
  parameters: Parameters | undefined,
): CardEntry {
  const canonical = catalog.cardsById.get(identifier)
  // The first rule of candidatesFor, because nearly all requests need no other.
  if (canonical && matchesFilters(canonical.set, narrowing)) return canonical
  const sharing = catalog.cardsByFriendlyId.get(identifier)
  if (!canonical && !sharing) cardNotFound(identifier)
  const candidates = candidatesFor(canonical, sharing ?? [], narrowing, ({ set }) => set)
  if (candidates.length > 1) {
    const sets = candidates.map(({ set }) => set)
    throw ambiguousIdentifier(
      `The identifier "${identifier}" means ${candidates.length} cards. ${remedy(sets, parameters)}`,
      candidates.map(cardCandidate),
    )
  }
  return candidates[0] ?? noneLeft('cards', identifier, narrowing)
}

/** Names the parameters in which the candidates differ, because only these narrow the identifier further. */
function remedy(sets: SetEntry[], parameters: Parameters = {}): string {
  const helpful = (['language', 'region'] as const)
    .filter((field) => new Set(sets.map((set) => set[field])).size > 1)
    .flatMap((field) => parameters[field] ?? [])
  if (helpful.length === 0) return 'Use a canonical id.'
  return `Narrow it with ${helpful.join(' or ')}, or use a canonical id.`
}

export type SetCandidate = ReturnType<typeof setCandidate>
export type CardCandidate = ReturnType<typeof cardCandidate>

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

/** Names the requested language and region, because the identifier itself is correct. */
function noneLeft(records: 'cards' | 'sets', identifier: string, narrowing: Narrowing): never {
  const { language, region } = narrowing
  const requested = [
    ...(language === undefined ? [] : [`the language "${language}"`]),
    ...(region === undefined ? [] : [`the region "${region}"`]),
  ].join(' and ')
  return refuse(notFound(`None of the ${records} that "${identifier}" means has ${requested}.`))
}

function refuse(error: Error): never {
  throw error
}
