import { readFile } from 'node:fs/promises'
import path from 'node:path'
import manifest from '../../../package.json' with { type: 'json' }
import { notFound } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { lazy } from '../lazy.ts'
import { acceptsGzip, sendAsset, sendPage } from '../page.ts'
import type { App } from '../schema.ts'

/**
 * The API reference, and the style sheet of all other pages. The reference is Scalar, served from here, so that it works
 * offline.
 *
 * @param built the folder of the dashboard's built files, which has its script
 */
export function docsRoutes(app: App, ctx: Service, built: string): void {
  const script = path.join(built, 'scalar.js')
  const scalar = lazy(() => scalarScript(script))
  const compressed = lazy(() => readFile(`${script}.gz`))
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

  app.get('/docs/scalar.js', async (request, reply) => {
    const gzipped = acceptsGzip(request, reply) ? await compressed().catch(() => null) : null
    if (gzipped) reply.header('content-encoding', 'gzip')
    return sendAsset(reply, gzipped ?? (await scalar()), 'text/javascript', 86_400)
  })
  app.get('/docs/reference.js', async (_request, reply) =>
    sendAsset(reply, await reference(), 'text/javascript'),
  )
  app.get('/docs/pages.css', async (_request, reply) =>
    sendAsset(reply, await styles(), 'text/css'),
  )
}

/** Part of the scripts' addresses: after an update, a cache must not combine one of them with an earlier other one. */
const VERSION = `?v=${manifest.version}`

/** Scalar replaces the text. On a slow connection, its script of more than a megabyte takes ten seconds. */
const html = (root: string, withOperator: boolean) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Cardstall API reference</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="reference"${withOperator ? ' data-operator' : ''}>
      <p>The API reference is loading. It needs JavaScript; without it, read the <a href="${root}/docs/guides/">guides</a> and the <a href="${root}/openapi.json">OpenAPI file</a>.</p>
    </div>
    <script src="${root}/docs/scalar.js${VERSION}"></script>
    <script src="${root}/docs/reference.js${VERSION}"></script>
  </body>
</html>
`

const readAsset = (file: string) => readFile(new URL(file, import.meta.url))

async function scalarScript(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch {
    // The first build has not finished yet. The package takes a quarter of a second to load.
    const { readScalar } = await import('./scalar.ts')
    const script = await readScalar().catch(() => {
      throw notFound('The API reference has not been built.')
    })
    return Buffer.from(script)
  }
}
