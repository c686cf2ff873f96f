import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'

/** References between the code and its documentation that no compiler checks. */

const REPOSITORY = path.join(import.meta.dirname, '..')

const read = (file: string) => readFile(path.join(REPOSITORY, file), 'utf8')

async function filesUnder(folder: string, ending: string): Promise<string[]> {
  const names = await readdir(path.join(REPOSITORY, folder), { recursive: true })
  return names.filter((name) => name.endsWith(ending)).map((name) => path.join(folder, name))
}

/** `4.9` for each heading `4.9 …`, and `6.6.5` for the fifth rule of the numbered list in section 6.6. */
function sectionsOf(specification: string): Set<string> {
  const sections = new Set<string>()
  let section = ''
  for (const line of specification.split('\n')) {
    const heading = /^#+ (\d+(?:\.\d+[a-z]?)*)\.? /.exec(line)?.[1]
    const rule = /^(\d+)\. /.exec(line)?.[1]
    if (heading) section = heading
    if (heading || rule) sections.add(rule ? `${section}.${rule}` : section)
  }
  return sections
}

it('every § in the code names a section or rule of docs/specification.md', async () => {
  const sections = sectionsOf(await read('docs/specification.md'))
  const folders = ['server', 'scripts', 'bench']
  const files = (await Promise.all(folders.map((folder) => filesUnder(folder, '.ts')))).flat()
  const dangling: string[] = []
  for (const file of [...files, ...(await filesUnder('migrations', '.sql'))]) {
    for (const [reference, name] of (await read(file)).matchAll(
      /(?<!RFC \d+ )§(\d+(?:\.\d+[a-z]?)*)/g,
    )) {
      if (!sections.has(name!)) dangling.push(`${file}: ${reference}`)
    }
  }
  expect(dangling).toEqual([])
})

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])(
  '%s names only files that exist',
  async (document) => {
    const names = [
      ...(await read(document)).matchAll(/`([\w.-]+(?:\/[\w.-]+)*\.(?:ts|js|md|sql))`/g),
    ]
    const missing = names
      .map(([, name]) => name!)
      .filter(
        (name) => !['', 'server'].some((root) => existsSync(path.join(REPOSITORY, root, name))),
      )
    expect(missing).toEqual([])
  },
)

it('relative links between the documents lead to files', async () => {
  const top = (await readdir(REPOSITORY)).filter((name) => name.endsWith('.md'))
  const folders = ['docs', 'server', 'catalog', 'bench', 'deploy', 'migrations']
  const below = (await Promise.all(folders.map((folder) => filesUnder(folder, '.md')))).flat()
  const broken: string[] = []
  for (const file of [...top, ...below]) {
    for (const [, target] of (await read(file)).matchAll(
      /\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g,
    )) {
      const found = existsSync(path.join(REPOSITORY, path.dirname(file), target!))
      if (!found) broken.push(`${file}: ${target}`)
    }
  }
  expect(broken).toEqual([])
})

it('the changelog describes no defect that was never released', async () => {
  const sentences = (await read('CHANGELOG.md')).split(/(?<=[.:]) |\n/)
  expect(sentences.filter((text) => text.startsWith('Before, '))).toEqual([])
})

it('every log message that docs/operating.md quotes is one of the code', async () => {
  const files = (await filesUnder('server', '.ts')).filter((name) => !name.endsWith('.test.ts'))
  const code = (await Promise.all(files.map(read))).join('\n')
  // A template such as `${kind} in a request` is part of the code with any word in its place.
  const templates = [...code.matchAll(/`([^`\n]*\$\{[^`\n]*)`/g)].map(
    ([, text]) =>
      new RegExp(
        `^${text!
          .split(/\$\{[^}]*\}/)
          .map(RegExp.escape)
          .join('\\S+')}$`,
      ),
  )
  const quoted = [
    ...(await read('docs/operating.md')).matchAll(/`([A-Za-z][\w',;:.-]*(?: [\w',;:.-]+){3,})`/g),
  ].map(([, text]) => text!)
  const messages = quoted.filter((text) => !/^(npm|node|accounts:|keys:|openssl) ?/.test(text))
  expect(messages.length).toBeGreaterThan(10)
  const isInCode = (text: string) => code.includes(text) || templates.some((t) => t.test(text))
  expect(messages.filter((text) => !isInCode(text))).toEqual([])
})
