import { readFile } from 'node:fs/promises'
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Fastify from 'fastify'
import type { Context } from '../../context.ts'
import { lazy } from '../lazy.ts'
import { sendPage } from '../page.ts'

/**
 * The reference page: Scalar, served from its npm package, so that it works without the internet. The package is
 * loaded with the first visit, because it would cost every start a quarter of a second.
 */
export const docsRoutes =
  (ctx: Context): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const scripts: Record<string, () => Promise<string>> = {
      '/docs/scalar.js': lazy(scalarScript),
      '/docs/reference.js': lazy(() => readFile(new URL('reference.js', import.meta.url), 'utf8')),
    }

    app.get('/docs', (request, reply) => {
      // Relative addresses: the page works under any prefix that a proxy puts before it.
      const root = request.url.split('?')[0]?.endsWith('/') ? '..' : '.'
      return sendPage(reply, html(root, ctx.config.operatorToken !== undefined), {
        // Scalar adds style elements and style attributes of its own.
        'style-src': "'self' 'unsafe-inline'",
        'img-src': "'self' data: blob:",
        'font-src': "'self' data:",
        'worker-src': "'self' blob:",
      })
    })

    for (const [path, script] of Object.entries(scripts)) {
      app.get(path, async (_request, reply) =>
        reply
          .header('cache-control', 'public, max-age=86400')
          .header('x-content-type-options', 'nosniff')
          .type('text/javascript; charset=utf-8')
          .send(await script()),
      )
    }
    done()
  }

const html = (root: string, withOperator: boolean) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Cardstall API reference</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="reference"${withOperator ? ' data-operator' : ''}></div>
    <script src="${root}/docs/scalar.js"></script>
    <script src="${root}/docs/reference.js"></script>
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
