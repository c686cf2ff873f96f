import { browsingTools, catalogTools } from './catalog-tools.ts'
import { openToolServer, type ToolServer } from './tool-server.ts'

/** The public tool server: the catalog and what is on sale. */
const publicServer: ToolServer = {
  name: 'cardstall',
  title: 'Cardstall catalog',
  instructions:
    'This server searches a marketplace for Pokemon cards and sealed products. Search first, and use the id of a card or the slug of a product from a result: a friendly id such as brs_18 can mean several cards. A card has one id per language and region. All prices are in euros, per unit, without shipping. Every tool only reads.',
  tools: [...catalogTools, ...browsingTools],
  resources: [],
  prompts: [],
}

/** The server of each path. Call it once per process: it compiles the tools' schemas. */
export const openServers = () => ({
  '/mcp': openToolServer(publicServer),
  '/mcp/seller': openToolServer(publicServer),
})
