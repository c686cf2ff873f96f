import { ratingText } from '../../../accounts/rating.ts'
import type { Config } from '../../../config.ts'
import { CONDITION_NAMES, CONDITIONS, LANGUAGES } from '../../../enums.ts'
import { quantityAvailable } from '../../../listings/listing.ts'
import type { MarketFilters, MarketOffer } from '../../../listings/market.ts'
import { photoUrl, thumbnailUrl } from '../../../photos/photo.ts'
import { formatEuros } from '../../../text/formats.ts'
import { type Html, html } from '../../html.ts'
import { choice, conditionOf, count, languageChoice, languageOf, printingOf } from './parts.ts'

/** @param hasCondition whether some offers have a condition: those of sealed products have none */
export const filterForm = (
  { condition, language }: MarketFilters,
  hasCondition = true,
): Html => html`<form class="filters">
${
  hasCondition &&
  choice(
    { name: 'condition', label: 'Condition', all: 'All' },
    CONDITIONS.map((value) => [value, CONDITION_NAMES[value]] as const),
    condition,
  )
}
${languageChoice(LANGUAGES, language)}
<button>Show</button>
</form>`

/**
 * A table of offers.
 *
 * @param first the first column: the seller on the page of an item, the item on the page of a shop
 */
export function offersTable(
  offers: MarketOffer[],
  {
    config,
    root,
    first,
  }: { config: Config; root: string; first: { title: string; cell: (offer: MarketOffer) => Html } },
): Html {
  const { buyUrl } = config
  return html`<table class="offers">
<thead><tr><th scope="col">${first.title}</th><th scope="col">Offer</th><th scope="col" class="number">Available</th><th scope="col" class="number">Price</th>${buyUrl && html`<td></td>`}</tr></thead>
<tbody>
${offers.map(
  (offer) => html`<tr>
<th scope="row">${first.cell(offer)}</th>
<td>${terms(offer)}${offer.description && html`<p>${offer.description}</p>`}${photos(offer, config, root)}</td>
<td class="number">${quantityAvailable(offer)}</td>
<td class="number price">${formatEuros(offer.priceCents)}</td>
${buyUrl && html`<td class="action"><a class="buy" href="${buyUrl.replaceAll('{listing}', String(offer.id))}">Buy<span class="hidden"> for ${formatEuros(offer.priceCents)}</span></a></td>`}
</tr>
`,
)}</tbody>
</table>`
}

/** Condition, language and printing. */
const terms = (offer: MarketOffer): Html => {
  const printing = printingOf(offer.printing)
  return html`<span class="condition">${conditionOf(offer)}</span> ${languageOf(offer.language)}${printing && html`, ${printing}`}`
}

const photos = (
  { photos }: MarketOffer,
  { publicUrl, marketplaceUrl }: Config,
  root: string,
): Html | false => {
  if (photos.length === 0) return false
  // Relative if possible: the policy of a sandbox's page at 127.0.0.1 would block pictures at http://localhost.
  const base = marketplaceUrl === publicUrl ? root : publicUrl
  return html`<p class="photos">${photos.map(
    (name, i) =>
      html`<a href="${photoUrl(base, name)}"><img src="${thumbnailUrl(base, name)}" alt="Photo ${i + 1}" width="40" height="56" loading="lazy"></a> `,
  )}</p>`
}

/** The seller of an offer, as a link to its shop. Without the isolation, a stored name could reverse its tier and rating. */
export const sellerCell =
  (root: string) =>
  ({ seller }: MarketOffer): Html =>
    html`<a href="${root}/shops/${encodeURIComponent(seller.slug)}"><bdi>${seller.shopName}</bdi></a> <span class="tier">${seller.sellerTier}</span>${ratingOf(seller)}`

export const ratingOf = ({ rating, reviews }: MarketOffer['seller']): Html | undefined =>
  reviews > 0
    ? html` <span class="rating">${rating !== null && `★ ${ratingText(rating)} `}(${count(reviews, 'review')})</span>`
    : undefined
