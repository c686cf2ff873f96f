import type { SetEntry } from '../../../catalog/entries.ts'
import type { Service } from '../../../service.ts'
import { html } from '../../html.ts'
import { forDevelopers, sandboxNotice } from '../about.ts'
import type { MarketPage } from './layout.ts'
import { count } from './parts.ts'
import { setList } from './set-pages.ts'

const NEWEST_SETS = 12

/** `/`: the search, the newest sets, and what a seller's developer needs. */
export function homePage({ catalog, config }: Service, root: string): MarketPage {
  const { sets, cards } = catalog.current
  return {
    title: 'Cardstall: Pokémon cards and sealed products',
    description: `A marketplace for Pokémon cards and sealed products: ${count(cards.length, 'card')} of ${count(sets.length, 'set')}.`,
    canonical: `${config.marketplaceUrl}/`,
    main: html`<h1>Pokémon cards and sealed products</h1>
<p class="lead">Compare the offers of many shops for each of ${count(cards.length, 'card')}.</p>
${sandboxNotice(config)}
${
  sets.length === 0
    ? html`<p class="empty">The catalog is empty. <a href="${root}/docs/guides/catalog">Import one.</a></p>`
    : html`<section><h2>Newest sets</h2>${setList(newest(sets), root)}
<p><a href="${root}/sets">All ${count(sets.length, 'set')}</a></p></section>`
}
${forDevelopers(config, root)}`,
  }
}

/** One set of each name, because the languages of a set share it. Sets of which the catalog has nothing are left out. */
function newest(sets: SetEntry[]): SetEntry[] {
  const byName = new Map<string, SetEntry>()
  for (const set of sets) {
    if (byName.size === NEWEST_SETS) break
    const isEmpty = set.cards.length + set.products.length === 0
    if (!isEmpty && !byName.has(set.name)) byName.set(set.name, set)
  }
  return [...byName.values()]
}
