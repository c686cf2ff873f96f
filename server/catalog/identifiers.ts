import { ambiguousIdentifier, notFound } from '../errors.ts'
import type { Catalog } from './catalog.ts'
import type { CardEntry, ProductEntry, SetEntry } from './entries.ts'

/** What narrows an ambiguous identifier (§2.1). */
export type Narrowing = { language?: string | undefined; region?: string | undefined }

/**
 * The one set that an identifier means (§4.3): a canonical id or a shortcut, by the rules of `meant`.
 *
 * @throws not_found, or ambiguous_identifier with the narrowed candidates
 */
export function findSet(catalog: Catalog, identifier: string, narrowing: Narrowing): SetEntry {
  return theOnlySet(catalog, identifier, narrowing) ?? noneLeft('sets', identifier, narrowing)
}

/**
 * The set that a `set` filter means (§4.4), or undefined when narrowing leaves none of several: the result is then an
 * empty page, not an error.
 *
 * @throws not_found when the filter matches no set at all, or ambiguous_identifier
 */
export function findSetForFilter(
  catalog: Catalog,
  identifier: string,
  narrowing: Narrowing,
): SetEntry | undefined {
  return theOnlySet(catalog, identifier, narrowing)
}

/**
 * The one card that an identifier means (§4.5): a canonical id or `{shortcut}_{number}`, by the rules of `meant`.
 *
 * @throws not_found, or ambiguous_identifier with the narrowed candidates
 */
export function findCard(catalog: Catalog, identifier: string, narrowing: Narrowing): CardEntry {
  const advice = 'Narrow it with language or region where these are offered, or use'
  return theOnlyCard(catalog, identifier, narrowing, () => advice)
}

/**
 * The one card that an item of a bulk create means (§4.9), narrowed by the language of its set like `findCard`.
 *
 * @throws not_found, or ambiguous_identifier with the narrowed candidates
 */
export function findHintedCard(
  catalog: Catalog,
  identifier: string,
  language: string | undefined,
): CardEntry {
  return theOnlyCard(catalog, identifier, { language }, (candidates) => {
    const languages = new Set(candidates.map(({ set }) => set.language))
    return languages.size > 1 ? 'Narrow it with language_hint, or use' : 'Use'
  })
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

/**
 * The records that an identifier means (§2.1). The record with that canonical id wins, unless `language` or `region`
 * rules it out and exactly one record with that shortcut or friendly id fits: several real sets have a shortcut that is
 * the canonical id of another set. Several records that share a shortcut or friendly id are narrowed; a single one is not.
 */
function meant<T>(
  canonical: T | undefined,
  sharing: T[],
  narrowing: Narrowing,
  setOf: (record: T) => SetEntry,
): T[] {
  if (canonical && fits(setOf(canonical), narrowing)) return [canonical]
  if (!canonical && sharing.length === 1) return sharing
  const fitting = sharing.filter((record) => fits(setOf(record), narrowing))
  return canonical && fitting.length !== 1 ? [canonical] : fitting
}

/** Undefined when narrowing leaves none. @throws not_found, ambiguous_identifier */
function theOnlySet(
  catalog: Catalog,
  identifier: string,
  narrowing: Narrowing,
): SetEntry | undefined {
  requireSet(catalog, identifier)
  const canonical = catalog.setsById.get(identifier)
  const sharing = catalog.setsByShortcut.get(identifier) ?? []
  const candidates = meant(canonical, sharing, narrowing, (set) => set)
  if (candidates.length > 1) {
    throw ambiguousIdentifier(
      `The shortcut "${identifier}" means ${candidates.length} sets. Narrow it with language or region where these are offered, or use a canonical id.`,
      candidates.map(setCandidate),
    )
  }
  return candidates[0]
}

/** Friendly ids are compared whole: a shortcut contains no underscore, so that equals splitting at the first one. */
function theOnlyCard(
  catalog: Catalog,
  identifier: string,
  narrowing: Narrowing,
  advice: (candidates: CardEntry[]) => string,
): CardEntry {
  requireCard(catalog, identifier)
  const canonical = catalog.cardsById.get(identifier)
  const sharing = catalog.cardsByFriendlyId.get(identifier) ?? []
  const candidates = meant(canonical, sharing, narrowing, ({ set }) => set)
  if (candidates.length > 1) {
    throw ambiguousIdentifier(
      `The identifier "${identifier}" means ${candidates.length} cards. ${advice(candidates)} a canonical id.`,
      candidates.map(cardCandidate),
    )
  }
  return candidates[0] ?? noneLeft('cards', identifier, narrowing)
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

/** Names the language and region that were requested: the identifier itself is right. */
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
