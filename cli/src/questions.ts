import { confirm, isCancel } from '@clack/prompts'
import { endProgress } from './output.ts'
import { CommandError, EXIT } from './session.ts'

/**
 * Asks before a command goes on. Enter alone agrees, unless it cannot be undone (`isFinal`).
 *
 * @throws CommandError if the answer is no, or nobody can answer
 */
export async function agree(message: string, { isFinal = false } = {}): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new CommandError(
      `${message.replace(/\?$/, '')}: nobody can answer without a terminal, so add --yes.`,
      EXIT.usage,
    )
  }
  endProgress()
  const answer = await confirm({ message, initialValue: !isFinal, output: process.stderr })
  if (isCancel(answer)) process.exit(EXIT.interrupted)
  if (!answer) throw new CommandError('Nothing was changed.')
}
