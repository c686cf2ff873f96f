import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BuildState, DashboardBuild } from '../../dashboard/build.ts'
import { notFound } from '../../errors.ts'
import { html } from '../html.ts'
import { lazy } from '../lazy.ts'
import { acceptsGzip, type PolicyChanges, rootOf, sendPage } from '../page.ts'
import { plainPage } from '../plain-page.ts'
import { type Manifest, pageLinks, startFiles } from './page-links.ts'

/** The one style element of React Aria (touch behaviour), which it adds at run time. */
const REACT_ARIA_STYLE = "'sha256-38RhXrc7EdReTKsOm23ZPOCUgniTUUcjky8QOOrQx6o='"

/** Directives of both pages that differ from the common policy. */
const STYLES = { 'style-src': `'self' ${REACT_ARIA_STYLE}` }

/** Pictures of cards are on other hosts. Sign-out is a form. */
const DASHBOARD_POLICY = { ...STYLES, 'img-src': "'self' data: https:", 'form-action': "'self'" }

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const REFRESH_S = 2

const SENTENCES: Record<Exclude<BuildState, 'ready'>, string> = {
  building: 'This page is being built. It opens in a few seconds.',
  failed: 'This page could not be built. The service’s log says why.',
  missing: 'This page has not been built. Run “npm ci && npm run build” in the service’s folder.',
}

type File = { bytes: Buffer; gzipped: () => Promise<Buffer> }

type BuiltPages = Record<'dashboard' | 'console', (app: FastifyInstance) => void> & {
  /** The paths of the files that the dashboard begins with, below `/dashboard`; none until it is built. */
  startFiles(): Promise<string[]>
}

/**
 * The pages of the dashboard and of the console. Every path below `/dashboard` that isn't a file or an API call gets the
 * same page, which shows what its address says; so does every path below `/console`. The names of files contain their
 * hashes, so browsers may keep them forever.
 */
export function builtPages(build: DashboardBuild): BuiltPages {
  // All files at once: another build may replace them later, and an open page still needs its own.
  let isRead = false
  const files = lazy(async () => {
    const read = await readFiles(build.directory)
    isRead = true
    return read
  })
  const stateNow = async () => (isRead ? 'ready' : build.state())

  const sendBuilt =
    (name: 'index' | 'console', title: string, policy: PolicyChanges) =>
    async (request: FastifyRequest<{ Params: { '*'?: string } }>, reply: FastifyReply) => {
      const state = await stateNow()
      reply.header('cache-control', 'no-cache')
      if (state !== 'ready') return sendUnavailable(request, reply, state, title)
      const { [name]: page, manifest } = await files()
      const links = pageLinks(manifest, name, request.params['*'] ?? '')
      const html = page.replace('</head>', () => `${links}</head>`)
      const dashboard = `${rootOf(request)}/dashboard/`
      return sendPage(reply, html.replaceAll('="./', `="${dashboard}`), policy)
    }

  const dashboard = (app: FastifyInstance) => {
    const sendIndex = sendBuilt('index', 'Dashboard', DASHBOARD_POLICY)
    app.get('/dashboard', sendIndex)
    app.get<{ Params: { '*'?: string } }>('/dashboard/*', sendIndex)
    app.get('/dashboard/api/*', () => {
      throw notFound('There is nothing at this address.')
    })
    app.get<{ Params: { file: string } }>('/dashboard/assets/:file', async (request, reply) => {
      const { file: name } = request.params
      const isBuilt = (await stateNow()) === 'ready'
      const file = isBuilt ? (await files()).assets.get(name) : undefined
      if (!file) throw notFound('There is no such file.')
      reply.headers({
        'content-type': TYPES[path.extname(name)] ?? 'application/octet-stream',
        'cache-control': 'public, max-age=31536000, immutable',
      })
      if (!acceptsGzip(request, reply)) return reply.send(file.bytes)
      const gzipped = await file.gzipped()
      return reply.header('content-encoding', 'gzip').send(gzipped)
    })
  }

  const console = (app: FastifyInstance) => {
    // Its policy stays as strict as it can be: a script of another origin must never reach the token.
    const sendConsole = sendBuilt('console', 'Console', STYLES)
    app.get('/console', sendConsole)
    app.get('/console/*', sendConsole)
  }
  return {
    dashboard,
    console,
    async startFiles() {
      return (await stateNow()) === 'ready' ? startFiles((await files()).manifest) : []
    },
  }
}

function sendUnavailable(
  request: FastifyRequest,
  reply: FastifyReply,
  state: Exclude<BuildState, 'ready'>,
  title: string,
) {
  if (state === 'building') reply.header('refresh', REFRESH_S).header('retry-after', REFRESH_S)
  const page = plainPage(title, html`<p>${SENTENCES[state]}</p>`, rootOf(request))
  return sendPage(reply.code(503), page)
}

const compress = promisify(gzip)

async function readFiles(
  directory: string,
): Promise<{ index: string; console: string; manifest: Manifest; assets: Map<string, File> }> {
  const folder = path.join(directory, 'assets')
  const [index, console, manifest, names] = await Promise.all([
    readFile(path.join(directory, 'index.html'), 'utf8'),
    readFile(path.join(directory, 'console.html'), 'utf8'),
    readFile(path.join(directory, '.vite/manifest.json'), 'utf8'),
    readdir(folder),
  ])
  const assets = await Promise.all(
    names.map(async (name): Promise<[string, File]> => {
      const bytes = await readFile(path.join(folder, name))
      return [name, { bytes, gzipped: lazy(() => compress(bytes)) }]
    }),
  )
  return {
    index,
    console,
    manifest: new Map(Object.entries(JSON.parse(manifest))),
    assets: new Map(assets),
  }
}
