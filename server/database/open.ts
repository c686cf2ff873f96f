import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { StartError } from '../start-error.ts'
import { withTimeout } from '../time/with-timeout.ts'
import { connectAlone } from './connect.ts'
import { startEmbedded } from './embedded/embedded.ts'
import { splitSocket } from './socket.ts'
import type { Sql } from './sql.ts'
import { DatabaseUnavailable, isUnavailable, TOO_MANY_CONNECTIONS } from './unavailable.ts'

export type OpenDatabase = {
  url: string
  /** A line about the location of an embedded database that is not in DATA_DIR. */
  notice?: string | undefined
  /**
   * Converts an error of a full disk, of too few connections, or of a database that has become unavailable to a
   * StartError; returns other errors as they are.
   */
  explain(error: unknown): Promise<unknown>
  /** Resolves when an embedded database died and could not be restarted. */
  failed?: Promise<Error>
  /** Stops an embedded database unless another process uses it. Does nothing to an external one. */
  close(): Promise<void>
}

/**
 * Checks that the external database responds, or starts the embedded one.
 *
 * @param meanwhile called while the embedded PostgreSQL becomes ready, unless it runs already
 * @throws StartError if it cannot be reached or started
 */
export async function openDatabase(
  { databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>,
  { log, meanwhile }: { log?: Log; meanwhile?: () => void } = {},
): Promise<OpenDatabase> {
  if (databaseUrl === undefined) {
    const logError = (message: string, err?: unknown) => log?.error({ err }, message)
    const options = { dataDir, logError, meanwhile }
    const { url, notice, diskFull, failed, stop } = await startEmbedded(options)
    const explain = async (error: unknown) => {
      const line = await diskFull()
      if (error instanceof StartError) return error
      if (line === undefined) return explainLoss(error, 'The embedded database')
      return new StartError(`The disk of DATA_DIR ${dataDir} is full: ${line}`, { cause: error })
    }
    return { url, notice, explain, failed, close: stop }
  }
  const session = sessionAt(databaseUrl)
  try {
    await waitForAnswer(session)
  } catch (error) {
    throw new StartError(
      `DATABASE_URL: ${reasonOf(error as NodeJS.ErrnoException, addressOf(databaseUrl, session))}`,
    )
  } finally {
    await session.end({ timeout: 1 })
  }
  return {
    url: databaseUrl,
    explain: async (error) => explainLoss(explainShortage(error), 'DATABASE_URL: the database'),
    close: async () => {},
  }
}

const DISK_FULL = '53100'

/** A pool that can't open a connection wraps the server's reason. */
const causeOf = (error: unknown): NodeJS.ErrnoException =>
  Object((error instanceof DatabaseUnavailable && error.cause) || error)

function explainLoss(error: unknown, subject: string): unknown {
  if (!isUnavailable(error)) return error
  return new StartError(`${subject} has become unavailable: ${causeOf(error).message}`, {
    cause: error,
  })
}

function explainShortage(error: unknown): unknown {
  const { code, message } = causeOf(error)
  if (code === DISK_FULL) {
    return new StartError(`DATABASE_URL: the server's disk is full: ${message}`, { cause: error })
  }
  if (code === TOO_MANY_CONNECTIONS) {
    const remedy = 'allow as many as docs/operating.md lists under "Several processes"'
    return new StartError(`DATABASE_URL: ${message}; ${remedy}.`, { cause: error })
  }
  return error
}

function sessionAt(databaseUrl: string): Sql {
  try {
    return connectAlone(databaseUrl)
  } catch {
    throw new StartError('DATABASE_URL must have its special characters percent-encoded.')
  }
}

/** Some servers accept a connection and never respond on it, or close it again and again. */
const TIMEOUT_MS = 10_000

async function waitForAnswer(session: Sql): Promise<void> {
  await withTimeout<unknown>(TIMEOUT_MS, session`select 1`, () => {
    throw Object.assign(new Error('no response'), { code: 'CONNECT_TIMEOUT' })
  })
}

/** The server's address as the URL names it, or the client's default. It never contains the URL's password. */
function addressOf(databaseUrl: string, { options }: Sql): string {
  const named = splitSocket(databaseUrl).path ?? new URL(databaseUrl).host
  return named || `${options.host[0]}:${options.port[0]}`
}

/** The reason for a start error. */
function reasonOf(error: NodeJS.ErrnoException, host: string): string {
  const refused = `${host} refused the connection: ${error.message}`
  switch (error.code) {
    case 'ECONNREFUSED':
    case 'ENOENT':
      return `no server listens on ${host}.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name of ${host} cannot be resolved.`
    case 'CONNECT_TIMEOUT':
      return `${host} does not respond.`
    case 'ECONNRESET':
      if (!error.message.includes('before secure TLS connection')) return refused
      return `${host} closed the connection instead of encrypting it: turn on ssl in the settings of the server.`
    default:
      return refused
  }
}
