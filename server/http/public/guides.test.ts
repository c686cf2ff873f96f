import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { text as streamText } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { DESCRIPTIONS } from '../../test/descriptions.ts'
import { findGuides } from './guides.ts'
import { renderMarkdown } from './markdown.ts'

const REPOSITORY = path.join(import.meta.dirname, '../../..')
const ORIGIN = 'https://cards.example'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

/** Follows redirects, as a browser does. */
async function visit(address: string): Promise<{ url: URL; status: number; text: string }> {
  const url = new URL(address, ORIGIN)
  const { status, headers, text } = await app.anyone.get(url.pathname, {
    headers: { accept: 'text/html' },
  })
  if (status !== 308) return { url, status, text }
  return visit(new URL(headers.location!, url).href)
}

async function getRaw(path: string): Promise<{ status: number; text: string }> {
  const { port } = app.app.server.address() as AddressInfo
  const [response] = await once(get({ host: '127.0.0.1', port, path, agent: false }), 'response')
  return { status: response.statusCode, text: await streamText(response) }
}

const linksIn = (html: string) =>
  [...html.matchAll(/ (?:href|src)="([^"]*)"/g)]
    .map(([, link]) => link!.replaceAll('&amp;', '&'))
    .filter((link) => !link.startsWith('data:'))

describe('the guides', () => {
  it('the landing page and the guides have only valid links, and every guide is linked', async () => {
    const visited = new Map<string, string>()
    const pending = ['/', '/docs/', '/docs/guides']
    for (const address of pending) {
      const { url, status, text } = await visit(address)
      expect(status, address).toBe(200)
      if (url.hash && !url.pathname.endsWith('/docs')) {
        expect(text, address).toContain(` id="${url.hash.slice(1)}"`)
      }
      if (visited.has(url.pathname)) continue
      visited.set(url.pathname, text)
      if (!text.startsWith('<!doctype html>')) continue
      for (const link of linksIn(text)) {
        const target = new URL(link, url)
        if (target.origin === ORIGIN) pending.push(target.href)
        else expect(target.protocol, link).toBe('https:')
      }
    }
    const guides = readdirSync(path.join(REPOSITORY, 'docs'))
      .filter((file) => file.endsWith('.md') && file !== 'README.md')
      .map((file) => `/docs/guides/${path.basename(file, '.md')}`)
    expect([...visited.keys()]).toEqual(expect.arrayContaining(guides))
  })

  it('all API descriptions link to the guides with valid links', async () => {
    for (const { path } of DESCRIPTIONS) {
      const { body } = await app.anyone.get(path)
      const described = [...body.info.description.matchAll(/\]\(([^)]+)\)/g)].map(([, url]) => url)
      expect(body.externalDocs.url).toBe(`${ORIGIN}/docs/guides/`)
      for (const link of [body.externalDocs.url, ...described]) {
        const { url, status, text } = await visit(link)
        expect(status, link).toBe(200)
        if (url.hash) expect(text, link).toContain(` id="${url.hash.slice(1)}"`)
      }
    }
  })

  it('the guides link only to files that exist in the repository', async () => {
    for (const { file, type } of (await findGuides(app.ctx.config)).values()) {
      if (type !== 'page') continue
      const source = readFileSync(path.join(REPOSITORY, file), 'utf8')
      renderMarkdown(source, (href) => {
        if (/^(https?:|#)/.test(href)) return undefined
        const target = path.join(REPOSITORY, path.dirname(file), href.split('#')[0]!)
        expect(existsSync(target), `${href} in ${file}`).toBe(true)
        return undefined
      })
    }
  })

  it('a guide is served as a page with a title, our style sheet and the security headers', async () => {
    const { headers, text } = await app.anyone.get('/docs/guides/orders')
    expect(text).toContain('<title>Orders – Cardstall</title>')
    expect(text).toContain('<link rel="stylesheet" href="../../docs/pages.css">')
    expect(text).not.toContain('<script')
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      ),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
  })

  it('an example file is served as plain text, which no browser runs', async () => {
    const { headers, text } = await app.anyone.get('/docs/guides/examples/verify-webhook.ts')
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
    expect(text).toBe(
      readFileSync(path.join(REPOSITORY, 'docs/examples/verify-webhook.ts'), 'utf8'),
    )
  })

  it('a picture of the README is served as a picture', async () => {
    const readme = await app.anyone.get('/docs/guides/readme')
    const [, source] = /<img src="([^"]+)"/.exec(readme.text) ?? []
    const { status, headers } = await app.anyone.get(`/docs/guides/${source}`)
    expect([status, headers['content-type']]).toEqual([200, 'image/png'])
  })

  it('no other file than the guides, examples and pictures can be read under /docs/guides/', async () => {
    // Over a socket: URL parsers resolve dot segments before they send a path.
    await app.app.listen({ host: '127.0.0.1', port: 0 })
    for (const name of [
      'README',
      'orders.md',
      '../orders',
      '../../package.json',
      '..%2f..%2fpackage.json',
      '..%2F.env',
      '%2e%2e/%2e%2e/cardstall.js',
      '..%5c..%5cpackage.json',
      'examples',
      'examples/',
      'examples/..%2forders.md',
      'examples/../../../package.json',
      'orders%00',
      '/etc/passwd',
      '%2fetc%2fpasswd',
      '__proto__',
      'constructor',
    ]) {
      const { status, text } = await getRaw(`/docs/guides/${name}`)
      expect(status, name).toBe(404)
      expect(JSON.parse(text).error.type, name).toBe('not_found')
    }
  })

  it('the guides are in the container image', async () => {
    const read = (file: string) => readFileSync(path.join(REPOSITORY, file), 'utf8')
    const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, sources]) => sources!.split(' '),
    )
    const permitted = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, entry]) => entry)
    for (const { file } of (await findGuides(app.ctx.config)).values()) {
      const [entry] = file.split('/')
      expect(copied, file).toContain(entry)
      expect(permitted, file).toContain(entry)
    }
  })
})

describe('Markdown', () => {
  const html = (text: string) => renderMarkdown(text, (href) => href).html

  it('Markdown shows raw HTML as text and drops comments', () => {
    expect(html('<script>alert(1)</script>')).toContain('&lt;script&gt;')
    expect(html('a <img src=x onerror=alert(1)> b')).not.toContain('<img')
    expect(html('<!-- a note -->\n\ntext')).toBe('<p>text</p>\n')
    expect(html('```html\n<b>&amp;</b>\n```')).toContain('&lt;b&gt;&amp;amp;&lt;/b&gt;')
    expect(html('[a](<x" onclick="y>)')).toContain('href="x&quot; onclick=&quot;y"')
  })

  it('Markdown headings get the anchors that GitHub gives them', () => {
    const page = html('# E-mail\n## What `it` does\n## Once each\n## Once each\n## A & B')
    expect([...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)).toEqual([
      'e-mail',
      'what-it-does',
      'once-each',
      'once-each-1',
      'a--b',
    ])
  })

  it('a column of a guide without a name has no header cell', async () => {
    const table = html('| | Lifetime |\n| --- | --- |\n| token | 1 h |')
    expect(table).toContain('<td></td>\n<th>Lifetime</th>')
    for (const guide of ['oauth', 'agents', 'sign-in', 'specification']) {
      expect((await visit(`/docs/guides/${guide}`)).text, guide).not.toMatch(/<th[^>]*><\/th>/)
    }
  })

  it('each block of a guide that the keyboard reaches, because it scrolls, has a role and a name', () => {
    const page = html('```\ncode\n```\n\n| a |\n| --- |\n| b |\n')
    const attributes = [...page.matchAll(/tabindex="0"([^>]*)>/g)].map(([, others]) => others)
    expect(attributes).toEqual([
      ' role="group" aria-label="Code"',
      ' role="group" aria-label="Table"',
    ])
  })

  it('a Mermaid state diagram is shown as a table of its transitions', () => {
    const diagram = '```mermaid\nstateDiagram-v2\n  [*] --> a: go\n  a --> [*]\n```'
    expect(html(diagram)).toContain(
      '<tr><td>(start)</td><td>a</td><td>go</td></tr><tr><td>a</td><td>(end)</td><td></td></tr>',
    )
  })
})
