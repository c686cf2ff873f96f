import { type Change, type ChangesPage, RateLimitError, ValidationError } from '@cardstall/sdk'
import type { Command } from 'commander'
import { isPassing } from '../../../sdk/src/events.ts'
import { afterOutages } from '../outages.ts'
import { openPosition, openPositionIn } from '../positions.ts'
import { CommandError, EXIT, openSession, optionsOf } from '../session.ts'

const WAIT_S = 30

type SyncOptions = { cursor?: string; after?: string; once?: boolean }

/** `sync`: follows the change feed. */
export function syncCommand(program: Command): void {
  program
    .command('sync')
    .description('print every change of your listings and orders, from where the last run ended')
    .option('--cursor <file>', 'keep the position in this file, for programs that are independent')
    .option('--after <position>', 'continue after this position instead; "now" skips what happened')
    .option('--once', 'end when there are no more changes')
    .action(async ({ cursor: file, after, once }: SyncOptions, command: Command) => {
      let isAway = false
      const session = await openSession(command, ({ error }, out) => {
        // A service that limits the key can be reached.
        const isLost = isPassing(error) && !(error instanceof RateLimitError)
        // With --once, the failure is the result.
        if (once || isAway === isLost) return
        isAway = isLost
        out.warn(
          isAway ? 'The service cannot be reached. Trying again.' : 'The service is reached again.',
        )
      })
      const { client, out } = session
      // JSON is one value, unless the feed is followed without an end.
      const isCollected = once && optionsOf(command).json
      const collected: Change[] = []
      const saved = await (file === undefined
        ? openPosition(session, 'changes', [], once ? undefined : () => {})
        : openPositionIn(file))
      const read = (query: { cursor?: string; wait?: number }): Promise<ChangesPage> =>
        once
          ? client.tools.changes(query)
          : afterOutages(() => client.tools.changes(query, { maxRetries: Infinity }))
      let cursor = after === 'now' ? undefined : (after ?? saved.position)
      if (cursor === undefined) {
        cursor = (await read({})).next
        await saved.save(cursor)
        out.note('Starting now: list everything once, and apply the changes that follow.')
      }
      for (;;) {
        const { data, next, has_more }: ChangesPage = await read({
          cursor,
          wait: once ? 0 : WAIT_S,
        }).catch((error) => explainPosition(error, { cursor: file, after }))
        if (isCollected) collected.push(...data)
        else for (const change of data) out.line(change, textsOf(change))
        const isLast = once && !has_more
        if (isCollected && isLast) out.json(collected)
        // After the output: a change that was printed twice is better than one that was not.
        if (!isCollected || isLast) await saved.save(next)
        cursor = next
        if (isLast) return
      }
    })
}

const textsOf = ({ kind, id, change, record }: Change) => [kind, id, change, record?.status]

function explainPosition(error: unknown, { cursor: file, after }: SyncOptions): never {
  if (error instanceof ValidationError) {
    const name =
      after === undefined ? (file ?? 'The position of the last run') : `--after "${after}"`
    throw new CommandError(
      `${name} is not a position in the changes of this marketplace: "--after now" begins now.`,
      EXIT.usage,
    )
  }
  if ((error as { type?: string }).type !== 'cursor_expired') throw error
  const command = `cardstall sync${file === undefined ? '' : ` --cursor ${file}`} --after now`
  throw new CommandError(
    `The last run is more than 30 days ago, or the marketplace has restored its database since: run "${command}", and list everything once.`,
  )
}
