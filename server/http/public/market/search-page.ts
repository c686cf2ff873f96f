import type { FastifyPluginCallback } from 'fastify'
import { browseCards, browseProducts, browseSets } from '../../../catalog/browse.ts'
import { lowestPrices } from '../../../listings/market.ts'
import type { Service } from '../../../service.ts'
import { html } from '../../html.ts'
import { rootOf } from '../../page.ts'
import { cardTile } from './item-pages.ts'
import { sendMarketPage } from './layout.ts'
import { count, grid, pageLinks } from './parts.ts'
import { marketQuery, PER_PAGE, pageOf } from './query.ts'
import { productTile, setList } from './set-pages.ts'

/** Sets and products above the cards. */
const MAX_OTHERS = 6

/** `/search?q=`: sets, products and cards whose names match. */
export const searchPages =
  (ctx: Service): FastifyPluginCallback =>
  (app, _options, done) => {
    app.get('/search', async (request, reply) => {
      const root = rootOf(request)
      const { q, page } = marketQuery(request)
      if (q === undefined) return reply.redirect(`${root}/`, 302)
      const catalog = ctx.catalog.current
      const cards = browseCards(catalog, { q })
      const shown = pageOf(cards.length, page)
      const onPage = cards.slice(shown.offset, shown.offset + PER_PAGE)
      const isFirst = shown.page === 1
      const sets = isFirst ? browseSets(catalog, { q }).slice(0, MAX_OTHERS) : []
      const products = isFirst ? browseProducts(catalog, { q }).slice(0, MAX_OTHERS) : []
      const prices = await lowestPrices(
        ctx,
        'card',
        onPage.map(({ id }) => id),
      )
      const nothing = cards.length + sets.length + products.length === 0
      return sendMarketPage(request, reply, {
        title: `${q} · Cardstall`,
        description: `Cards, sets and products that match ${q}.`,
        query: q,
        main: html`<h1>${nothing ? html`Nothing matches “${q}”` : html`Results for “${q}”`}</h1>
${nothing && html`<p class="empty">Check the spelling, or search for a name, a number (<em>charizard 4</em>) or a set.</p>`}
${sets.length > 0 && html`<section><h2>Sets</h2>${setList(sets, root)}</section>`}
${products.length > 0 && html`<section><h2>Sealed products</h2>${grid(products.map((product) => productTile(product, root)))}</section>`}
${
  cards.length > 0 &&
  html`<section><h2>${count(cards.length, 'card')}</h2>
${grid(onPage.map((card) => cardTile(card, root, { lowest: prices })))}
${pageLinks({ q }, shown)}</section>`
}`,
      })
    })
    done()
  }
