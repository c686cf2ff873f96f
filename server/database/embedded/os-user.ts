import { type ExecFileOptions, execFile } from 'node:child_process'
import { chmod, mkdir, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { StartError } from '../../start-error.ts'

/**
 * Location of root's databases if PostgreSQL's OS user cannot access DATA_DIR, and of the copied binaries if it cannot
 * access the originals.
 */
export const SHARED_HOME = '/var/lib/cardstall'

/** The OS user that PostgreSQL runs as. */
export type OsUser = { uid: number; gid: number }

const execute = promisify(execFile)

/** Errors of a system that can start no program at the moment, and their remedies. */
const SHORTAGES: Record<string, string> = {
  EAGAIN:
    'too many processes and threads are running; raise their limit (ulimit -u, TasksMax of systemd, the pids limit of a container)',
  ENOMEM: 'there is too little memory; add memory or swap',
  EMFILE: 'too many files are open; raise their limit (ulimit -n, LimitNOFILE of systemd)',
  ENFILE: 'too many files are open on this machine; raise fs.file-max',
}

/**
 * Runs a program to its end.
 *
 * @throws StartError if the system can start no program at the moment
 */
export async function run(
  program: string,
  parameters: string[],
  options?: ExecFileOptions,
): Promise<{ stdout: string }> {
  try {
    return await execute(program, parameters, { ...options, encoding: 'utf8' })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    const shortage = syscall?.startsWith('spawn') && SHORTAGES[code ?? '']
    if (!shortage) throw error
    throw new StartError(`cannot run ${program}: ${shortage} (${code})`, { cause: error })
  }
}

/**
 * The OS user to run PostgreSQL as; undefined for the current one. PostgreSQL refuses to run as root, so for root it is
 * the owner of the cluster, else `postgres` (created if possible), else `nobody`.
 */
export async function osUserFor(cluster: string | undefined): Promise<OsUser | undefined> {
  if (process.geteuid?.() !== 0) return undefined
  if (!cluster) return ownUser()
  const { uid, gid } = await stat(cluster)
  const user = uid === 0 ? await ownUser() : { uid, gid }
  // Root restored it from a backup: PostgreSQL must own its directory.
  if (uid === 0) await run('chown', ['-hR', `${user.uid}:${user.gid}`, cluster])
  if (await succeedsAs(user, CAN_WORK_IN, cluster)) return user
  throw new StartError(
    `PostgreSQL does not run as root, and its user (uid ${user.uid}) cannot reach ${cluster}: open the directories above it with chmod a+x, or move the database`,
  )
}

/** A shell test for `succeedsAs`: the user can enter a directory and write in it. */
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
  } catch (error) {
    if (error instanceof StartError) throw error
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
    // There is no useradd, /etc is read-only, or another process created the user.
  }
  return lookUp('postgres')
}

/**
 * Whether a shell test such as `test -x "$0/bin/postgres"`, where `$0` is the path, succeeds as this OS user. File
 * modes alone would ignore parent directories, mounts and access lists.
 */
export async function succeedsAs(
  osUser: OsUser | undefined,
  test: string,
  path: string,
): Promise<boolean> {
  try {
    await run('/bin/sh', ['-c', test, path], { ...osUser, ...spawnEnvironment() })
    return true
  } catch (error) {
    if (error instanceof StartError) throw error
    return false
  }
}

/**
 * Working directory and environment of PostgreSQL's programs: a directory that every user can enter, and none of the
 * PG* variables of this process, which would change their behavior.
 */
export function spawnEnvironment(): { cwd: string; env: NodeJS.ProcessEnv } {
  return { cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } }
}

/** Creates `/var/lib/cardstall` if necessary, accessible to all users whatever root's umask is. */
export async function makeSharedHome(): Promise<void> {
  try {
    if (await mkdir(SHARED_HOME, { recursive: true })) await chmod(SHARED_HOME, 0o755)
  } catch (error) {
    throw new StartError(
      `PostgreSQL does not run as root, its own user cannot reach the files that it needs, and ${SHARED_HOME} cannot be created (${(error as Error).message}): run Cardstall as another user, or set DATABASE_URL`,
      { cause: error },
    )
  }
}
