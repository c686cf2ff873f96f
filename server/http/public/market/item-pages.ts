import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { CardEntry, ProductEntry, SetEntry } from '../../../catalog/entries.ts'
import { findCard, findProduct } from '../../../catalog/identifiers.ts'
import { type CardObject, cardObject, productObject } from '../../../catalog/json.ts'
import type { Listable } from '../../../listings/listing.ts'
import { offersOnMarket, type ShownOffers } from '../../../listings/market.ts'
import type { Service } from '../../../service.ts'
import { formatEuros, groupDigits } from '../../../text/formats.ts'
import { type Html, html } from '../../html.ts'
import { rootOf } from '../../page.ts'
import { type MarketPage, sendMarketPage } from './layout.ts'
import type { OfferlessPages } from './offerless-pages.ts'
import { filterForm, offersTable, sellerCell } from './offers-table.ts'
import {
  count,
  day,
  grid,
  langOf,
  nameOfEdition,
  pageLinks,
  parametersOf,
  picture,
  rarityOf,
  tile,
  withEdition,
} from './parts.ts'
import { marketQuery, PER_PAGE, pageOf, pageParameter } from './query.ts'
import { productData } from './structured-data.ts'

const MAX_OTHERS = 12

/** `/cards/{id}`: a card with its offers, and other cards of its name. */
export function cardPages(app: FastifyInstance, ctx: Service, prepared: OfferlessPages): void {
  const others = cardsByName()

  const pageFor = (catalog: Catalog, card: CardEntry, offers: Section, root: string) => {
    const object = cardObject(card)
    const { name, number, rarity, set, image_large, image_small } = object
    const canonical = `${ctx.config.marketplaceUrl}/cards/${encodeURIComponent(card.id)}`
    const same = others(catalog, card)
    const setName = withEdition(set.name, card.set)
    return {
      title: `${name} · ${setName} ${number} · Cardstall`,
      description: `${name}, number ${number} of ${setName}${rarity ? `, ${rarityOf(rarity)}` : ''}: ${summaryOf(offers)}.`,
      canonical,
      image: image_large ?? image_small,
      structured: productData(
        { name, image: image_large, category: 'Trading card', url: canonical },
        offers,
        ctx.config,
      ),
      main: html`<article class="item">
<div class="side">${picture(name, image_large ?? image_small, { size: 'large', edition: card.set })}</div>
<div>
<p class="trail"><a href="${root}/sets/${encodeURIComponent(set.id)}">${nameOfEdition(set.name, card.set)}</a></p>
<h1${langOf(card.set)}>${name} <span class="collector">${number}</span></h1>
${facts(object, card.set)}
${offers.section}
</div>
</article>
${
  same.length > 0 &&
  html`<section><h2>Other cards named <span${langOf(card.set)}>${name}</span></h2>
${grid(same.map((other) => cardTile(other, root)))}</section>`
}`,
    } satisfies MarketPage
  }

  prepared.add('/cards/', {
    route: '/cards/:id',
    itemOf: (id) => ({ cardId: id, productSlug: null }),
    pageFor(catalog, id, root) {
      const card = findCard(catalog, id)
      return card.id === id ? pageFor(catalog, card, NO_OFFERS, root) : undefined
    },
  })
  app.get<{ Params: { id: string } }>('/cards/:id', async (request, reply) => {
    const catalog = ctx.catalog.current
    const { id } = request.params
    const query = marketQuery(request)
    const narrowing = { language: query.filters.language, region: query.region }
    // At a canonical address the language is that of the offers.
    const card = catalog.cardsById.get(id) ?? findCard(catalog, id, narrowing)
    const root = rootOf(request)
    if (card.id !== id) {
      // A language that has selected the card among several isn't that of its offers.
      const isSpent = (catalog.cardsByFriendlyId.get(id)?.length ?? 0) > 1
      const parameters = parametersOf({
        ...query.filters,
        ...(isSpent && { language: undefined }),
        page: pageParameter(query.page),
      })
      // Not permanent: an import can give the friendly id another meaning.
      return reply.redirect(`${root}/cards/${encodeURIComponent(card.id)}${parameters}`, 302)
    }
    const item = { cardId: card.id, productSlug: null } as const
    const offers = await offersSection(ctx, item, query, root)
    return sendMarketPage(ctx, request, reply, pageFor(catalog, card, offers, root))
  })
}

/** `/products/{slug}`: a sealed product with its offers. */
export function productPages(app: FastifyInstance, ctx: Service, prepared: OfferlessPages): void {
  const pageFor = (product: ProductEntry, offers: Section, root: string) => {
    const { slug, category, set, image_url, release_date } = productObject(product)
    const name = withEdition(product.name, product.set)
    const canonical = `${ctx.config.marketplaceUrl}/products/${encodeURIComponent(slug)}`
    return {
      title: `${name} · Cardstall`,
      description: `${name}: ${summaryOf(offers)}.`,
      canonical,
      image: image_url,
      structured: productData(
        { name, image: image_url, category: 'Trading cards, sealed', url: canonical },
        offers,
        ctx.config,
      ),
      main: html`<article class="item">
<div class="side">${picture(name, image_url, { size: 'large' })}</div>
<div>
${set && html`<p class="trail"><a href="${root}/sets/${encodeURIComponent(set.id)}">${nameOfEdition(set.name, product.set)}</a></p>`}
<h1>${nameOfEdition(product.name, product.set)}</h1>
<dl class="facts">
<div><dt>Product</dt><dd>${category.replaceAll('_', ' ')}</dd></div>
${release_date && html`<div><dt>Released</dt><dd>${day(release_date)}</dd></div>`}
</dl>
${offers.section}
</div>
</article>`,
    } satisfies MarketPage
  }

  prepared.add('/products/', {
    route: '/products/:slug',
    itemOf: (slug) => ({ cardId: null, productSlug: slug }),
    pageFor: (catalog, slug, root) => pageFor(findProduct(catalog, slug), NO_OFFERS, root),
  })
  app.get<{ Params: { slug: string } }>('/products/:slug', async (request, reply) => {
    const product = findProduct(ctx.catalog.current, request.params.slug)
    const root = rootOf(request)
    const item = { cardId: null, productSlug: product.slug } as const
    const { filters, ...query } = marketQuery(request)
    const { language } = filters
    const offers = await offersSection(ctx, item, { ...query, filters: { language } }, root)
    return sendMarketPage(ctx, request, reply, pageFor(product, offers, root))
  })
}

/** @param lowest the lowest prices in cents by the id of the card */
export function cardTile(
  card: CardEntry,
  root: string,
  { lowest, withSet = true }: { lowest?: Map<string, number>; withSet?: boolean } = {},
): Html {
  const { name, number, rarity, set, image_small } = cardObject(card)
  const place = withSet ? `${withEdition(set.name, card.set)} ${number}` : number
  return tile({
    href: `${root}/cards/${encodeURIComponent(card.id)}`,
    name,
    image: image_small,
    details: rarity ? `${place}, ${rarityOf(rarity)}` : place,
    edition: card.set,
    lowestCents: lowest?.get(card.id),
  })
}

function facts({ rarity, supertype, hp, types, set }: CardObject, edition: SetEntry): Html {
  const rows = [
    ['Set', nameOfEdition(set.name, edition)],
    ['Series', set.series],
    ['Released', set.release_date && day(set.release_date)],
    ['Rarity', rarity && rarityOf(rarity)],
    ['Kind', supertype === 'Pokemon' ? 'Pokémon' : supertype],
    ['Type', types?.join(', ')],
    ['HP', hp],
  ] as const
  return html`<dl class="facts">
${rows.map(([term, value]) => (value ? html`<div><dt>${term}</dt><dd>${value}</dd></div>\n` : html``))}</dl>`
}

/** The offers on a page, those that pass its filters in all, and the section that shows them. */
type Section = ShownOffers & { section: Html }

const NO_OFFERS: Section = {
  rows: [],
  total: 0,
  lowestCents: null,
  isCut: false,
  section: html`<section class="empty"><h2>No offers now</h2><p>No shop has this in stock.</p></section>`,
}

/** In place of `NO_OFFERS`, if the page can't know whether other shops have offers (docs/public-pages.md). */
const ONLY_HIDDEN = html`<section class="empty"><h2>No offers now</h2><p>The shops with the cheapest offers are closed at the moment.</p></section>`

async function offersSection(
  ctx: Service,
  item: Listable,
  { page, filters }: ReturnType<typeof marketQuery>,
  root: string,
): Promise<Section> {
  const offers = await offersOnMarket(ctx, item, filters, (total) => ({
    limit: PER_PAGE,
    offset: pageOf(total, page).offset,
  }))
  const shown = pageOf(offers.total, page)
  const isFiltered = filters.condition !== undefined || filters.language !== undefined
  if (offers.total === 0 && !isFiltered) {
    return offers.isCut ? { ...offers, section: ONLY_HIDDEN } : NO_OFFERS
  }
  const section = html`<section>
<h2>${countOf(offers)}${offers.lowestCents !== null && html` from ${formatEuros(offers.lowestCents)}`}</h2>
${filterForm(filters, item.cardId !== null)}
${
  offers.total === 0
    ? html`<p class="empty">No offer passes these filters.</p>`
    : offersTable(offers.rows, {
        config: ctx.config,
        root,
        first: { title: 'Shop', cell: sellerCell(root) },
      })
}
${pageLinks(filters, shown)}
</section>`
  return { ...offers, section }
}

const summaryOf = (offers: ShownOffers) =>
  offers.lowestCents === null
    ? 'no offers now'
    : `${countOf(offers)} from ${formatEuros(offers.lowestCents)}`

const countOf = ({ total, isCut }: ShownOffers) =>
  isCut ? `${groupDigits(total)}+ offers` : count(total, 'offer')

/** Finds the other cards of a name. The names of a catalog are indexed at the first use. */
function cardsByName() {
  let indexed: { catalog: Catalog; names: Map<string, CardEntry[]> } | undefined
  return (catalog: Catalog, card: CardEntry): CardEntry[] => {
    if (indexed?.catalog !== catalog) {
      indexed = { catalog, names: Map.groupBy(catalog.cards, ({ name }) => name) }
    }
    const same = indexed.names.get(card.name) ?? []
    return same.filter((other) => other !== card).slice(0, MAX_OTHERS)
  }
}
