import type { FastifyPluginCallback } from 'fastify'
import type { Catalog } from '../../../catalog/catalog.ts'
import { findShop, type MarketOffer, offersOfShop } from '../../../listings/market.ts'
import type { Service } from '../../../service.ts'
import { type Html, html } from '../../html.ts'
import { rootOf } from '../../page.ts'
import { sendMarketPage } from './layout.ts'
import { filterForm, offersTable, ratingOf } from './offers-table.ts'
import { pageLinks } from './parts.ts'
import { marketQuery, PER_PAGE } from './query.ts'

/** `/shops/{slug}`: a seller with their offers. */
export const shopPages =
  (ctx: Service): FastifyPluginCallback =>
  (app, _options, done) => {
    app.get<{ Params: { slug: string } }>('/shops/:slug', async (request, reply) => {
      const shop = await findShop(ctx, request.params.slug)
      const root = rootOf(request)
      const { page, filters } = marketQuery(request)
      const { rows, hasMore } = await offersOfShop(ctx, shop.id, filters, {
        limit: PER_PAGE,
        offset: (page - 1) * PER_PAGE,
      })
      const catalog = ctx.catalog.current
      return sendMarketPage(request, reply, {
        title: `${shop.shopName} · Cardstall`,
        description: `Cards and sealed products from ${shop.shopName}.`,
        canonical: `${ctx.config.marketplaceUrl}/shops/${encodeURIComponent(shop.slug)}`,
        main: html`<h1>${shop.shopName}</h1>
<p><span class="tier">${shop.sellerTier}</span> seller${ratingOf(shop) ?? html` <span class="rating">no reviews yet</span>`}</p>
${filterForm(filters)}
${
  rows.length === 0
    ? html`<p class="empty">${page > 1 ? 'There are no more offers.' : 'This shop has no such offers now.'}</p>`
    : offersTable(rows, {
        config: ctx.config,
        first: { title: 'Item', cell: (offer) => itemCell(catalog, offer, root) },
      })
}
${pageLinks(filters, { page, hasMore })}`,
      })
    })
    done()
  }

/** The item of an offer, as a link to its page. A listing outlives its catalog record. */
function itemCell(catalog: Catalog, { cardId, productSlug }: MarketOffer, root: string): Html {
  if (cardId !== null) {
    const card = catalog.cardsById.get(cardId)
    if (!card) return html`${cardId}`
    return html`<a href="${root}/cards/${encodeURIComponent(cardId)}">${card.name}</a> <span class="muted">${card.set.name} ${card.number}</span>`
  }
  const product = catalog.productsBySlug.get(productSlug)
  return html`<a href="${root}/products/${encodeURIComponent(productSlug)}">${product?.name ?? productSlug}</a>`
}
