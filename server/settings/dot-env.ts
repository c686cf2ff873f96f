import { readFileSync } from 'node:fs'
import { StartError } from '../start-error.ts'

const BLANK_OR_COMMENT = /[ \t]*(?:#.*)?(?:\n|$)/y

const NAME = String.raw`[ \t]*(?:export[ \t]+)?(?<name>[\w.-]+)[ \t]*=[ \t]*`
/** A `#` begins a comment only after a space, as in Docker Compose. */
const PLAIN = String.raw`(?<plain>[^ \t\n#"'\`][^ \t\n]*(?:[ \t]+[^ \t\n#][^ \t\n]*)*)(?:[ \t]+#.*)?`
const QUOTED = String.raw`(?:"(?<double>[^"]*)"|'(?<single>[^']*)')[ \t]*(?:#.*)?`
const ASSIGNMENT = new RegExp(`${NAME}(?:${QUOTED}|${PLAIN})?[ \\t]*(?:\\n|$)`, 'y')
const BEGINS_AS_ASSIGNMENT = new RegExp(NAME, 'y')

/**
 * Adds the settings of `.env` in the current directory to the environment. A variable that exists and is not empty takes
 * precedence. A missing file changes nothing.
 *
 * @throws StartError if the file cannot be read, or has a line that is not understood; it never contains a value
 */
export function readDotEnv(environment: NodeJS.ProcessEnv): void {
  let bytes: Buffer
  try {
    bytes = readFileSync('.env')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    throw new StartError(`Cannot read the file .env: ${message}`)
  }
  for (const [name, value] of Object.entries(parseDotEnv(bytes))) {
    if (!environment[name]?.trim()) environment[name] = value
  }
}

/**
 * The variables of a file of `NAME=value` lines. Node's own parser ignores other lines, cuts values at every `#`, and
 * takes the next line for the value of `NAME= `.
 */
export function parseDotEnv(bytes: Uint8Array): Record<string, string> {
  const text = decode(bytes).replaceAll('\r\n', '\n')
  const variables: Record<string, string> = {}
  let at = 0
  while (at < text.length) {
    const assignment = matchAt(ASSIGNMENT, text, at)
    const found = assignment ?? matchAt(BLANK_OR_COMMENT, text, at)
    if (!found) throw new StartError(problemAt(text, at))
    if (assignment) {
      const { name, double, single, plain } = assignment.groups!
      variables[name!] = double?.replaceAll('\\n', '\n') ?? single ?? plain ?? ''
    }
    at += found[0].length
  }
  return variables
}

function decode(bytes: Uint8Array): string {
  try {
    // Also removes the byte order mark that some editors write.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new StartError('The file .env must be encoded in UTF-8.')
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function problemAt(text: string, at: number): string {
  const line = `Line ${text.slice(0, at).split('\n').length} of .env`
  return matchAt(BEGINS_AS_ASSIGNMENT, text, at)
    ? `${line} must have its whole value in quotes, NAME='value', because it begins with # or a quote.`
    : `${line} is not NAME=value.`
}
