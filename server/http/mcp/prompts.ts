import type { Prompt } from './tool-server.ts'

const listStock: Prompt = {
  name: 'list_stock',
  title: 'List cards from a pasted list',
  description: 'Turns a pasted list of cards into a preview, and then into listings.',
  arguments: [
    { name: 'list', description: 'The cards, in any form: one per line is best', required: true },
    {
      name: 'notes',
      description: 'Facts about all cards, such as "all near mint"',
      required: false,
    },
  ],
  write: ({ list, notes }) => `List these cards for sale in my shop.

${list}
${notes ? `\nFor all of them: ${notes}\n` : ''}
Work in these steps:
1. Find each card with search_cards (sealed products with search_products). Several results with one name are different cards: decide by number, set and language, and ask me if you can't.
2. If a price is missing, look at list_offers for that card and condition, and suggest one.
3. If condition, language or quantity is missing, ask me once for all cards.
4. Call create_listings with preview: true for all cards, and show me a table: card, set and number, condition, language, price, quantity.
5. After I agree, call create_listings with the same items, each card as the item.card of its preview, and a new random idempotency_key, and tell me what was listed and what failed.`,
}

const shipToday: Prompt = {
  name: 'ship_today',
  title: 'Ship what is waiting',
  description: 'Turns pending orders into a pick list, buys labels, and marks parcels as shipped.',
  arguments: [],
  write: () => `Help me ship today's orders.

Work in these steps:
1. Read all pages of list_orders with status pending. Rows with the same slice_key are one parcel.
2. Show me a pick list: for each parcel its buyer, and for each row the card, condition, language and quantity.
3. Ask me which parcels to prepare. Then say how many labels that will buy, because each costs money, and wait for my answer.
4. Call buy_label for one row of each of these parcels, and give me the links. A parcel with self_ship has no label: get_order with include_address has the address.
5. When I say that the parcels have been handed over, call ship_order for one row of each, with a tracking_code where my own tracked shipping needs one.`,
}

export const prompts: Prompt[] = [listStock, shipToday]
