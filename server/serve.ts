import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import { importBundledCatalog } from './catalog/import/bundled.ts'
import type { Config } from './config.ts'
import { openDatabase } from './database/open.ts'
import { serverError } from './errors.ts'
import { useDataDir } from './files/data-dir.ts'
import { closeServer, currentConnection } from './http/connections.ts'
import { rawResponse } from './http/error-handler.ts'
import { requestIds } from './http/request-id.ts'
import type { Log } from './log.ts'
import { createLog } from './log.ts'
import { startMailWorker } from './mail/mail-worker.ts'
import { startPhotoWorker } from './photos/photo-worker.ts'
import { demoKey } from './sandbox/demo-seller.ts'
import { getOrCreateSecret } from './sandbox/own-secrets.ts'
import { startSchedule } from './schedule.ts'
import type { Service } from './service.ts'
import { type Closers, openService } from './service.ts'
import { startCarrierPoll } from './shipping/carrier-poll.ts'
import { StartError } from './start-error.ts'
import { startDeliveryWorker } from './webhooks/delivery-worker.ts'
import { requireSecretKey } from './webhooks/require-secret-key.ts'

/** Time for requests in progress to finish at a shutdown. */
const SHUTDOWN_TIMEOUT_MS = 10_000

/**
 * Runs the service until a signal stops it. Requests in progress finish first, then the database is stopped.
 *
 * @returns the exit code
 * @throws StartError if the service cannot start
 */
export async function serve(settings: Config, warnings: string[] = []): Promise<number> {
  const { log, flush } = createLog(settings.logLevel)
  for (const warning of warnings) log.warn(warning)
  const closers: Closers = [flush]
  const failure = Promise.withResolvers<number>()
  const ended = Promise.race([endOfService(log), failure.promise])
  const databaseFailed = (error: Error) => {
    log.fatal({ err: error }, 'the embedded database has failed')
    failure.resolve(1)
  }
  try {
    const started = start(settings, log, closers, databaseFailed)
    const code = await Promise.race([ended, started.then(() => ended)])
    // A start that a signal interrupted fails when its database is closed: that error must not be reported.
    started.catch(() => {})
    return code
  } finally {
    for (const close of closers.reverse()) {
      try {
        await close()
      } catch (error) {
        log.warn({ err: error }, 'an error occurred during the shutdown')
      }
    }
  }
}

/**
 * Resolves with the exit code at a signal or an uncaught error. An uncaught error in a request ends only that request,
 * because requests share no state except the database, whose transactions are atomic.
 */
function endOfService(log: Log): Promise<number> {
  const nextRequestId = requestIds()
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      // npm forwards signals that the terminal has already sent: the second one has no effect.
      process.on(signal, () => {
        log.info({ signal }, 'stopping')
        resolve(0)
      })
    }
    for (const kind of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(kind, (error) => {
        const connection = currentConnection()
        if (!connection) {
          log.fatal({ err: error }, kind)
          resolve(1)
          return
        }
        const reqId = nextRequestId()
        log.error({ err: error, reqId }, `${kind} in a request`)
        connection.fail(rawResponse(serverError(error), reqId))
      })
    }
  })
}

async function start(
  settings: Config,
  log: Log,
  closers: Closers,
  databaseFailed: (error: Error) => void,
): Promise<void> {
  const bound = onOneAddress(settings)
  await refuseTakenPort(bound)
  const release = await useDataDir(bound)
  closers.push(release)
  const config = await withOwnSecrets(bound)

  const opening = openDatabase(config, log)
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
  void database.failed?.then(databaseFailed)
  if (database.notice) print(database.notice)

  try {
    await startOn(database.url, config, log, closers)
  } catch (error) {
    throw await database.explain(error)
  }
}

async function startOn(
  databaseUrl: string,
  config: Config,
  log: Log,
  closers: Closers,
): Promise<void> {
  const ctx = await openService(config, databaseUrl, log, closers)
  await requireSecretKey(ctx)
  const app = await buildApp(ctx)
  closers.push(() => closeGracefully(app, log))
  await listen(app, config)

  await importFirstCatalog(ctx)
  const key = config.sandbox ? await demoKey(ctx) : undefined
  closers.push(startSchedule(ctx))
  const workers = [
    startDeliveryWorker(ctx),
    startPhotoWorker(ctx),
    startMailWorker(ctx),
    startCarrierPoll(ctx),
  ]
  closers.push(() => Promise.all(workers.map((worker) => worker.stop())))
  ctx.readiness.ready = true
  print(welcome(config, key))
}

/**
 * Replaces "localhost" by 127.0.0.1. Otherwise Fastify opens a second server for ::1, ignores it if that port is taken,
 * and doesn't wait for its requests at the shutdown.
 */
const onOneAddress = (config: Config): Config =>
  config.host === 'localhost' ? { ...config, host: '127.0.0.1' } : config

/** Generates missing secrets in the sandbox. Outside of it, they only come from the settings. */
async function withOwnSecrets(config: Config): Promise<Config> {
  if (!config.sandbox) return config
  const { dataDir } = config
  return {
    ...config,
    operatorToken: config.operatorToken ?? (await getOrCreateSecret(dataDir, 'operator-token')),
    secretKey: config.secretKey ?? (await getOrCreateSecret(dataDir, 'secret-key')),
  }
}

/** Checks the port before a database is started in vain. */
function refuseTakenPort({ port, host }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => reject(cannotListen(error, { port, host })))
    probe.listen({ port, host }, () => probe.close(() => resolve()))
  })
}

async function listen(app: FastifyInstance, { port, host }: Config): Promise<void> {
  try {
    await app.listen({ port, host, listenTextResolver: () => `listening on ${host}:${port}` })
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, { port, host })
  }
}

function cannotListen(
  error: NodeJS.ErrnoException,
  { port, host }: Pick<Config, 'port' | 'host'>,
): StartError {
  switch (error.code) {
    case 'EADDRINUSE':
      return new StartError(`Port ${port} on ${host} is in use: set PORT to another one.`)
    case 'EACCES':
      return new StartError(`Port ${port} may not be used by this user: set PORT to another one.`)
    default:
      return new StartError(`Cannot listen on HOST ${host}: ${error.message}`)
  }
}

/** Waits for the requests in progress, and closes the server. */
async function closeGracefully(app: FastifyInstance, log: Log): Promise<void> {
  const timer = setTimeout(() => {
    log.warn('shutdown timeout: closing connections with requests in progress')
    app.server.closeAllConnections()
  }, SHUTDOWN_TIMEOUT_MS)
  await closeServer(app)
  clearTimeout(timer)
}

const PROGRESS_INTERVAL_MS = 1_000

async function importFirstCatalog(ctx: Service): Promise<void> {
  let last = Number.NEGATIVE_INFINITY
  const report = await importBundledCatalog(ctx, ({ created }) => {
    if (performance.now() - last < PROGRESS_INTERVAL_MS) return
    last = performance.now()
    print(`Importing the bundled catalog: ${created.toLocaleString('en-US')} records`)
  })
  if (report) {
    print(`Imported the bundled catalog: ${report.created.toLocaleString('en-US')} records`)
  }
  // Another process may have imported the catalog while this one waited.
  await ctx.catalog.refresh()
}

function welcome({ publicUrl, operatorToken, sandbox }: Config, key: string | undefined): string {
  const lines = ['', 'Cardstall is ready.', '', `  base URL        ${publicUrl}/v1`]
  if (key) lines.push(`  demo key        ${key}`)
  // Outside the sandbox the token is the operator's own secret, and is not printed.
  if (sandbox) lines.push(`  operator token  ${operatorToken}`)
  lines.push(`  docs            ${publicUrl}/docs`, '')
  if (key) {
    lines.push(
      'Try it:',
      '',
      `  curl -H "Authorization: Bearer ${key}" "${publicUrl}/v1/cards?q=charizard&per_page=3"`,
      '',
    )
  }
  return lines.join('\n')
}

/** Prints to standard output; the log is on standard error. */
const print = (text: string) => process.stdout.write(`${text}\n`)
