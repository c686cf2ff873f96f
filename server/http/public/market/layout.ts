import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../context.ts'
import { weakEntityTag } from '../../entity-tag.ts'
import type { Prepared } from '../../fast-lane.ts'
import { Html, html } from '../../html.ts'
import { signInAddress } from '../../own-origin.ts'
import { HTML_TYPE, pageHeaders, rootOf, sendPage } from '../../page.ts'

export type MarketPage = {
  title: string
  /** One sentence, shown by search engines. */
  description: string
  /** The page's address below MARKETPLACE_URL; undefined for a page that search engines should leave out. */
  canonical?: string | undefined
  main: Html
  /** A picture of the item, which chats and social networks show next to a link. */
  image?: string | null | undefined
  /** schema.org data. */
  structured?: object | undefined
  /** The text in the search box. */
  query?: string | undefined
}

/** Shared caches may keep a page for a minute. */
const CACHE_CONTROL = 'public, max-age=60'

type Ctx = Pick<Context, 'config'>

/** No page needs a script. The pictures of cards are on other hosts. */
const POLICY = {
  'script-src': "'none'",
  // Lighthouse reads /robots.txt from the page that it audits.
  'connect-src': "'self'",
  'form-action': "'self'",
  'img-src': "'self' data: https:",
}

/** Sends a page. `finishPublic` sends 304 if the client's copy is current. */
export function sendMarketPage(
  ctx: Ctx,
  request: FastifyRequest,
  reply: FastifyReply,
  page: MarketPage,
  cacheControl = CACHE_CONTROL,
) {
  const { body, tag } = bytesOf(ctx, page, rootOf(request))
  return sendPage(reply.header('cache-control', cacheControl).header('etag', tag), body, POLICY)
}

/** The response of `sendMarketPage` for the fast lane. */
export const preparedPage = (
  ctx: Ctx,
  page: MarketPage,
  root: string,
  route: string,
): Prepared => ({
  ...bytesOf(ctx, page, root),
  route,
  page: PREPARED,
})

const PREPARED = {
  cacheControl: CACHE_CONTROL,
  type: HTML_TYPE,
  headers: Object.entries(pageHeaders(POLICY)),
}

function bytesOf(ctx: Ctx, page: MarketPage, root: string): { body: Buffer; tag: string } {
  // Bytes, because the hash and the socket would each encode the text.
  const body = Buffer.from(render(ctx, page, root))
  return { body, tag: weakEntityTag(body) }
}

/** Sends the page of an error, which no cache keeps. */
export const sendErrorPage = (
  ctx: Ctx,
  request: FastifyRequest,
  reply: FastifyReply,
  { status, message, more }: { status: number; message: string; more?: Html },
) => {
  const main = html`<section class="empty">
  <h1>${message}</h1>
  ${more}
  <p>Try the search above, or <a href="${rootOf(request)}/">see the newest sets</a>.</p>
</section>`
  const page = { title: message, description: message, main }
  return sendPage(
    reply.code(status).header('cache-control', 'no-store'),
    render(ctx, page, rootOf(request)),
    POLICY,
  )
}

function render(
  { config }: Ctx,
  { title, description, canonical, main, image, structured, query }: MarketPage,
  root: string,
): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<meta name="description" content="${description}">
${image && html`<meta property="og:image" content="${image}">\n`}${canonical === undefined ? html`<meta name="robots" content="noindex">` : html`<link rel="canonical" href="${canonical}">`}
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}/market.css">${
    structured &&
    html`
<script type="application/ld+json">${jsonInHtml(structured)}</script>`
  }
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<a class="brand" href="${root}/">Cardstall</a>
<form action="${root}/search" role="search">
<input type="search" name="q" value="${query}" maxlength="200" placeholder="Card, set or product" aria-label="Search cards, sets and products">
<button>Search</button>
</form>
</header>
<main id="main">
${main}
</main>
<footer class="bottom">
<nav aria-label="About this marketplace">
<a href="${root}/sets">Sets</a>
<a href="${root}/docs/guides/">Guides for sellers</a>
<a href="${root}/docs">API reference</a>
<a href="${signInAddress(config, root)}">Sign in to your shop</a>
</nav>
</footer>
</body>
</html>
`.text
}

/** JSON inside a script element: no text in it can end the element. */
const jsonInHtml = (data: object) => new Html(JSON.stringify(data).replaceAll('<', '\\u003c'))
