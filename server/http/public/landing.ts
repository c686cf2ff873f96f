import Negotiator from 'negotiator'
import manifest from '../../../package.json' with { type: 'json' }
import type { Config } from '../../config.ts'
import type { Service } from '../../service.ts'
import { html } from '../html.ts'
import { rootOf, sendPage } from '../page.ts'
import type { App } from '../schema.ts'
import { forDevelopers, sandboxNotice } from './about.ts'
import { layout } from './layout.ts'
import { homePage } from './market/home-page.ts'
import { sendMarketPage } from './market/layout.ts'

/**
 * The landing page, as HTML for browsers and JSON for programs. The HTML is the entrance to the public pages, or
 * describes the service if there are none.
 */
export function landingRoutes(app: App, ctx: Service): void {
  const { config } = ctx
  const json = landingJson(config)
  app.get('/', (request, reply) => {
    reply.header('vary', 'accept').header('cache-control', 'no-cache')
    // Without a preference, as from curl, the first type.
    const type = new Negotiator(request.raw).mediaType(['application/json', 'text/html'])
    if (type !== 'text/html') return reply.send(json)
    if (!config.publicPages) return sendPage(reply, landingPage(config))
    // A cache that ignores Vary would give the page to programs.
    return sendMarketPage(ctx, request, reply, homePage(ctx, rootOf(request)), 'no-cache')
  })
}

const landingJson = ({ publicUrl, sandbox, operatorToken }: Config) => ({
  name: 'Cardstall',
  version: manifest.version,
  description: manifest.description,
  sandbox,
  links: {
    seller_api: `${publicUrl}/v1`,
    tools_api: `${publicUrl}/tools/v1`,
    ...(operatorToken === undefined ? {} : { operator_api: `${publicUrl}/operator/v1` }),
    reference: `${publicUrl}/docs`,
    guides: `${publicUrl}/docs/guides/`,
    openapi: `${publicUrl}/openapi.json`,
    tools_openapi: `${publicUrl}/tools/openapi.json`,
    ...(operatorToken === undefined
      ? {}
      : { operator_openapi: `${publicUrl}/operator/openapi.json` }),
    health: `${publicUrl}/health/ready`,
  },
})

const landingPage = (config: Config) =>
  layout({
    title: 'Cardstall',
    root: '.',
    config,
    main: html`<h1>Cardstall</h1>
<p>${manifest.description}.</p>
${sandboxNotice(config)}
${forDevelopers(config, '.')}`.text,
  })
