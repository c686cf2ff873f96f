import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Negotiator from 'negotiator'
import manifest from '../../../package.json' with { type: 'json' }
import type { Config } from '../../config.ts'
import type { Service } from '../../service.ts'
import { escapeHtml, sendPage } from '../page.ts'
import { layout } from './layout.ts'

/** The landing page: describes the service and links to its parts, as HTML for browsers and JSON for programs. */
export const landingRoutes =
  ({ config }: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const json = landingJson(config)
    const html = landingPage(config)
    app.get('/', (request, reply) => {
      reply.header('vary', 'accept').header('cache-control', 'no-cache')
      // Without a preference, as from curl, the first type.
      const type = new Negotiator(request.raw).mediaType(['application/json', 'text/html'])
      return type === 'text/html' ? sendPage(reply, html) : reply.send(json)
    })
    done()
  }

const landingJson = ({ publicUrl, sandbox, operatorToken }: Config) => ({
  name: 'Cardstall',
  version: manifest.version,
  description: manifest.description,
  sandbox,
  links: {
    seller_api: `${publicUrl}/v1`,
    ...(operatorToken === undefined ? {} : { operator_api: `${publicUrl}/operator/v1` }),
    reference: `${publicUrl}/docs`,
    guides: `${publicUrl}/docs/guides/`,
    openapi: `${publicUrl}/openapi.json`,
    ...(operatorToken === undefined
      ? {}
      : { operator_openapi: `${publicUrl}/operator/openapi.json` }),
    health: `${publicUrl}/health/ready`,
  },
})

function landingPage({ publicUrl, sandbox, operatorToken }: Config): string {
  const base = escapeHtml(`${publicUrl}/v1`)
  const hasOperator = operatorToken !== undefined
  const notice = sandbox
    ? `
      <p class="notice"><strong>This is a sandbox</strong>, made for trying things out. It has a demo seller and a clock that you can advance. The terminal that started the service shows the demo key${hasOperator ? ' and the operator token' : ''}.</p>`
    : ''
  const operator = hasOperator
    ? `, and the marketplace's own back end uses the operator API (<code>${escapeHtml(`${publicUrl}/operator/v1`)}</code>)`
    : ''
  return layout({
    title: 'Cardstall',
    root: '.',
    main: `      <h1>Cardstall</h1>
      <p>${escapeHtml(manifest.description)}. Sellers' programs use the seller API (<code>${base}</code>)${operator}.</p>${notice}
      <pre tabindex="0"><code>curl -H "Authorization: Bearer svc_live_…" \\
  ${base}/me</code></pre>
      <ul>
        <li><a href="./docs">API reference</a>: every operation, with requests to try</li>
        <li><a href="./docs/guides/">Guides</a>: listings, orders, labels, webhooks, errors, operating</li>
        <li><a href="./docs/guides/readme#a-tour-in-five-minutes">Tour</a>: the whole service in five minutes of curl</li>
        <li>OpenAPI 3.1: <a href="./openapi.json">seller API</a>${hasOperator ? ', <a href="./operator/openapi.json">operator API</a>' : ''}</li>
        <li><a href="./health/ready">Health</a>: whether the service is ready</li>
      </ul>
      <p>Version ${escapeHtml(manifest.version)}</p>`,
  })
}
