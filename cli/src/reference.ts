import type { Argument, Command, Option } from 'commander'
import { examplesOf } from './examples.ts'

/** `reference`, a hidden command: prints cli/COMMANDS.md, which `npm run generate` writes. */
export function referenceCommand(program: Command): void {
  program.command('reference', { hidden: true }).action(() => {
    process.stdout.write(referenceOf(program))
  })
}

/** All commands with their arguments and options, as Markdown. */
function referenceOf(program: Command): string {
  const leaves = (command: Command, path: string): string[] =>
    command.commands.length > 0
      ? command
          .createHelp()
          .visibleCommands(command)
          .filter((inner) => inner.name() !== 'help')
          .flatMap((inner) => leaves(inner, `${path} ${inner.name()}`))
      : [sectionOf(command, path)]
  return `# Commands

<!-- Written by "npm run generate". -->

${[...leaves(program, 'cardstall'), `## Options of all commands\n\n${program.options.map(optionLine).join('\n')}`].join('\n\n')}
`
}

function sectionOf(command: Command, path: string): string {
  const usage = [path, ...command.registeredArguments.map(argumentText)].join(' ')
  const options = command.options.filter(({ hidden }) => !hidden)
  const description = command.description()
  const examples = examplesOf(path.replace('cardstall ', ''))
  return [
    `## ${path}`,
    `\`${usage}\``,
    `${description.charAt(0).toUpperCase()}${description.slice(1)}.`,
    [...command.registeredArguments.flatMap(argumentLine), ...options.map(optionLine)].join('\n'),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
  ]
    .filter(Boolean)
    .join('\n\n')
}

function argumentText(argument: Argument): string {
  const name = `${argument.name().toUpperCase()}${argument.variadic ? '…' : ''}`
  return argument.required ? name : `[${name}]`
}

const choicesOf = ({ argChoices }: { argChoices?: string[] | undefined }) =>
  argChoices ? `: ${argChoices.map((choice) => `\`${choice}\``).join(', ')}` : ''

const argumentLine = (argument: Argument): string[] =>
  argument.description || argument.argChoices
    ? [`- ${argumentText(argument)}: ${argument.description || 'one of'}${choicesOf(argument)}`]
    : []

const optionLine = (option: Option): string =>
  `- \`${option.flags}\`: ${option.description}${choicesOf(option)}${option.mandatory ? ' (required)' : ''}`
