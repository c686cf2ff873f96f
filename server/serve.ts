import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import { importBundledCatalog } from './catalog/import/bundled.ts'
import type { Config } from './config.ts'
import { dashboardBuild } from './dashboard/build.ts'
import { requireSecretKey } from './database/require-secret-key.ts'
import { serverError } from './errors.ts'
import { useDataDir } from './files/data-dir.ts'
import { closeServer, currentConnection } from './http/connections.ts'
import { rawResponse } from './http/error-handler.ts'
import { requestIds } from './http/request-id.ts'
import { SANDBOX_MAIL } from './http/sandbox-mail.ts'
import type { Log } from './log.ts'
import { startMailWorker } from './mail/mail-worker.ts'
import { offersOAuth } from './oauth/offered.ts'
import { startPhotoWorker } from './photos/photo-worker.ts'
import { compactWhenIdle, keepHeapSmall } from './processes/compact-memory.ts'
import {
  cannotListen,
  onOneAddress,
  openInstallation,
  print,
  refuseTakenPort,
} from './processes/installation.ts'
import { runUntilStopped, type Started } from './processes/lifecycle.ts'
import type { PrimaryLink } from './processes/primary-link.ts'
import { markLive } from './sandbox/clock.ts'
import { type DemoAccess, demoUnlessRefused } from './sandbox/demo-seller.ts'
import { getOrCreateSecret } from './sandbox/own-secrets.ts'
import { startSchedule } from './schedule.ts'
import { openService, type Service, unopened } from './service.ts'
import { startCarrierPoll } from './shipping/carrier-poll.ts'
import { groupDigits } from './text/formats.ts'
import { isLoopback } from './text/loopback.ts'
import { startDeliveryWorker } from './webhooks/delivery-worker.ts'

/** Time for requests in progress to finish at a shutdown. */
const SHUTDOWN_TIMEOUT_MS = 10_000

/**
 * Runs the service until a signal stops it. Requests in progress finish first, then the database is stopped.
 *
 * @param primary set in one of several processes
 * @returns the exit code
 * @throws StartError if the service cannot start
 */
export function serve(
  settings: Config,
  warnings: string[],
  primary?: PrimaryLink,
): Promise<number> {
  const start = async (started: Started) => {
    const bound = onOneAddress(settings)
    // The primary process has checked it, and listens for all of them.
    if (!primary) {
      await refuseTakenPort(bound)
      started.closers.push(dashboardBuild().start(started.log).stop)
    }
    started.closers.push(await useDataDir(bound))
    const ctx = unopened(await withOwnSecrets(bound), started.log)
    let app: Promise<FastifyInstance> | undefined
    const build = () => {
      app ??= buildApp(ctx)
      return app
    }
    // A failure is reported once the database is open, so that it is stopped again.
    const database = await openInstallation(bound, started, () => build().catch(() => {}))
    if (database.notice) print(database.notice)
    try {
      await openService(ctx, database.url, started.closers, { primary })
      await startOn(ctx, build, started, primary)
    } catch (error) {
      throw await database.explain(error)
    }
  }
  return runUntilStopped(settings, start, { warnings, survives: endRequest() })
}

/**
 * An uncaught error in a request ends only that request, because requests share no state except the database, whose
 * transactions are atomic.
 */
function endRequest() {
  const nextRequestId = requestIds()
  return (kind: string, error: unknown, log: Log): boolean => {
    const connection = currentConnection()
    if (!connection) return false
    const reqId = nextRequestId()
    log.error({ err: error, reqId }, `${kind} in a request`)
    connection.fail(rawResponse(serverError(error as Error), reqId))
    return true
  }
}

async function startOn(
  ctx: Service,
  build: () => Promise<FastifyInstance>,
  { log, closers }: Started,
  primary: PrimaryLink | undefined,
): Promise<void> {
  const { config } = ctx
  await requireSecretKey(ctx)
  // After the checks, because a start with wrong settings must not take the database of a sandbox.
  if (!config.sandbox) await markLive(ctx.db)
  // Unless they were built while PostgreSQL started, the routes are built while it prepares the next sets.
  const [app] = await Promise.all([build(), ctx.catalog.refresh()])
  // Stopped at the same time, because a slow delivery must not keep the service accepting requests.
  const stops = [() => closeGracefully(app, log)]
  closers.push(() => Promise.all(stops.map((stop) => stop())))
  await listen(app, config)

  await importFirstCatalog(ctx)
  const demo = config.sandbox ? await demoUnlessRefused(ctx) : undefined
  closers.push(startSchedule(ctx))
  stops.push(
    startDeliveryWorker(ctx).stop,
    startPhotoWorker(ctx).stop,
    startMailWorker(ctx).stop,
    startCarrierPoll(ctx).stop,
  )
  ctx.readiness.ready = true
  keepHeapSmall()
  closers.push(compactWhenIdle(() => ctx.catalog.current))
  const text = welcome(config, demo)
  if (primary) primary.ready(text)
  else print(text)
}

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

async function listen(app: FastifyInstance, { port, host }: Config): Promise<void> {
  try {
    await app.listen({ port, host, listenTextResolver: () => `listening on ${host}:${port}` })
  } catch (error) {
    throw cannotListen(error as NodeJS.ErrnoException, { port, host })
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
  let printed = -1
  const report = await importBundledCatalog(ctx, ({ created }) => {
    if (created === printed || performance.now() - last < PROGRESS_INTERVAL_MS) return
    last = performance.now()
    printed = created
    print(`Importing the bundled catalog: ${groupDigits(created)} records`)
  })
  if (report) {
    print(`Imported the bundled catalog: ${groupDigits(report.created)} records`)
  }
  // Another process may have imported the catalog while this one waited.
  await ctx.catalog.refresh()
}

/** The lines that a service prints when it is ready. */
export function welcome(config: Config, demo?: DemoAccess): string {
  const { publicUrl, operatorToken, sandbox } = config
  const lines = ['', 'Cardstall is ready.', '', `  base URL        ${publicUrl}/v1`]
  if (demo) {
    lines.push(
      `  demo key        ${demo.key}`,
      `  demo e-mail     ${demo.email}`,
      `  demo password   ${demo.password}`,
    )
  }
  // Outside the sandbox the token is the operator's own secret, and is not printed.
  if (sandbox) lines.push(`  operator token  ${operatorToken}`)
  lines.push(`  docs            ${publicUrl}/docs`)
  lines.push(`  dashboard       ${publicUrl}/dashboard`)
  if (operatorToken !== undefined) lines.push(`  console         ${publicUrl}/console`)
  if (sandbox) lines.push(...sandboxLines(config))
  if (!offersOAuth({ sandbox, publicUrl })) {
    lines.push('  programs        cannot sign in, because PUBLIC_URL is not https')
  }
  lines.push('')
  if (demo) {
    lines.push(
      'Try it:',
      '',
      `  curl -H "Authorization: Bearer ${demo.key}" "${publicUrl}/v1/cards?q=charizard&per_page=3"`,
      '',
    )
  }
  return lines.join('\n')
}

/** Lines about a sandbox's e-mail, about settings that were probably not intended, and about effects outside it. */
function sandboxLines(config: Config): string[] {
  const { publicUrl, host, lacksDatabaseUrl, carrier, smtpUrl } = config
  const lines = []
  const isForOthers = !isLoopback(host) && host !== '::1'
  if (isForOthers && isLoopback(new URL(publicUrl).hostname)) {
    lines.push("  other devices   can't sign in: set PUBLIC_URL to the address that they use")
  }
  if (lacksDatabaseUrl) {
    lines.push('  sandbox         because DATABASE_URL is missing; a marketplace needs it')
  }
  if (carrier === 'sendcloud') {
    lines.push('  labels          are real, and Sendcloud charges for each one')
  }
  lines.push(
    smtpUrl === undefined
      ? `  e-mail          is not sent: GET ${publicUrl}${SANDBOX_MAIL}, with the operator token`
      : '  e-mail          is really sent, because SMTP_URL is set',
  )
  return lines
}
