import { parseArgs } from 'node:util'
import { StartError } from '../start-error.ts'

/** Options by name. An option without `value` is a switch. */
export type Options = Record<string, { value?: string; description: string }>

/**
 * Parses a command's parameters.
 *
 * @param positionals names of the positional parameters, all of them required
 * @throws StartError that lists the possible parameters
 */
export function parseParameters(
  args: string[],
  options: Options,
  positionals: readonly string[] = [],
): { values: Record<string, string | boolean | undefined>; positionals: string[] } {
  const possible = [...positionals, ...Object.entries(options).map(usageOf)].join(', ') || 'none'
  const refuse = (problem: string) => new StartError(`${problem}. Possible: ${possible}.`)
  let parsed: ReturnType<typeof parseArgs>
  try {
    parsed = parseArgs({
      args,
      allowPositionals: positionals.length > 0,
      options: Object.fromEntries(
        Object.entries(options).map(([name, { value }]) => [
          name,
          { type: value === undefined ? 'boolean' : 'string' } as const,
        ]),
      ),
    })
  } catch (error) {
    const [problem] = (error as Error).message.split(/\.\s|\.?\n/)
    throw refuse(problem!)
  }
  const missing = positionals[parsed.positionals.length]
  if (missing) throw refuse(`${missing} is missing`)
  const [surplus] = parsed.positionals.slice(positionals.length)
  if (surplus !== undefined) throw refuse(`Unexpected parameter '${surplus}'`)
  return parsed as ReturnType<typeof parseParameters>
}

/** An option as the help shows it, such as `--account ID`. */
export const usageOf = ([name, { value }]: [string, Options[string]]) =>
  value === undefined ? `--${name}` : `--${name} ${value}`
