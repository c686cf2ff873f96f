import manifest from '../../../package.json' with { type: 'json' }
import type { Config } from '../../config.ts'
import { type Html, html } from '../html.ts'
import { isMailCaptured, SANDBOX_MAIL } from '../sandbox-mail.ts'

/** The parts of a landing page that describe the service. */

export function sandboxNotice(config: Config): Html | false {
  const { sandbox, operatorToken, publicUrl } = config
  if (!sandbox) return false
  return html`<p class="notice"><strong>This is a sandbox</strong>, made for trying things out. It has a demo seller and a clock that you can advance. The terminal that started the service shows the demo key, the demo seller’s password${
    operatorToken !== undefined &&
    html` and the operator token, which opens the <a href="${publicUrl}/console">console of the marketplace’s staff</a>`
  }.${isMailCaptured(config) && html` It sends no e-mail: <code>GET ${publicUrl}${SANDBOX_MAIL}</code> shows it.`}</p>`
}

/** @param root relative URL from the page to the service */
export function forDevelopers({ publicUrl, operatorToken }: Config, root: string): Html {
  const hasOperator = operatorToken !== undefined
  return html`<section class="developers">
<h2>For sellers’ programs</h2>
<p>Sellers’ programs use the seller API (<code>${publicUrl}/v1</code>) and the tools API (<code>${publicUrl}/tools/v1</code>)${hasOperator && html`, and the marketplace’s own back end uses the operator API (<code>${publicUrl}/operator/v1</code>)`}.</p>
<pre tabindex="0" role="group" aria-label="Code"><code>curl -H "Authorization: Bearer svc_live_…" \\
  ${publicUrl}/v1/me</code></pre>
<ul>
<li><a href="${root}/docs">API reference</a>: every operation, with requests to try</li>
<li><a href="${root}/docs/guides/">Guides</a>: listings, orders, labels, webhooks, errors, operating</li>
<li><a href="${root}/docs/guides/readme#a-tour-in-five-minutes">Tour</a>: the whole service in five minutes of curl</li>
<li>OpenAPI 3.1: <a href="${root}/openapi.json">seller API</a>, <a href="${root}/tools/openapi.json">tools API</a>${hasOperator && html`, <a href="${root}/operator/openapi.json">operator API</a>`}</li>
<li><a href="${root}/health/ready">Health</a>: whether the service is ready</li>
</ul>
<p>Version ${manifest.version}</p>
</section>`
}
