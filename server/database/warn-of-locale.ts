import type { Log } from '../log.ts'
import type { Db } from './sql.ts'

/**
 * Warns about a database whose `lower` converts only ASCII letters, as with the locale C, or `I` to `ı`, as with a Turkish
 * one. It works nevertheless, and an existing database can't get another locale, so the start is not refused.
 */
export async function warnOfLocale({ db, log }: { db: Db; log: Pick<Log, 'warn'> }): Promise<void> {
  const [row] = await db<{ convertsCase: boolean }[]>`
    select lower('IÉ') = 'ié' as "convertsCase"
  `
  if (row!.convertsCase) return
  log.warn(
    'the locale of the database does not convert the case of all letters: names and e-mail addresses that differ in the case of É or I are different ones (docs/configuration.md#database)',
  )
}
