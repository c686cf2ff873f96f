import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { StartError } from '../start-error.ts'
import { connectAlone } from './connect.ts'
import { startEmbedded } from './embedded/embedded.ts'
import type { Sql } from './sql.ts'

export type OpenDatabase = {
  url: string
  /** Where an embedded database is, when that isn't simply DATA_DIR. */
  notice?: string | undefined
  /** The error of a start that failed on this database; in one line when the cause is that the disk is full. */
  explain(error: unknown): Promise<unknown>
  /** Resolves when an embedded database died and could not be started again. */
  failed?: Promise<Error>
  /** Stops an embedded database when nobody else uses it; an external one is left alone. */
  close(): Promise<void>
}

/**
 * The database the settings name: an external one that answers, or the embedded one, started.
 *
 * @throws StartError when it can't be reached or started
 */
export async function openDatabase(
  { databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log?: Log,
): Promise<OpenDatabase> {
  if (databaseUrl === undefined) {
    const tell = (message: string, err?: unknown) => log?.error({ err }, message)
    const { url, notice, diskFull, failed, stop } = await startEmbedded({ dataDir, tell })
    const explain = async (error: unknown) => {
      const line = await diskFull()
      if (line === undefined || error instanceof StartError) return error
      return new StartError(`The disk of DATA_DIR ${dataDir} is full: ${line}`, { cause: error })
    }
    return { url, notice, explain, failed, close: stop }
  }
  const session = sessionAt(databaseUrl)
  try {
    await answer(session)
  } catch (error) {
    throw new StartError(`DATABASE_URL: ${reasonOf(error as NodeJS.ErrnoException, databaseUrl)}`)
  } finally {
    await session.end({ timeout: 1 })
  }
  return { url: databaseUrl, explain: async (error) => inWords(error), close: async () => {} }
}

const DISK_FULL = '53100'

function inWords(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== DISK_FULL) return error
  return new StartError(`DATABASE_URL: the server's disk is full: ${message}`, { cause: error })
}

function sessionAt(databaseUrl: string): Sql {
  try {
    return connectAlone(databaseUrl)
  } catch {
    throw new StartError('DATABASE_URL must have its special characters percent-encoded.')
  }
}

/** Some that take a connection never say a word on it, or close it again and again. */
const TIMEOUT_MS = 10_000

async function answer(session: Sql): Promise<void> {
  const { promise: patience, reject } = Promise.withResolvers<never>()
  const silence = Object.assign(new Error('no answer'), { code: 'CONNECT_TIMEOUT' })
  const timer = setTimeout(() => reject(silence), TIMEOUT_MS)
  try {
    await Promise.race([session`select 1`, patience])
  } finally {
    clearTimeout(timer)
  }
}

/** Why the database can't be used, in words; without the password that the URL may hold. */
function reasonOf(error: NodeJS.ErrnoException, databaseUrl: string): string {
  const { host } = new URL(databaseUrl)
  switch (error.code) {
    case 'ECONNREFUSED':
      return `nothing listens at ${host}.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host of ${host} is unknown.`
    case 'CONNECT_TIMEOUT':
      return `${host} does not answer.`
    default:
      return `${host} refused the connection: ${error.message}`
  }
}
