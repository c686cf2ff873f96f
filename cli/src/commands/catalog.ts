import type { Card, CardSet, PublicListing, SealedProduct } from '@cardstall/sdk'
import type { Command } from 'commander'
import { printList } from '../lists.ts'
import { count } from '../numbers.ts'
import { type Column, euros } from '../output.ts'
import { openSession } from '../session.ts'

const DEFAULT_LIMIT = 30

/** The API compares codes exactly. */
const upper = (code: string) => code.toUpperCase()

type ListOptions = { language?: string; set?: string; limit: number }

const cardColumns: Column<Card>[] = [
  ['ID', ({ id }) => id],
  ['FRIENDLY ID', ({ friendly_id }) => friendly_id],
  ['NAME', ({ name }) => name],
  ['SET', ({ set }) => set.name],
  ['NUMBER', ({ number }) => number],
  ['RARITY', ({ rarity }) => rarity],
]

const offerColumns: Column<PublicListing>[] = [
  ['PRICE', ({ price }) => euros(price)],
  ['CONDITION', ({ condition, graded }) => graded?.label ?? condition],
  ['LANGUAGE', ({ language }) => language],
  ['AVAILABLE', ({ quantity_available }) => quantity_available],
  ['SHOP', ({ seller }) => seller.name],
]

const setColumns: Column<CardSet>[] = [
  ['ID', ({ id }) => id],
  ['SHORTCUT', ({ shortcut }) => shortcut],
  ['NAME', ({ name }) => name],
  ['SERIES', ({ series }) => series],
  ['LANGUAGE', ({ language }) => language],
  ['RELEASED', ({ release_date }) => release_date],
]

const productColumns: Column<SealedProduct>[] = [
  ['SLUG', ({ slug }) => slug],
  ['NAME', ({ name }) => name],
  ['CATEGORY', ({ category }) => category],
]

/** `cards`, `sets`, `products`. */
export function catalogCommands(program: Command): void {
  const cards = program.command('cards').description('search the catalog for cards')
  cards
    .command('search')
    .argument('<words...>', 'name, set or number')
    .description('find cards')
    .option('--set <id>', 'only cards of this set')
    .option('--language <code>', 'only cards of this language, such as EN', upper)
    .option('--limit <n>', 'number of cards', count, DEFAULT_LIMIT)
    .action(async (words: string[], { limit, ...query }: ListOptions, command: Command) => {
      const { client, out } = await openSession(command)
      const list = client.cards.list({ q: words.join(' '), ...query })
      await printList(out, list, { limit, columns: cardColumns, name: 'cards' })
    })
  cards
    .command('show')
    .argument('<id>', 'canonical or friendly id')
    .description('show a card, or with --offers its offers')
    .option('--offers', 'show the offers instead, cheapest first')
    .action(async (id: string, { offers }: { offers?: boolean }, command: Command) => {
      const { client, out } = await openSession(command)
      const card = await client.cards.get(id, offers ? { include: 'listings' } : {})
      if (offers) {
        out.records((card as { listings?: PublicListing[] }).listings ?? [], offerColumns)
        return
      }
      out.record(card, [
        ['Name', card.name],
        ['ID', card.id],
        ['Friendly ID', card.friendly_id],
        ['Set', card.set.name],
        ['Number', card.number],
        ['Rarity', card.rarity],
        ['Page', card.url],
      ])
    })

  program
    .command('sets')
    .argument('[words...]', 'name of the set')
    .description('list the sets')
    .option('--language <code>', 'only sets of this language, such as EN', upper)
    .option('--limit <n>', 'number of sets', count, DEFAULT_LIMIT)
    .action(async (words: string[], { limit, language }: ListOptions, command: Command) => {
      const { client, out } = await openSession(command)
      const query = { ...(words.length > 0 && { q: words.join(' ') }), language }
      const list = client.sets.list(query)
      await printList(out, list, { limit, columns: setColumns, name: 'sets' })
    })

  program
    .command('products')
    .argument('[words...]', 'name of the product')
    .description('list the sealed products')
    .option('--set <id>', 'only products of this set')
    .option('--limit <n>', 'number of products', count, DEFAULT_LIMIT)
    .action(async (words: string[], { limit, set }: ListOptions, command: Command) => {
      const { client, out } = await openSession(command)
      const query = { ...(words.length > 0 && { q: words.join(' ') }), set }
      const list = client.products.list(query)
      await printList(out, list, { limit, columns: productColumns, name: 'products' })
    })
}
