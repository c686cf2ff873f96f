type Chunk = { file: string; imports?: string[]; css?: string[] }

/** Vite's manifest of the built files: each chunk by the path of its source. */
export type Manifest = ReadonlyMap<string, Chunk>

/** The one read that each page of the dashboard begins with. The browser gives its response to the first `fetch` of it. */
const ME = '<link rel="preload" as="fetch" crossorigin href="./api/me">\n'

/**
 * The links that load the code of a page, its style and the account together with the first script. Without them, the
 * browser knows of these only when that script has run.
 *
 * @param address the address below that of the dashboard or the console
 */
export function pageLinks(manifest: Manifest, app: 'index' | 'console', address: string): string {
  const start = filesOf(manifest, [`${app}.html`])
  const files = filesOf(manifest, sourcesOf(app, address)).difference(start)
  const links = [...files].map((file) =>
    file.endsWith('.css')
      ? `<link rel="stylesheet" crossorigin href="./${file}">\n`
      : `<link rel="modulepreload" crossorigin href="./${file}">\n`,
  )
  return links.join('') + (app === 'index' ? ME : '')
}

/** The files that the dashboard begins with. */
export const startFiles = (manifest: Manifest): string[] => [
  ...filesOf(manifest, ['index.html', ...sourcesOf('index', '')]),
]

/** Where the code of a page and of its part can be. The first page of the console depends on the person's role. */
function sourcesOf(app: 'index' | 'console', address: string): string[] {
  const [page, part] = address.split('/')
  if (!page) return app === 'index' ? ['src/overview/page.tsx'] : []
  const code = `${app === 'index' ? 'src' : 'src/console'}/${page}`
  return [`${code}.tsx`, `${code}/page.tsx`, `${code}/${part}.tsx`]
}

/** The files of chunks and of all that they import, with their styles. */
function filesOf(manifest: Manifest, sources: string[], found = new Set<string>()): Set<string> {
  for (const source of sources) {
    const chunk = manifest.get(source)
    if (!chunk || found.has(chunk.file)) continue
    found.add(chunk.file)
    for (const style of chunk.css ?? []) found.add(style)
    filesOf(manifest, chunk.imports ?? [], found)
  }
  return found
}
