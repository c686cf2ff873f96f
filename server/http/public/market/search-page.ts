import type { FastifyInstance } from 'fastify'
import { browseCards, browseProducts, browseSets } from '../../../catalog/browse.ts'
import { lowestPrices } from '../../../listings/market.ts'
import type { Service } from '../../../service.ts'
import { type Html, html } from '../../html.ts'
import { rootOf } from '../../page.ts'
import { cardTile } from './item-pages.ts'
import { sendMarketPage } from './layout.ts'
import { count, grid, pageLinks, parametersOf } from './parts.ts'
import { marketQuery, PER_PAGE, pageOf } from './query.ts'
import { productTile, setList } from './set-pages.ts'

/** Sets and products above the cards. */
const MAX_OTHERS = 6

const NOUNS = { cards: 'card', sets: 'set', products: 'sealed product' }

/** `/search?q=`: the cards whose names match, below the first sets and products. With `kind=sets` all of those. */
export function searchPages(app: FastifyInstance, ctx: Service): void {
  app.get('/search', async (request, reply) => {
    const root = rootOf(request)
    const { q, kind, page } = marketQuery(request)
    if (q === undefined) return reply.redirect(`${root}/`, 302)
    const catalog = ctx.catalog.current
    const cards = kind === undefined ? browseCards(catalog, { q }) : []
    const isFirst = pageOf(cards.length, page).page === 1
    const sets = isFirst && kind !== 'products' ? browseSets(catalog, { q }) : []
    const products = isFirst && kind !== 'sets' ? browseProducts(catalog, { q }) : []

    const paged = kind ?? 'cards'
    const shown = pageOf({ cards, sets, products }[paged].length, page)
    const onPage = <T>(of: keyof typeof NOUNS, found: T[]) =>
      of === paged ? found.slice(shown.offset, shown.offset + PER_PAGE) : found.slice(0, MAX_OTHERS)
    const [shownCards, shownProducts] = [onPage('cards', cards), onPage('products', products)]
    const cardPrices = await lowestPrices(
      ctx,
      'card',
      shownCards.map(({ id }) => id),
    )
    const productPrices = await lowestPrices(
      ctx,
      'product',
      shownProducts.map(({ slug }) => slug),
    )

    const section = (of: keyof typeof NOUNS, total: number, list: Html) => {
      const counted = count(total, NOUNS[of])
      const others =
        of === paged
          ? pageLinks({ q, kind }, shown)
          : total > MAX_OTHERS &&
            html`<p><a href="${parametersOf({ q, kind: of })}">All ${counted}</a></p>`
      return (
        total > 0 &&
        html`<section><h2>${counted}</h2>${list}
${others}</section>`
      )
    }
    const nothing = cards.length + sets.length + products.length === 0
    return sendMarketPage(ctx, request, reply, {
      title: `${q} · Cardstall`,
      description: `Cards, sets and products that match ${q}.`,
      query: q,
      main: html`${kind && html`<p class="trail"><a href="${parametersOf({ q })}">All results</a></p>`}
<h1>${nothing ? html`Nothing matches “${q}”` : html`Results for “${q}”`}</h1>
${nothing && html`<p class="empty">Check the spelling, or search for a name, a number (<em>charizard 4</em>) or a set.</p>`}
${section('sets', sets.length, setList(onPage('sets', sets), root))}
${section('products', products.length, grid(shownProducts.map((product) => productTile(product, root, productPrices))))}
${section('cards', cards.length, grid(shownCards.map((card) => cardTile(card, root, { lowest: cardPrices }))))}`,
    })
  })
}
