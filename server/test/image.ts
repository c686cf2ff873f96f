import { execSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { basename, join, matchesGlob, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newHome } from './embedded-homes.ts'

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url))
const textOf = (name: string) => readFileSync(join(REPOSITORY, name), 'utf8')

/**
 * Makes the working directory of the image without Docker: copies the files that each stage of the Dockerfile copies,
 * and runs its commands, but links the packages instead of installing them. The files are removed when the test file ends.
 *
 * @returns the path of the image's cardstall.js
 */
export function makeImage(): string {
  const stages = textOf('Dockerfile')
    .split(/^FROM /m)
    .slice(1)
  const roots = new Map<string, string>()
  let root = ''
  for (const stage of stages) {
    root = makeStage(stage, roots)
    const [, name] = /^\S+ AS (\S+)/.exec(stage) ?? []
    if (name) roots.set(name, root)
  }
  return join(root, 'cardstall.js')
}

function makeStage(stage: string, roots: Map<string, string>): string {
  const root = newHome()
  for (const [, instruction, text] of stage.matchAll(/^(COPY|RUN) (.*)$/gm)) {
    if (instruction === 'COPY') copy(text!, root, roots)
    else if (text!.startsWith('npm ci ')) linkPackages(root)
    // A command outside of the working directory isn't for this machine.
    else if (!text!.startsWith('mkdir /')) execSync(text!, { cwd: root, stdio: 'pipe' })
  }
  return root
}

/** COPY. The content of a directory is copied, or the file, into a directory if the target ends with a slash. */
function copy(text: string, root: string, roots: Map<string, string>): void {
  const [, from, paths] = /^(?:--from=(\S+) )?(.*)$/.exec(text)!
  const names = paths!.split(' ')
  const target = join(root, names.pop()!)
  for (const name of names) {
    if (basename(name) === 'node_modules') {
      linkPackages(root)
      continue
    }
    const source = from
      ? join(roots.get(from)!, name.replace(/^\/app\//, ''))
      : join(REPOSITORY, name)
    const isInDirectory = statSync(source).isFile() && target.endsWith('/')
    const copied = isInDirectory ? join(target, basename(name)) : target
    const filter = (file: string) => from !== undefined || isInContext(relative(REPOSITORY, file))
    cpSync(source, copied, { recursive: true, preserveTimestamps: true, filter })
    // As Docker does if the source is not in the context.
    statSync(copied)
  }
}

function linkPackages(root: string): void {
  mkdirSync(root, { recursive: true })
  symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'))
}

const patterns = textOf('.dockerignore').split('\n').filter(Boolean)

/** Whether a file is in Docker's context: the last pattern of .dockerignore that matches it or a folder above it decides. */
function isInContext(name: string): boolean {
  const parts = name.split('/')
  const paths = parts.map((_, i) => parts.slice(0, i + 1).join('/'))
  const matches = (pattern: string) => paths.some((path) => matchesGlob(path, pattern))
  const last = patterns.findLast((pattern) => matches(pattern.replace(/^!/, '')))
  return last === undefined || last.startsWith('!')
}
