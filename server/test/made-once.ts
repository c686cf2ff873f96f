import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rename } from 'node:fs/promises'
import path from 'node:path'
import { inject } from 'vitest'
import { connectAlone } from '../database/connect.ts'

/**
 * A folder that the first test which needs it makes for the whole run. Test files run in several processes: the others
 * wait for an advisory lock.
 *
 * @param make fills the new folder, which other OS users may enter
 */
export async function madeOnce(
  name: string,
  make: (folder: string) => Promise<unknown>,
): Promise<string> {
  const target = path.join(inject('folder'), name)
  const db = connectAlone(inject('databaseServer'))
  try {
    await db`select pg_advisory_lock(hashtext(${target}))`
    if (!existsSync(target)) {
      const unfinished = await mkdtemp(`${target}-`)
      await chmod(unfinished, 0o755)
      await make(unfinished)
      await rename(unfinished, target)
    }
    return target
  } finally {
    await db.end({ timeout: 1 })
  }
}
