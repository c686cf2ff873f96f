import { Argument, type Command, type Option } from 'commander'
import { openInBrowser } from '../browser.ts'
import { openSession } from '../session.ts'

const PAGES = ['orders', 'listings', 'keys', 'webhooks', 'payouts', 'settings'] as const

/** `open`, `completion`. */
export function shellCommands(program: Command): void {
  program
    .command('open')
    .addArgument(new Argument('[page]', 'page of the dashboard').choices(PAGES))
    .description('open the dashboard; prints its address without a terminal')
    .action(async (page: string | undefined, _options, command: Command) => {
      const { out, profile } = await openSession(command)
      const url = profile.url.replace(/\/v1$/, `/dashboard${page ? `/${page}` : ''}`)
      if (process.stdout.isTTY) openInBrowser(url)
      out.record({ url }, [['Dashboard', url]])
    })

  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .description('print a script that completes commands and options')
    .action((shell: 'bash' | 'zsh' | 'fish') => {
      process.stdout.write(shell === 'fish' ? fishScript(program) : bashScript(program, shell))
    })
}

const namesOf = (command: Command) =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((inner) => inner.name())
const optionsOf = (command: Command) =>
  command.options.filter(({ long, hidden }) => long && !hidden)
const longOf = ({ long }: Option) => long!
const hasValue = ({ required, optional }: Option) => required || optional
const valued = (options: Option[]) => options.filter(hasValue).map(longOf)

/** With `--help`, which commander does not list as an option of the program. */
const optionsOfProgram = (program: Command) => program.createHelp().visibleOptions(program)

/** Options that every command takes as well. */
const sharedOptions = (program: Command) =>
  optionsOfProgram(program).filter((option) => longOf(option) !== '--version')

/** The values of all arguments of a command: the script doesn't count those before the one that is typed. */
const choicesOf = (command: Command) =>
  command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])

/** Options of the command that runs if none is named: `disputes --state open` is `disputes list --state open`. */
const optionsOfDefault = (command: Command) => {
  const { _defaultCommandName: name } = command as unknown as { _defaultCommandName: string | null }
  return command.commands.filter((inner) => inner.name() === name).flatMap(optionsOf)
}

/** The words that can follow a command: its commands, or the values of its arguments and its options. */
const wordsAfter = (command: Command, shared: Option[]) =>
  [
    ...namesOf(command),
    ...choicesOf(command),
    ...[...optionsOf(command), ...optionsOfDefault(command), ...shared].map(longOf),
  ].join(' ')

/**
 * zsh runs the script of bash. Values without choices, and arguments that are not commands, are completed as files. The script
 * finds the command behind options that every command takes: `cardstall --profile shop listings`.
 */
function bashScript(program: Command, shell: 'bash' | 'zsh'): string {
  const shared = sharedOptions(program)
  const values = (path: string, options: Option[]) =>
    options
      .filter(hasValue)
      .map(
        (option) =>
          `    ${path}:${longOf(option)}) words="${option.argChoices?.join(' ') ?? ''}" ;;`,
      )
  const cases = program.commands.flatMap((command) => {
    const name = command.name()
    const inner = command.commands.flatMap((inner) => [
      ...values(`*:${name}:${inner.name()}`, optionsOf(inner)),
      `    *:${name}:${inner.name()}:*) words="${wordsAfter(inner, shared)}" ;;`,
    ])
    const first =
      inner.length > 0 ? `    1:${name}:*) words="${wordsAfter(command, shared)}" ;;` : []
    const all = `    *:${name}:*) words="${wordsAfter(command, shared)}" ;;`
    return [
      ...values(`*:${name}:*`, optionsOf(command)),
      ...values(`1:${name}:`, optionsOfDefault(command)),
      first,
      inner,
      all,
    ].flat()
  })
  const first = [...namesOf(program), ...optionsOfProgram(program).map(longOf)].join(' ')
  const setUp = [
    '(( $+functions[compdef] )) || { autoload -U +X compinit && compinit }',
    'autoload -U +X bashcompinit && bashcompinit',
    '',
  ].join('\n')
  return `${shell === 'zsh' ? setUp : ''}_cardstall() {
  local words="" word previous="" last="" current="" prefix="" typed=() named=()
  # bash splits words at : and =, and zsh doesn't.
  for word in "\${COMP_WORDS[@]:1:$COMP_CWORD}"; do
    case "$last|$word" in
      ?*\\|[:=]* | *[:=]\\|*) current="$current$word" ;;
      *) [[ -z "$last" ]] || typed+=("$current"); current="$word" ;;
    esac
    last="$word"
  done
  for word in "\${typed[@]}"; do
    case "$previous|$word" in
      ${valued(shared).join('\\|*|')}\\|* | *\\|-*) ;;
      *) named+=("$word") ;;
    esac
    previous="$word"
  done
  case "$current" in --*=*)
    previous="\${current%%=*}"
    case "\${COMP_WORDS[COMP_CWORD]}" in --*=*) prefix="$previous=" ;; esac
    current="\${current#*=}" ;;
  esac
  case "\${#named[@]}:\${named[0]}:\${named[1]}:$previous" in
${[...values('*', shared), `    0:*) words="${first}" ;;`, ...cases].join('\n')}
  esac
  COMPREPLY=($(compgen -P "$prefix" -W "$words" -- "$current"))
}
complete -o default -F _cardstall cardstall
`
}

/** fish's own functions for this take the value of an option for a command. */
const fishFunctions = (program: Command) => `function __cardstall_named
  set -l previous
  for word in (commandline -opc)[2..]
    contains -- "$previous" ${valued(sharedOptions(program)).join(' ')}
    or string match -q -- '-*' $word
    or echo $word
    set previous $word
  end
end
function __cardstall_has
  for name in (__cardstall_named)
    contains -- $name $argv; and return
  end
  return 1
end
`

function fishScript(program: Command): string {
  const quoted = (text: string) => `'${text.replaceAll("'", '’')}'`
  const options = (condition: string, given: Option[]) =>
    given.map((option) => {
      const choices = option.argChoices ? ` -x -a '${option.argChoices.join(' ')}'` : ' -r'
      return `complete -c cardstall${condition} -l ${longOf(option).slice(2)}${hasValue(option) ? choices : ''} -d ${quoted(option.description)}`
    })
  const line = (condition: string, command: Command) => [
    ...command.commands.map(
      (inner) =>
        `complete -c cardstall -n '${condition}' -f -a ${inner.name()} -d ${quoted(inner.description())}`,
    ),
    ...choicesOf(command).map(
      (choice) => `complete -c cardstall -n '${condition}' -f -a ${choice}`,
    ),
    ...(command === program ? [] : options(` -n '${condition}'`, optionsOf(command))),
    ...options(` -n '${condition}'`, optionsOfDefault(command)),
  ]
  const seen = (command: Command) => `__cardstall_has ${command.name()}`
  return `${fishFunctions(program)}${[
    ...line('not count (__cardstall_named) >/dev/null', program),
    ...options('', optionsOfProgram(program)),
    ...program.commands.flatMap((command) => [
      ...line(
        command.commands.length > 0
          ? `${seen(command)}; and not __cardstall_has ${namesOf(command).join(' ')}`
          : seen(command),
        command,
      ),
      ...command.commands.flatMap((inner) => line(`${seen(command)}; and ${seen(inner)}`, inner)),
    ]),
  ].join('\n')}\n`
}
