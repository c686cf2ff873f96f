import { CONDITION_NAMES, GRADED, htmlLanguage } from '../../../enums.ts'
import type { Offer } from '../../../listings/offers.ts'
import { formatEuros, formatLongDate, groupDigits, languageName } from '../../../text/formats.ts'
import { type Html, html } from '../../html.ts'

/** Parts that several pages share. */

/** Width and height of a card's picture in CSS pixels: the ratio of a real card. */
const CARD_SIZE = { small: [245, 342], large: [490, 684] } as const

export const count = (value: number, one: string, many = `${one}s`) =>
  `${groupDigits(value)} ${value === 1 ? one : many}`
/** @param date YYYY-MM-DD */
export const day = (date: string) => formatLongDate(new Date(`${date}T00:00:00Z`))

/** The English name of a language of §2.9. */
export const languageOf = (code: string) => languageName(htmlLanguage(code))

type Edition = { language: string; region: string }

/**
 * The attribute of a name that has the language of its set: it selects the glyphs, which differ between Japanese and Chinese,
 * and the voice of a screen reader. English is the language of the pages.
 */
export const langOf = ({ language, region }: Edition): Html | false => {
  if (language === 'EN') return false
  const code = htmlLanguage(language)
  return html` lang="${code === 'zh' ? `zh-${region.toUpperCase()}` : code}"`
}

/** The language of a set, and its region if it is not the usual one: `Chinese TW`. */
export const editionOf = ({ language, region }: Edition) => {
  const isUsual = region === 'int' || region === language.toLowerCase()
  return isUsual ? languageOf(language) : `${languageOf(language)} ${region.toUpperCase()}`
}

/** The name of a set or product with its language, because editions can share a name. English is left out. */
export const withEdition = (name: string, set: Edition | null) =>
  set === null || set.language === 'EN' ? name : `${name} (${editionOf(set)})`

/** `withEdition` with the language of the name itself, which its addition doesn't have. */
export function nameOfEdition(name: string, set: Edition | null): Html {
  const lang = set !== null && langOf(set)
  return lang ? html`<span${lang}>${name}</span> (${editionOf(set)})` : html`${name}`
}

/** A rarity in words. Some sources write `DoubleRare`. */
export const rarityOf = (rarity: string) => rarity.replace(/(?<=[a-z])(?=[A-Z])/g, ' ')

/**
 * A card's picture, or its name where there is none. A screen reader reads the name next to it, and no name of a small
 * picture: each name of a list would be read twice.
 */
export function picture(
  name: string,
  url: string | null,
  { size = 'small', edition }: { size?: keyof typeof CARD_SIZE; edition?: Edition } = {},
): Html {
  const [width, height] = CARD_SIZE[size]
  const lang = edition && langOf(edition)
  if (url === null) {
    return html`<span class="picture none" aria-hidden="true"${lang}>${name}</span>`
  }
  const isSmall = size === 'small'
  const loading = isSmall ? 'lazy' : 'eager'
  return html`<img class="picture" src="${url}" alt="${name}"${isSmall ? html` aria-hidden="true"` : lang} width="${width}" height="${height}" loading="${loading}" decoding="async">`
}

/** One tile of a grid: a link with a picture, a name and details. */
export const tile = (to: {
  href: string
  name: string
  image: string | null
  details: string
  /** The set whose language the name has, if it has no other parts. */
  edition?: Edition
  lowestCents: number | undefined
}) =>
  html`<li><a class="tile" href="${to.href}">${picture(to.name, to.image, to.edition && { edition: to.edition })}<strong${to.edition && langOf(to.edition)}>${to.name}</strong><span>${to.details}</span>${to.lowestCents !== undefined && html`<span class="from">from ${formatEuros(to.lowestCents)}</span>`}</a></li>
`

/** A grid of tiles. Safari's screen reader says that a list without markers is a list only if it has the role. */
export const grid = (tiles: Html[]) => html`<ul class="grid" role="list">
${tiles}</ul>`

export const conditionOf = (
  offer: Pick<Offer, 'condition' | 'gradingCompany' | 'gradingGrade'>,
) => {
  if (offer.condition === null) return 'Sealed'
  if (offer.condition !== GRADED) return CONDITION_NAMES[offer.condition]
  return `Graded ${offer.gradingCompany} ${offer.gradingGrade}`
}

export const printingOf = (printing: string) =>
  printing === 'standard' ? undefined : printing.replaceAll('_', ' ')

/**
 * Links to the neighbouring pages of a list. The other parameters of the query are kept.
 *
 * @param at.pages undefined if the rows were not counted; `hasMore` says then whether there is a next page
 */
export function pageLinks(
  query: Record<string, string | undefined>,
  at: { page: number; pages?: number; hasMore?: boolean },
): Html | undefined {
  const { page, pages, hasMore = page < (pages ?? 0) } = at
  if (page === 1 && !hasMore) return undefined
  const to = (target: number) => parametersOf({ ...query, page: String(target) })
  return html`<nav class="pages" aria-label="Pages">
${page > 1 && html`<a href="${to(page - 1)}" rel="prev">Previous</a>`}
<span>Page ${groupDigits(page)}${pages && html` of ${groupDigits(pages)}`}</span>
${hasMore && html`<a href="${to(page + 1)}" rel="next">Next</a>`}
</nav>`
}

/** The query of an address with its question mark; empty without a value. */
export function parametersOf(query: Record<string, string | undefined>): string {
  const present = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return present.length === 0 ? '' : `?${new URLSearchParams(present)}`
}

/** A list of choices in a filter form. An empty value means all. */
export const choice = (
  { name, label, all }: { name: string; label: string; all: string },
  options: (readonly [value: string, text: string])[],
  chosen: string | undefined,
) => html`<label>${label}
<select name="${name}"><option value="">${all}</option>${options.map(
  ([value, text]) =>
    html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`,
)}</select></label>`

/** A choice among these languages in a filter form. */
export const languageChoice = (languages: readonly string[], chosen: string | undefined) =>
  choice(
    { name: 'language', label: 'Language', all: 'All' },
    languages.map((language) => [language, languageOf(language)] as const),
    chosen,
  )
