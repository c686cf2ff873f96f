import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../start-error.ts'

/**
 * Records the DATA_DIR of a cluster that is elsewhere, in the cluster itself. A copy of a DATA_DIR has the same link, so it
 * would write into the live database of the original. The owner changes if the recorded directory was moved or deleted, or
 * has another database now.
 *
 * @throws StartError if the cluster is the database of another DATA_DIR
 */
export async function claimCluster(dataDir: string, directory: string): Promise<void> {
  const link = join(dataDir, 'postgres')
  if (join(await realpath(dataDir), 'postgres') === directory) return
  const record = join(directory, 'cardstall.owner')
  const owner = await readFile(record, 'utf8').catch(() => undefined)
  if (owner && (await leadsTo(owner, directory))) {
    if (await areSame(owner, dataDir)) return
    throw new StartError(
      `${link} is a link to ${directory}, the database of ${owner}: copy that folder as well while the service is stopped, and let the link lead to the copy`,
    )
  }
  // Never written through an existing file: PostgreSQL's user, who owns the folder, could have made it a link.
  await rm(`${record}.new`, { force: true })
  await writeFile(`${record}.new`, dataDir, { flag: 'wx', mode: 0o644 })
  await rename(`${record}.new`, record)
}

const leadsTo = (dataDir: string, directory: string) =>
  realpath(join(dataDir, 'postgres')).then(
    (found) => found === directory,
    () => false,
  )

/** Whether two paths lead to one directory, also by a bind mount. */
async function areSame(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([stat(one), stat(other)])
  return a.dev === b.dev && a.ino === b.ino
}
