import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { BuildState, DashboardBuild } from '../../dashboard/build.ts'
import { notFound } from '../../errors.ts'
import { html } from '../html.ts'
import { lazy } from '../lazy.ts'
import { sendPage } from '../page.ts'

/** The one style element of React Aria (touch behaviour), which it adds at run time. */
const REACT_ARIA_STYLE = "'sha256-38RhXrc7EdReTKsOm23ZPOCUgniTUUcjky8QOOrQx6o='"

/** Pictures of cards are on other hosts. Sign-out is a form. */
const POLICY = {
  'style-src': `'self' ${REACT_ARIA_STYLE}`,
  'img-src': "'self' data: https:",
  'form-action': "'self'",
}

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const REFRESH_S = 2

const SENTENCES: Record<Exclude<BuildState, 'ready'>, string> = {
  building: 'The dashboard is being built. This page opens it in a few seconds.',
  failed: 'The dashboard could not be built. The service’s log says why.',
  missing:
    'The dashboard has not been built. Run “npm ci && npm run build” in the service’s folder.',
}

type File = { bytes: Buffer; gzipped: () => Promise<Buffer> }

/**
 * The dashboard's page. Every path below `/dashboard` that isn't a file or an API call gets the same page, which shows
 * what its address says. The names of files contain their hashes, so browsers may keep them forever.
 */
export const dashboardApp =
  (build: DashboardBuild): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    // All files at once: another build may replace them later, and an open page still needs its own.
    const files = lazy(() => readFiles(build.directory))

    const sendIndex = async (request: FastifyRequest, reply: FastifyReply) => {
      const state = await build.state()
      reply.header('cache-control', 'no-cache')
      if (state !== 'ready') return sendUnavailable(reply, state)
      const { index } = await files()
      return sendPage(reply, index.replaceAll('./assets/', `${rootOf(request)}assets/`), POLICY)
    }

    app.get('/dashboard', sendIndex)
    app.get('/dashboard/*', sendIndex)
    app.get('/dashboard/api/*', () => {
      throw notFound('There is nothing at this address.')
    })
    app.get<{ Params: { file: string } }>('/dashboard/assets/:file', async (request, reply) => {
      const { file: name } = request.params
      const isBuilt = (await build.state()) === 'ready'
      const file = isBuilt ? (await files()).assets.get(name) : undefined
      if (!file) throw notFound('There is no such file.')
      reply.headers({
        'content-type': TYPES[path.extname(name)] ?? 'application/octet-stream',
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
      })
      if (new Negotiator(request.raw).encoding(['gzip', 'identity']) !== 'gzip') {
        return reply.send(file.bytes)
      }
      return reply.header('content-encoding', 'gzip').send(await file.gzipped())
    })
    done()
  }

function sendUnavailable(reply: FastifyReply, state: Exclude<BuildState, 'ready'>) {
  if (state === 'building') reply.header('refresh', REFRESH_S).header('retry-after', REFRESH_S)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Cardstall</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>Dashboard</h1>
<p>${SENTENCES[state]}</p>
</body>
</html>
`
  return sendPage(reply.code(503), page.text)
}

/** The relative address of `/dashboard/` from a page, so that it works under any path prefix of a proxy. */
function rootOf({ url }: FastifyRequest): string {
  const depth = url.split('?', 1)[0]!.split('/').length - 2
  return depth === 0 ? './dashboard/' : depth === 1 ? './' : '../'.repeat(depth - 1)
}

const compress = promisify(gzip)

async function readFiles(directory: string): Promise<{ index: string; assets: Map<string, File> }> {
  const folder = path.join(directory, 'assets')
  const [index, names] = await Promise.all([
    readFile(path.join(directory, 'index.html'), 'utf8'),
    readdir(folder),
  ])
  const assets = await Promise.all(
    names.map(async (name): Promise<[string, File]> => {
      const bytes = await readFile(path.join(folder, name))
      return [name, { bytes, gzipped: lazy(() => compress(bytes)) }]
    }),
  )
  return { index, assets: new Map(assets) }
}
