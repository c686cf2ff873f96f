import { readFile, rename, writeFile } from 'node:fs/promises'
import type { Change } from '@cardstall/sdk'
import type { Command } from 'commander'
import { openSession } from '../session.ts'

/** `sync`: follows the change feed. */
export function syncCommand(program: Command): void {
  program
    .command('sync')
    .description('print every change of your listings and orders, from where the last run ended')
    .option('--cursor <file>', 'file that keeps the place', '.cardstall-cursor')
    .option('--once', 'end when there are no more changes')
    .action(
      async ({ cursor: file, once }: { cursor: string; once?: boolean }, command: Command) => {
        const { client, out } = await openSession(command)
        let cursor = await readFile(file, 'utf8').then(
          (text) => text.trim(),
          () => undefined,
        )
        if (cursor === undefined) {
          cursor = (await client.tools.changes()).next
          await keep(file, cursor)
          out.note('The first run begins now: list everything once, then run it again.')
        }
        for (;;) {
          const { data, next, has_more } = await client.tools.changes({
            cursor,
            wait: once ? 0 : 30,
          })
          out.records<Change>(data, [
            ['KIND', ({ kind }) => kind],
            ['ID', ({ id }) => id],
            ['CHANGE', ({ change }) => change],
            ['STATUS', ({ record }) => record?.status],
          ])
          // After the output: a change that was printed twice is better than one that was not.
          await keep(file, next)
          cursor = next
          if (once && !has_more) return
        }
      },
    )
}

async function keep(file: string, cursor: string): Promise<void> {
  await writeFile(`${file}.new`, `${cursor}\n`)
  await rename(`${file}.new`, file)
}
