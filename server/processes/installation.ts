import { connect, createServer } from 'node:net'
import type { Config } from '../config.ts'
import { type OpenDatabase, openDatabase } from '../database/open.ts'
import { StartError } from '../start-error.ts'
import type { Started } from './lifecycle.ts'

type Address = Pick<Config, 'port' | 'host'>

/**
 * Replaces "localhost" with 127.0.0.1. Otherwise Fastify opens a second server for ::1, ignores it if that port is
 * taken, and doesn't wait for its requests at the shutdown.
 */
export const onOneAddress = (config: Config): Config =>
  config.host === 'localhost' ? { ...config, host: '127.0.0.1' } : config

/**
 * Checks the port before a database is started in vain.
 *
 * @throws StartError if another program listens on it, or would get the requests to PUBLIC_URL
 */
export async function refuseTakenPort({
  port,
  host,
  publicUrl,
}: Address & Pick<Config, 'publicUrl'>): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => reject(cannotListen(error, { port, host })))
    probe.listen({ port, host }, () => probe.close(() => resolve()))
  })
  // Clients try ::1 first for "localhost". Demo key and operator token would go to a program that listens there.
  const named = new URL(publicUrl)
  const isReachedByName =
    host === '127.0.0.1' &&
    named.protocol === 'http:' &&
    named.hostname === 'localhost' &&
    Number(named.port || 80) === port
  if (isReachedByName && (await acceptsOnIpv6(port))) {
    throw new StartError(
      `Port ${port} on [::1] is in use by another program, which gets the requests to ${publicUrl}: set PORT to another one.`,
    )
  }
}

/** A computer accepts or refuses its own connections at once, unless a firewall drops them. */
const CONNECT_TIMEOUT_MS = 500

/** Whether a program accepts connections on [::1]. On macOS, a probe could listen there although a program has `::`. */
function acceptsOnIpv6(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '::1' })
    const end = (accepts: boolean) => {
      socket.destroy()
      resolve(accepts)
    }
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => end(false))
    // The computer has no IPv6, or no program listens.
    socket.once('error', () => end(false))
    // A socket can reach itself: the system may choose this port for its own end.
    socket.once('connect', () => end(socket.localPort !== port))
  })
}

/** The error for an address on which the service cannot listen, with the setting to change. */
export function cannotListen(error: NodeJS.ErrnoException, { port, host }: Address): StartError {
  switch (error.code) {
    case 'EADDRINUSE':
      return new StartError(`Port ${port} on ${host} is in use: set PORT to another one.`)
    case 'EACCES':
      return new StartError(`Port ${port} may not be used by this user: set PORT to another one.`)
    default:
      return new StartError(`Cannot listen on HOST ${host}: ${error.message}`)
  }
}

/** Opens the database of a DATA_DIR that is in use. A process ends when its embedded database has failed permanently. */
export async function openInstallation(
  config: Config,
  { log, closers, fail }: Started,
  meanwhile?: () => void,
): Promise<OpenDatabase> {
  const opening = openDatabase(config, { log, meanwhile })
  if (config.databaseUrl === undefined) {
    // Added before it is open, because a signal during the first start must also stop the database.
    closers.push(() =>
      opening.then(
        (database) => database.close(),
        () => {},
      ),
    )
  }
  const database = await opening
  void database.failed?.then((error) => {
    log.fatal({ err: error }, 'the embedded database has failed')
    fail()
  })
  return database
}

/** Prints to standard output; the log is on standard error. */
export const print = (text: string) => process.stdout.write(`${text}\n`)
