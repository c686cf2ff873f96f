import { execFile } from 'node:child_process'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { StartError } from '../../start-error.ts'

/**
 * Where a database started by root lives when PostgreSQL's own user cannot reach DATA_DIR, and where the
 * binaries are copied to when it cannot reach those.
 */
export const SHARED_HOME = '/var/lib/cardstall'

/** Who PostgreSQL runs as. */
export type OsUser = { uid: number; gid: number }

export const run = promisify(execFile)

/**
 * The OS user to run PostgreSQL as, or undefined when that is simply ourselves. PostgreSQL refuses to run
 * as root, so root hands it to the owner of the cluster, else to `postgres`, created where it is missing
 * and can be, else to `nobody`.
 */
export async function osUserFor(cluster: string | undefined): Promise<OsUser | undefined> {
  if (process.geteuid?.() !== 0) return undefined
  if (!cluster) return ownUser()
  const { uid, gid } = await stat(cluster)
  const user = uid === 0 ? await ownUser() : { uid, gid }
  // Restored from a backup by root: PostgreSQL insists on owning its directory.
  if (uid === 0) await run('chown', ['-hR', `${user.uid}:${user.gid}`, cluster])
  if (await passes(user, CAN_WORK_IN, cluster)) return user
  throw new StartError(
    `PostgreSQL does not run as root, and its user (uid ${user.uid}) cannot reach ${cluster}: open the directories above it with chmod a+x, or move it`,
  )
}

/** A test for `passes`: that the user gets into a directory and may write there. */
export const CAN_WORK_IN = 'cd "$0" && test -w .'

async function ownUser(): Promise<OsUser> {
  const user = (await lookUp('postgres')) ?? (await createPostgres()) ?? (await lookUp('nobody'))
  if (user) return user
  throw new StartError('PostgreSQL does not run as root, and there is no other user to run it as')
}

async function lookUp(name: string): Promise<OsUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined
  }
}

async function createPostgres(): Promise<OsUser | undefined> {
  try {
    await run('useradd', [
      '--system',
      '--no-create-home',
      '--shell',
      '/usr/sbin/nologin',
      'postgres',
    ])
  } catch {
    // No useradd here, a read-only /etc, or another process was quicker: look.
  }
  return lookUp('postgres')
}

/**
 * Whether that user passes a shell test such as `test -x "$0/bin/postgres"`, where `$0` is the path.
 * Really tried, as that user: modes alone don't tell about parents, mounts and access lists.
 */
export async function passes(
  osUser: OsUser | undefined,
  test: string,
  path: string,
): Promise<boolean> {
  try {
    await run('/bin/sh', ['-c', test, path], { ...osUser, ...surroundings() })
    return true
  } catch {
    return false
  }
}

/**
 * Where PostgreSQL's programs run: not in a directory that their user may be unable to enter, and without
 * the PG* variables of ours, which would change their minds.
 */
export function surroundings(): { cwd: string; env: NodeJS.ProcessEnv } {
  return { cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } }
}

/** Makes sure of `/var/lib/cardstall`, open to all for passing through, whatever root's umask is. */
export async function makeSharedHome(): Promise<void> {
  try {
    if (await mkdir(SHARED_HOME, { recursive: true })) await chmod(SHARED_HOME, 0o755)
  } catch (error) {
    throw new StartError(
      `PostgreSQL does not run as root, its own user cannot reach what it needs here, and ${SHARED_HOME} cannot be made (${(error as Error).message}): run Cardstall as another user, or set DATABASE_URL`,
      { cause: error },
    )
  }
}
