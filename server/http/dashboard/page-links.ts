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
  const start = filesOf(manifest, `${app}.html`)
  const files = new Set<string>()
  for (const source of sourcesOf(app, address)) filesOf(manifest, source, files)
  const links = [...files.difference(start)].map((file) =>
    file.endsWith('.css')
      ? `<link rel="stylesheet" crossorigin href="./${file}">\n`
      : `<link rel="modulepreload" crossorigin href="./${file}">\n`,
  )
  return links.join('') + (app === 'index' ? ME : '')
}

/** Where the code of a page and of its part can be. The first page of the console depends on the person's role. */
function sourcesOf(app: 'index' | 'console', address: string): string[] {
  const [page, part] = address.split('/')
  if (!page) return app === 'index' ? ['src/overview/page.tsx'] : []
  const code = `${app === 'index' ? 'src' : 'src/console'}/${page}`
  return [`${code}.tsx`, `${code}/page.tsx`, `${code}/${part}.tsx`]
}

/** A chunk's file, those that it imports, and their styles. */
function filesOf(manifest: Manifest, source: string, found = new Set<string>()): Set<string> {
  const chunk = manifest.get(source)
  if (!chunk || found.has(chunk.file)) return found
  found.add(chunk.file)
  for (const style of chunk.css ?? []) found.add(style)
  for (const imported of chunk.imports ?? []) filesOf(manifest, imported, found)
  return found
}
