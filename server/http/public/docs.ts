import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Fastify from 'fastify'
import type { Context } from '../../context.ts'

/**
 * The reference page: Scalar, served from its npm package, so that it works without the internet. The package is
 * loaded with the first visit, because it would cost every start a quarter of a second.
 */
export const docsRoutes =
  (ctx: Context): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    let script: Promise<string> | undefined

    app.get('/docs', (request, reply) => {
      // Relative addresses: the page works under any prefix that a proxy puts before it.
      const root = request.url.split('?')[0]?.endsWith('/') ? '..' : '.'
      return reply
        .header('content-security-policy', CONTENT_SECURITY_POLICY)
        .type('text/html; charset=utf-8')
        .send(html(root, ctx.config.operatorToken !== undefined))
    })

    app.get('/docs/scalar.js', async (_request, reply) => {
      script ??= scalarScript()
      return reply
        .header('cache-control', 'public, max-age=86400')
        .type('text/javascript; charset=utf-8')
        .send(await script)
    })
    done()
  }

/** Nothing from elsewhere is loaded, whatever the reference would like to fetch. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:"

const html = (root: string, withOperator: boolean) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Cardstall API reference</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="reference"></div>
    <script src="${root}/docs/scalar.js"></script>
    <script>
      Scalar.createApiReference('#reference', {
        sources: [
          { title: 'Seller API', slug: 'seller', url: '${root}/openapi.json' },${
            withOperator
              ? `
          { title: 'Operator API', slug: 'operator', url: '${root}/operator/openapi.json' },`
              : ''
          }
        ],
        withDefaultFonts: false,
        telemetry: false,
        hideClientButton: true,
        agent: { disabled: true },
        mcp: { disabled: true },
        showDeveloperTools: 'never',
      })
    </script>
  </body>
</html>
`

async function scalarScript(): Promise<string> {
  const scalar = await import('@scalar/fastify-api-reference')
  const app = Fastify()
  await app.register(scalar.default, { routePrefix: '/', configuration: { url: '/' } })
  const { body } = await app.inject('/js/scalar.js')
  await app.close()
  return body
}
