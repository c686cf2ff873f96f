import { accountTools } from './account-tools.ts'
import { browsingTools, catalogTools } from './catalog-tools.ts'
import { documents } from './documents.ts'
import { listingTools } from './listing-tools.ts'
import { moneyTools } from './money-tools.ts'
import { orderTools } from './order-tools.ts'
import { prompts } from './prompts.ts'
import { openToolServer, type ToolServer } from './tool-server.ts'

/** The catalog and what is on sale, for anyone. */
const publicServer: ToolServer = {
  name: 'cardstall',
  title: 'Cardstall catalog',
  instructions:
    'This server searches a marketplace for Pokemon cards and sealed products. Search first, and use the id of a card or the slug of a product from a result: a friendly id such as brs_18 can mean several cards. A card has one id per language and region. All prices are in euros, per unit, without shipping. Every tool only reads.',
  tools: [...catalogTools, ...browsingTools],
  resources: [],
  prompts: [],
}

/** A seller's shop. */
const sellerServer: ToolServer = {
  name: 'cardstall-seller',
  title: 'Cardstall shop',
  instructions:
    'These tools run a shop that sells Pokemon cards and sealed products. Find a card with search_cards and use its id, because a friendly id such as brs_18 can mean several cards. All amounts are in euros. Before you list anything, call create_listings with preview: true and let the seller check the result; ask for a condition, language or quantity that the seller’s text leaves open. Rows of an order with the same slice_key ship together as one parcel; buy_label costs money and ship_order e-mails the buyer, so ask first.',
  tools: [...catalogTools, ...accountTools, ...listingTools, ...orderTools, ...moneyTools],
  resources: documents,
  prompts,
}

/** The server of each path. Call it once per process: it compiles the tools' schemas. */
export const openServers = () => ({
  '/mcp': openToolServer(publicServer),
  '/mcp/seller': openToolServer(sellerServer),
})
