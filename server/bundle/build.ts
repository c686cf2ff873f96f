import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { realTime } from '../time/real-time.ts'
import { BUILD, type Bundle, FOLDER, inputOf, MAIN, RECORD, ROOT, readBundle } from './bundle.ts'

/** Bundles the program and its packages. The service runs this file in a process of its own. */

/**
 * Files stay for a day (ms) after their bundle was replaced, because running services may still load some of them. Their
 * dates say when that was.
 */
const KEPT_MS = 24 * 60 * 60 * 1000

const OWN = { include: /\.ts$/, exclude: /[\\/]node_modules[\\/]/ }
const PACKAGE = /^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/

const inputs: Bundle['inputs'] = []
const packages = new Set<string>()

/** Records what the bundle is made from, and keeps the URLs of our files: they find files next to them by these. */
const ownFiles: Plugin = {
  name: 'own-files',
  load: {
    filter: { id: OWN },
    async handler(id) {
      // Before it is read: an edit in between makes the bundle outdated.
      inputs.push(inputOf(id))
      const code = await readFile(id, 'utf8')
      const url = `new URL('../../${path.relative(ROOT, id).replaceAll('\\', '/')}', import.meta.url).href`
      return { code: code.replaceAll('import.meta.url', url), moduleType: 'ts' }
    },
  },
  moduleParsed({ id }) {
    const folder = PACKAGE.exec(id)?.[0]
    if (folder) packages.add(path.join(folder, 'package.json'))
  },
}

const build = await rolldown({
  input: MAIN,
  cwd: ROOT,
  platform: 'node',
  // The first loads a library of the platform by a path next to its own files. The service itself never loads the other.
  external: ['sharp', '@scalar/fastify-api-reference'],
  plugins: [ownFiles],
})
const { output } = await build.generate({
  format: 'esm',
  comments: { legal: true, annotation: false, jsdoc: false },
  // The log shows the names of classes.
  keepNames: true,
  charset: 'ascii',
  entryFileNames: '[name]-[hash].js',
  chunkFileNames: '[name]-[hash].js',
})

const makers = [BUILD, path.join(ROOT, 'server/bundle/bundle.ts')]
inputs.push(...[...packages, ...makers].map(inputOf))
const chunks = output.filter((file) => file.type === 'chunk')
const main = chunks.find((chunk) => chunk.isEntry)!.fileName
const files = chunks.map((chunk) => chunk.fileName)
const earlier = readBundle()

await mkdir(FOLDER, { recursive: true })
const written = new Set(await readdir(FOLDER))
await Promise.all(
  chunks
    .filter((chunk) => !written.has(chunk.fileName))
    .map((chunk) => replaceFile(chunk.fileName, inAscii(chunk.code))),
)
await replaceFile(RECORD, JSON.stringify({ main, files, inputs } satisfies Bundle))

// Missing if another process removed them.
const replacedAt = realTime() / 1000
for (const name of earlier?.files ?? []) {
  await utimes(path.join(FOLDER, name), replacedAt, replacedAt).catch(() => {})
}
const needed = new Set([RECORD, ...files, ...(earlier?.files ?? [])])
for (const name of written) {
  if (needed.has(name)) continue
  const file = path.join(FOLDER, name)
  // Another process may be removing it as well.
  const found = await stat(file).catch(() => undefined)
  if (found && realTime() - found.mtimeMs > KEPT_MS) await rm(file, { force: true })
}

/**
 * Escapes what the bundler left: characters in tagged templates, whose raw text would change. No tag of the program reads
 * it. Node keeps a source in half of the memory if it is ASCII.
 */
function inAscii(code: string): string {
  return code.replace(
    /[^\u0000-\u007f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Several processes can bundle at the same time: none reads a file that another has not finished. */
async function replaceFile(name: string, content: string): Promise<void> {
  const unfinished = path.join(FOLDER, `${name}.${process.pid}`)
  await writeFile(unfinished, content)
  await rename(unfinished, path.join(FOLDER, name))
}
