import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../../../catalog/catalog.ts'
import { notFound } from '../../../errors.ts'
import { shopSlugs } from '../../../listings/market.ts'
import type { Service } from '../../../service.ts'
import { escapeHtml, sendAsset } from '../../page.ts'

/** Addresses in one part. Search engines accept up to 50,000, but a part is built while other requests wait. */
const PER_PART = 10_000
const MAX_SHOPS = 50_000
const MAX_AGE_SECONDS = 3_600

/** `/sitemap.xml`: the parts of the sitemap, for search engines. */
export function sitemapIndex(app: FastifyInstance, ctx: Service): void {
  const prefix = ctx.config.marketplaceUrl
  app.get('/sitemap.xml', (_request, reply) => {
    const parts = Math.ceil(pathsOf(ctx.catalog.current).length / PER_PART)
    const names = [...Array.from({ length: parts }, (_, i) => `catalog-${i + 1}`), 'shops']
    const entries = names.map((name) => element('sitemap', `${prefix}/sitemaps/${name}.xml`))
    return sendXml(reply, documentOf('sitemapindex', entries))
  })
}

/** `/sitemaps/{part}`: the addresses of all pages. */
export function sitemapParts(app: FastifyInstance, ctx: Service): void {
  const prefix = ctx.config.marketplaceUrl
  const entriesOf = (paths: string[]) => paths.map((path) => element('url', prefix + path))
  /** Kept as bytes, which all clients share: a client that doesn't read its response must not cost a copy. */
  const made = new WeakMap<Catalog, Map<number, Buffer>>()
  const catalogPart = (number: number): Buffer => {
    const catalog = ctx.catalog.current
    const parts = made.getOrInsertComputed(catalog, () => new Map())
    return parts.getOrInsertComputed(number, () => {
      const first = (number - 1) * PER_PART
      const paths = pathsOf(catalog).slice(first, first + PER_PART)
      if (paths.length === 0) throw notFound('There is no such sitemap.')
      return Buffer.from(documentOf('urlset', entriesOf(paths)))
    })
  }
  app.get<{ Params: { part: string } }>('/sitemaps/:part', async ({ params }, reply) => {
    if (params.part === 'shops.xml') {
      const slugs = await shopSlugs(ctx, MAX_SHOPS)
      const paths = slugs.map((slug) => `/shops/${encodeURIComponent(slug)}`)
      return sendXml(reply, documentOf('urlset', entriesOf(paths)))
    }
    const [, number] = /^catalog-([1-9]\d{0,3})\.xml$/.exec(params.part) ?? []
    if (!number) throw notFound('There is no such sitemap.')
    return sendXml(reply, catalogPart(Number(number)))
  })
}

export function robots(app: FastifyInstance, { config }: Service): void {
  app.get('/robots.txt', (_request, reply) =>
    sendAsset(
      reply,
      `User-agent: *\nDisallow: /search\nDisallow: /v1/\n\nSitemap: ${config.marketplaceUrl}/sitemap.xml\n`,
      'text/plain',
      MAX_AGE_SECONDS,
    ),
  )
}

const known = new WeakMap<Catalog, string[]>()

/** The paths of all sets, cards and products, kept as long as their catalog. */
function pathsOf(catalog: Catalog): string[] {
  let paths = known.get(catalog)
  if (!paths) {
    paths = [
      ...catalog.sets.map(({ id }) => `/sets/${encodeURIComponent(id)}`),
      ...catalog.products.map(({ slug }) => `/products/${encodeURIComponent(slug)}`),
      ...catalog.cards.map(({ id }) => `/cards/${encodeURIComponent(id)}`),
    ]
    known.set(catalog, paths)
  }
  return paths
}

const element = (name: string, location: string) =>
  `<${name}><loc>${escapeHtml(location)}</loc></${name}>`

const documentOf = (root: string, entries: string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${entries.join('\n')}\n</${root}>\n`

const sendXml = (reply: Parameters<typeof sendAsset>[0], xml: string | Buffer) =>
  sendAsset(reply, xml, 'application/xml', MAX_AGE_SECONDS)
