import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../../../catalog/catalog.ts'
import { findShop, type MarketOffer, offersOfShop } from '../../../listings/market.ts'
import type { Review } from '../../../reviews/review.ts'
import { latestReviews } from '../../../reviews/reviews.ts'
import type { Service } from '../../../service.ts'
import { timestamp } from '../../../time/timestamp.ts'
import { type Html, html } from '../../html.ts'
import { rootOf } from '../../page.ts'
import { sendMarketPage } from './layout.ts'
import { filterForm, offersTable, ratingOf } from './offers-table.ts'
import { langOf, nameOfEdition, pageLinks, parametersOf } from './parts.ts'
import { marketQuery, PER_PAGE, pageParameter } from './query.ts'

const SHOWN_REVIEWS = 10

/** `/shops/{slug}`: a seller with their offers and latest reviews. */
export function shopPages(app: FastifyInstance, ctx: Service): void {
  app.get<{ Params: { slug: string } }>('/shops/:slug', async (request, reply) => {
    const shop = await findShop(ctx, request.params.slug)
    const root = rootOf(request)
    const { page, filters } = marketQuery(request)
    const { rows, hasMore } = await offersOfShop(ctx, shop.id, filters, {
      limit: PER_PAGE,
      offset: (page - 1) * PER_PAGE,
    })
    const reviews = page > 1 ? [] : await latestReviews(ctx, shop.id, SHOWN_REVIEWS)
    const catalog = ctx.catalog.current
    return sendMarketPage(ctx, request, reply, {
      title: `${shop.shopName} · Cardstall`,
      description: `Cards and sealed products from ${shop.shopName}.`,
      canonical: `${ctx.config.marketplaceUrl}/shops/${encodeURIComponent(shop.slug)}${parametersOf({ page: rows.length > 0 ? pageParameter(page) : undefined })}`,
      main: html`<h1>${shop.shopName}</h1>
<p><span class="tier">${shop.sellerTier}</span> seller${ratingOf(shop) ?? html` <span class="rating">no reviews yet</span>`}</p>
${filterForm(filters)}
${
  rows.length === 0
    ? html`<p class="empty">${page > 1 ? 'There are no more offers.' : `This shop has no ${filters.condition || filters.language ? 'such ' : ''}offers now.`}</p>`
    : offersTable(rows, {
        config: ctx.config,
        root,
        first: { title: 'Item', cell: (offer) => itemCell(catalog, offer, root) },
      })
}
${pageLinks(filters, { page, hasMore })}
${reviews.length > 0 && reviewsPart(reviews)}`,
    })
  })
}

const reviewsPart = (
  reviews: Review[],
): Html => html`<section class="reviews" aria-labelledby="reviews">
<h2 id="reviews">Latest reviews</h2>
<ul role="list">${reviews.map(
  ({ stars, text, reply, createdAt }) => html`<li>
<p><span class="rating" role="img" aria-label="${stars} of 5 stars">${'★'.repeat(stars)}${'☆'.repeat(5 - stars)}</span> <span class="muted">${timestamp(createdAt).slice(0, 10)}</span></p>
${text !== null && html`<p class="text">${text}</p>`}
${reply !== null && html`<p class="text"><strong>The seller replied:</strong> ${reply}</p>`}
</li>`,
)}</ul>
</section>`

/** The item of an offer, as a link to its page. The id alone for an item that the operator hides: it has no page. */
function itemCell(catalog: Catalog, { cardId, productSlug }: MarketOffer, root: string): Html {
  if (cardId !== null) {
    const card = catalog.cardsById.get(cardId)
    if (!card) return html`${cardId}`
    return html`<a href="${root}/cards/${encodeURIComponent(cardId)}"${langOf(card.set)}>${card.name}</a> <span class="muted">${nameOfEdition(card.set.name, card.set)} ${card.number}</span>`
  }
  const product = catalog.productsBySlug.get(productSlug)
  if (!product) return html`${productSlug}`
  return html`<a href="${root}/products/${encodeURIComponent(productSlug)}">${nameOfEdition(product.name, product.set)}</a>`
}
