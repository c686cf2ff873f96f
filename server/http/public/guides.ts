import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyReply } from 'fastify'
import type { Config } from '../../config.ts'
import { notFound } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { lazy } from '../lazy.ts'
import { isMissedByPerson, sendMissingPage } from '../missing-page.ts'
import { sendAsset, sendPage } from '../page.ts'
import type { App } from '../schema.ts'
import { layout } from './layout.ts'
import { renderMarkdown } from './markdown.ts'

/** The service's URL in the documentation. A served guide replaces it by its own. */
const EXAMPLE_ADDRESS = /^http:\/\/localhost:3000(?=\/|$)/

const MISSING = 'There is no such guide'

const REPOSITORY = new URL('../../../', import.meta.url)

type Guide = {
  file: string
  type: 'page' | 'text/plain' | 'image/png'
  body: () => Promise<Buffer>
}

/** Serves the repository's documentation as HTML pages, its examples as text, and its pictures. */
export function guideRoutes(app: App, { config }: Service): void {
  const guides = lazy(() => findGuides(config))

  app.get('/docs/guides', async (request, reply) => {
    // The links of the index are relative to the URL with a slash at its end.
    if (!pathOf(request.url).endsWith('/')) return reply.redirect('guides/', 308)
    return sendGuide(reply, (await guides()).get('')!)
  })

  app.get<{ Params: { '*': string } }>('/docs/guides/*', async (request, reply) => {
    const name = request.params['*']
    const guide = (await guides()).get(name)
    if (!name || !guide) {
      if (isMissedByPerson(request)) return sendMissingPage(request, reply, MISSING)
      throw notFound(`${MISSING}.`)
    }
    if (pathOf(request.url).endsWith('/')) {
      return reply.redirect(`../${path.posix.basename(name)}`, 308)
    }
    return sendGuide(reply, guide)
  })
}

async function sendGuide(reply: FastifyReply, guide: Guide) {
  if (guide.type === 'page') return sendPage(reply, await guide.body())
  if (guide.type === 'text/plain') return sendAsset(reply, await guide.body(), guide.type)
  return reply
    .header('cache-control', 'public, max-age=300')
    .type(guide.type)
    .send(await guide.body())
}

const pathOf = (url: string) => url.split('?', 1)[0]!

/**
 * Finds the guides by their names below /docs/guides/. Only names in this map are served, so no name can leave the
 * documentation. A page is rendered at its first request.
 */
export async function findGuides(config: Config): Promise<Map<string, Guide>> {
  const files = new Map([
    ['docs/README.md', ''],
    ['README.md', 'readme'],
    ['CHANGELOG.md', 'changelog'],
    ['catalog/README.md', 'catalog'],
    ['catalog/tcgdex-LICENSE.txt', 'tcgdex-licence.txt'],
  ])
  for (const file of await readdir(new URL('docs/', REPOSITORY), { recursive: true })) {
    if (/^(?!README)[\w-]+\.md$|^examples\/[\w-]+\.[a-z]+$|^images\/\w+\.png$/.test(file)) {
      files.set(`docs/${file}`, file.replace(/\.md$/, ''))
    }
  }
  return new Map(
    [...files].map(([file, name]): [string, Guide] => {
      const url = new URL(file, REPOSITORY)
      if (file.endsWith('.png')) {
        return [name, { file, type: 'image/png', body: () => readFile(url) }]
      }
      if (!file.endsWith('.md')) {
        return [name, { file, type: 'text/plain', body: lazy(() => readFile(url)) }]
      }
      const body = lazy(async () => {
        const text = await readFile(url, 'utf8')
        return Buffer.from(guidePage(text, { file, files, config }))
      })
      return [name, { file, type: 'page', body }]
    }),
  )
}

const ROOT = '../..'

/** Renders a guide. All pages are on one level, so a link from page to page is just a name. */
function guidePage(
  text: string,
  { file, files, config }: { file: string; files: Map<string, string>; config: Config },
): string {
  const { title, html } = renderMarkdown(text, (href) => {
    if (EXAMPLE_ADDRESS.test(href)) return href.replace(EXAMPLE_ADDRESS, ROOT)
    if (/^(https?:|#)/.test(href)) return href
    const [target = '', anchor] = href.split('#')
    const name = files.get(path.posix.join(path.posix.dirname(file), target))
    // The repository's sources and settings are not served.
    if (name === undefined) return undefined
    return `${name || './'}${anchor ? `#${anchor}` : ''}`
  })
  return layout({ title: `${title} – Cardstall`, root: ROOT, main: html, config })
}
