import { readFile } from 'node:fs/promises'
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Fastify from 'fastify'
import type { Service } from '../../service.ts'
import { lazy } from '../lazy.ts'
import { sendAsset, sendPage } from '../page.ts'

/**
 * The API reference, and the style sheet of all other pages. The reference is Scalar, served from its npm package, so that
 * it works offline. The package is loaded at the first visit, because loading it takes a quarter of a second.
 */
export const docsRoutes =
  (ctx: Service): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const scalar = lazy(scalarScript)
    const reference = lazy(() => readAsset('reference.js'))
    const styles = lazy(() => readAsset('pages.css'))

    app.get('/docs', (request, reply) => {
      // Relative URLs, so that the page works under any path prefix of a proxy.
      const root = request.url.split('?')[0]?.endsWith('/') ? '..' : '.'
      return sendPage(reply, html(root, ctx.config.operatorToken !== undefined), {
        // Scalar adds style elements and style attributes.
        'style-src': "'self' 'unsafe-inline'",
        'img-src': "'self' data: blob:",
        'font-src': "'self' data:",
        'worker-src': "'self' blob:",
      })
    })

    app.get('/docs/scalar.js', async (_request, reply) =>
      sendAsset(reply, await scalar(), 'text/javascript', 86_400),
    )
    app.get('/docs/reference.js', async (_request, reply) =>
      sendAsset(reply, await reference(), 'text/javascript'),
    )
    app.get('/docs/pages.css', async (_request, reply) =>
      sendAsset(reply, await styles(), 'text/css'),
    )
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

const readAsset = (file: string) => readFile(new URL(file, import.meta.url), 'utf8')

async function scalarScript(): Promise<string> {
  const scalar = await import('@scalar/fastify-api-reference')
  const app = Fastify()
  await app.register(scalar.default, { routePrefix: '/', configuration: { url: '/' } })
  const { body } = await app.inject('/js/scalar.js')
  await app.close()
  return body
}
