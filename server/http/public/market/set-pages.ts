import type { FastifyInstance } from 'fastify'
import { browseSets } from '../../../catalog/browse.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { ProductEntry, SetEntry } from '../../../catalog/entries.ts'
import { findSet } from '../../../catalog/identifiers.ts'
import { productObject, setObject } from '../../../catalog/json.ts'
import { LANGUAGES, type Language } from '../../../enums.ts'
import { lowestPrices } from '../../../listings/market.ts'
import type { Service } from '../../../service.ts'
import { type Html, html } from '../../html.ts'
import { rootOf } from '../../page.ts'
import { cardTile } from './item-pages.ts'
import { sendMarketPage } from './layout.ts'
import {
  count,
  day,
  grid,
  languageChoice,
  nameOfEdition,
  pageLinks,
  parametersOf,
  tile,
  withEdition,
} from './parts.ts'
import { marketQuery, PER_PAGE, pageOf, pageParameter } from './query.ts'

/** `/sets`: all sets, newest first. `/sets/{id}`: the cards and products of a set. */
export function setPages(app: FastifyInstance, ctx: Service): void {
  app.get('/sets', (request, reply) => {
    const { filters, page } = marketQuery(request)
    const { language } = filters
    const catalog = ctx.catalog.current
    const sets = browseSets(catalog, language ? { language } : {})
    const shown = pageOf(sets.length, page)
    const query = { language }
    return sendMarketPage(ctx, request, reply, {
      title: 'Sets · Cardstall',
      description: `${count(sets.length, 'set')} of Pokémon cards, the newest first.`,
      canonical: `${ctx.config.marketplaceUrl}/sets${parametersOf({ ...query, page: pageParameter(shown.page) })}`,
      main: html`<h1>Sets</h1>
<p class="lead">${count(sets.length, 'set')}, the newest first.</p>
${languageForm(catalog, language)}
${setList(sets.slice(shown.offset, shown.offset + PER_PAGE), rootOf(request))}
${pageLinks(query, shown)}`,
    })
  })

  app.get<{ Params: { id: string } }>('/sets/:id', async (request, reply) => {
    const { filters, region, page } = marketQuery(request)
    const narrowing = { language: filters.language, region }
    const set = findSet(ctx.catalog.current, request.params.id, narrowing)
    const root = rootOf(request)
    if (set.id !== request.params.id) {
      // Not permanent: an import can give the shortcut another meaning.
      return reply.redirect(
        `${root}/sets/${encodeURIComponent(set.id)}${parametersOf({ page: pageParameter(page) })}`,
        302,
      )
    }
    const { series, release_date, logo_url } = setObject(set)
    const name = withEdition(set.name, set)
    const shown = pageOf(set.cards.length, page)
    const cards = set.cards.slice(shown.offset, shown.offset + PER_PAGE)
    const products = shown.page === 1 ? set.products : []
    const cardPrices = await lowestPrices(
      ctx,
      'card',
      cards.map(({ id }) => id),
    )
    const productPrices = await lowestPrices(
      ctx,
      'product',
      products.map(({ slug }) => slug),
    )
    const released = release_date ? `, released on ${day(release_date)}` : ''
    return sendMarketPage(ctx, request, reply, {
      title: `${name} · Cardstall`,
      description: `${count(set.cards.length, 'card')} of ${name} (${series}${released}).`,
      canonical: `${ctx.config.marketplaceUrl}/sets/${encodeURIComponent(set.id)}${parametersOf({ page: pageParameter(shown.page) })}`,
      image: logo_url,
      main: html`<header class="set">
${logo_url && html`<img src="${logo_url}" alt="" width="220" height="90">`}
<div><p class="trail">${series}</p>
<h1>${nameOfEdition(set.name, set)}</h1>
<p>${count(set.cards.length, 'card')}${released}</p></div>
</header>
${
  cards.length + products.length === 0 &&
  html`<p class="empty">The catalog has no cards of this set yet.</p>`
}
${cards.length > 0 && grid(cards.map((card) => cardTile(card, root, { lowest: cardPrices, withSet: false })))}
${pageLinks({}, shown)}
${
  products.length > 0 &&
  html`<section><h2>Sealed products</h2>
${grid(products.map((product) => productTile(product, root, productPrices)))}</section>`
}`,
    })
  })
}

/** A choice among the languages of the catalog; undefined if it has one. */
function languageForm({ sets }: Catalog, chosen: Language | undefined): Html | undefined {
  const inCatalog = new Set(sets.map(({ language }) => language))
  if (inCatalog.size < 2) return undefined
  const languages = LANGUAGES.filter((language) => inCatalog.has(language))
  return html`<form class="filters">
${languageChoice(languages, chosen)}
<button>Show</button>
</form>`
}

export const productTile = (
  product: ProductEntry,
  root: string,
  lowest: Map<string, number>,
): Html => {
  const { slug, category, image_url } = productObject(product)
  return tile({
    href: `${root}/products/${encodeURIComponent(slug)}`,
    name: withEdition(product.name, product.set),
    image: image_url,
    details: category.replaceAll('_', ' '),
    lowestCents: lowest.get(slug),
  })
}

/** A list of sets with their logos. */
export const setList = (sets: SetEntry[], root: string): Html => html`<ul class="sets" role="list">
${sets.map((set) => {
  const { id, release_date, logo_url, cards_count } = setObject(set)
  const name = nameOfEdition(set.name, set)
  return html`<li><a class="tile" href="${root}/sets/${encodeURIComponent(id)}">${logo_url ? html`<img src="${logo_url}" alt="" width="220" height="90" loading="lazy">` : html`<span class="logo none" aria-hidden="true">${name}</span>`}<strong>${name}</strong><span>${count(cards_count, 'card')}${release_date && `, ${release_date.slice(0, 4)}`}</span></a></li>
`
})}</ul>`
