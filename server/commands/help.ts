import { readFileSync } from 'node:fs'
import { usageOf } from '../settings/parameters.ts'
import { SETTING_NAMES } from '../settings/settings.ts'
import type { Command } from './command.ts'

const PROGRAM = 'node cardstall.js'
const WIDTH = 100

/** The version in package.json. */
export const version = (): string => packageJson().version

/** Help for the program: its commands. */
export function programHelp(commands: Record<string, Command>): string {
  const rows = Object.entries(commands).map(([name, { summary }]): [string, string] => [
    name,
    summary,
  ])
  return [
    `Cardstall ${version()}: ${packageJson().description}`,
    '',
    `Usage: ${PROGRAM} COMMAND [PARAMETERS]`,
    '',
    'Commands:',
    ...table(rows),
    '',
    `${PROGRAM} COMMAND --help describes a command, ${PROGRAM} --version prints the version.`,
    'Settings are environment variables, or lines of a file .env in the current directory;',
    'docs/configuration.md describes them.',
    '',
  ].join('\n')
}

/** Help for one command: usage, options and the settings that it uses. */
export function commandHelp(name: string, command: Command): string {
  const { summary, details, parameters, options = {}, settings } = command
  const names = Object.keys(options)
  const usage = [PROGRAM, name, parameters, names.length > 0 && '[OPTIONS]'].filter(Boolean)
  const lines = [summary, '', `Usage: ${usage.join(' ')}`]
  if (details) lines.push('', ...wrap(details, ''))
  if (names.length > 0) {
    const rows = Object.entries(options).map((option): [string, string] => [
      usageOf(option),
      option[1].description,
    ])
    lines.push('', 'Options:', ...table(rows))
  }
  const used =
    settings.length === SETTING_NAMES.length
      ? ['  all (docs/configuration.md)']
      : wrap(settings.join(', '), '  ')
  return [...lines, '', 'Settings:', ...used, ''].join('\n')
}

function table(rows: [string, string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  return rows.flatMap(([left, right]) => {
    const [first, ...rest] = wrap(right, '', WIDTH - width - 2)
    return [
      `  ${left.padEnd(width)}${first}`,
      ...rest.map((line) => `  ${' '.repeat(width)}${line}`),
    ]
  })
}

function wrap(text: string, indent: string, width = WIDTH - indent.length): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`
    } else {
      lines.push(word)
    }
  }
  return lines.map((line) => indent + line)
}

const packageJson = (): { version: string; description: string } =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
