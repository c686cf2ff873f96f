import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../server/database/connect.ts'
import { startEmbedded } from '../../server/database/embedded/embedded.ts'
import type { Db, Sql } from '../../server/database/sql.ts'
import { transactionsOn } from '../../server/database/transactions.ts'
import { type Random, seededRandom } from '../random.ts'
import { countDeliveries, type Evidence, findViolations, readRows } from './checks.ts'
import { type Client, clientFor } from './client.ts'
import { type Journal, type Load, startLoad } from './load.ts'
import { openMarket } from './market.ts'
import { findBookViolations } from './money-checks.ts'
import { importSmallCatalog, OPERATOR_TOKEN, openProcesses, type Processes } from './processes.ts'
import { type Delivery, startReceiver } from './receiver.ts'

export type CrashTest = {
  /** The load ends after this time or this number of kills, whichever comes first. */
  seconds: number
  kills: number
  processes: number
  seed: number
  /** Contains DATA_DIR and the logs. */
  folder: string
  /** An empty database, which may be migrated. By default PostgreSQL is embedded, and sometimes killed as well. */
  databaseUrl?: string
  sellers: number
  buyers: number
  /** Time between the end of a restart and the next kill. */
  secondsBetweenKills: [min: number, max: number]
  /**
   * Expires the leases of killed processes in the database instead of waiting: 22 seconds for deliveries, two minutes
   * for labels.
   */
  expiresLeases?: boolean
}

export type Report = { figures: Record<string, number>; violations: string[] }

/**
 * Sells under load while it kills the service repeatedly, drains the queues, and checks that every committed order was
 * announced, that nothing else was, and that the stock adds up.
 *
 * @throws Error if the service doesn't start, doesn't respond for a minute, or doesn't finish its work
 */
export async function crashTest(options: CrashTest): Promise<Report> {
  const began = performance.now()
  const random = seededRandom(options.seed)
  const receiver = await startReceiver(random.fork())
  if (options.databaseUrl === undefined) importSmallCatalog(options.folder)
  const processes = await openProcesses(options.processes, options.folder, options.databaseUrl)
  try {
    const indexes = processes.urls.map((_url, index) => index)
    for (const index of indexes) processes.start(index)
    await Promise.all(indexes.map(processes.ready))
    const client = clientFor(processes.urls, random.fork())
    const clock = clockOf(client)
    const market = await openMarket(client, options.sellers, receiver)

    const load = startLoad(client, market, random.fork(), options.buyers)
    const checkBooks = async () => {
      const database = await openDatabase(options)
      try {
        load.journal.violations.push(...(await database.inSnapshot(findBookViolations)))
      } finally {
        await database.close()
      }
    }
    const kills = await killRepeatedly(
      processes,
      clock,
      load,
      checkBooks,
      options,
      random.fork(),
    ).finally(load.stop)
    const database = await openDatabase(options)
    const { db } = database
    try {
      if (options.expiresLeases) await expireLeases(processes, db)
      receiver.acceptAll()
      await settleLabels(client, db, load.journal)
      await drain(client, clock)
      await checkBooks()
      const rows = await readRows(client, market)
      const evidence = { client, db, market, journal: load.journal, receiver, rows }
      const violations = [...processes.unexpectedExits, ...(await findViolations(evidence))]
      const seconds = Math.round((performance.now() - began) / 1000)
      return { figures: { seconds, ...kills, ...figuresOf(evidence) }, violations }
    } finally {
      await database.close()
    }
  } finally {
    await processes.stop()
    // After a failure, no process of the service may be left to stop PostgreSQL.
    if (!options.databaseUrl) await processes.killDatabase()
    receiver.close()
  }
}

type Kills = { kills: number; 'kills during startup': number; 'kills of PostgreSQL': number }

/**
 * Kills and restarts processes: a single one while the others continue, or all of them, often with the embedded
 * PostgreSQL, as when the machine crashes.
 */
async function killRepeatedly(
  processes: Processes,
  clock: Clock,
  load: Load,
  checkBooks: () => Promise<void>,
  { seconds, kills, databaseUrl, secondsBetweenKills: [min, max] }: CrashTest,
  random: Random,
): Promise<Kills> {
  const done: Kills = { kills: 0, 'kills during startup': 0, 'kills of PostgreSQL': 0 }
  const all = processes.urls.map((_url, index) => index)
  const deadline = performance.now() + seconds * 1000

  const kill = async (indexes: number[]) => {
    await Promise.all(indexes.map(processes.kill))
    done.kills += indexes.length
  }

  while (done.kills < kills && performance.now() < deadline) {
    await sleep(random.between(min, max) * 1000)
    const indexes = random.chance(0.35) ? all : [random.pick(all)]
    // Many concurrent requests make it likely that the kill interrupts some, for example between commit and response.
    await load.burst()
    await sleep(random.between(0, 10))
    await kill(indexes)
    if (!databaseUrl && indexes === all && random.chance(0.8)) {
      await processes.killDatabase()
      done['kills of PostgreSQL']++
    }
    for (const index of indexes) processes.start(index)
    if (random.chance(0.25)) {
      await sleep(random.between(0, 800))
      await kill(indexes)
      done['kills during startup'] += indexes.length
      for (const index of indexes) processes.start(index)
    }
    await Promise.all(indexes.map(processes.ready))
    await checkBooks()
    // Makes failed deliveries due again.
    await clock.advance(61)
  }
  return done
}

/** Connects to the service's database. `startEmbedded` shares the server that the service already runs. */
async function openDatabase({ databaseUrl, folder }: CrashTest) {
  const embedded = databaseUrl ? undefined : await startEmbedded({ dataDir: `${folder}/data` })
  const url = databaseUrl ?? embedded!.url
  const db = connect(url, { max: 2 })
  const transactions = transactionsOn(url, 1)
  return {
    db,
    inSnapshot: <T>(work: (db: Db) => Promise<T>) => transactions.begin(work, 'snapshot'),
    async close() {
      await transactions.end()
      await db.end({ timeout: 1 })
      await embedded?.stop()
    },
  }
}

/** Kills all processes a last time and expires every lease. */
async function expireLeases(processes: Processes, db: Sql): Promise<void> {
  const indexes = processes.urls.map((_url, index) => index)
  await Promise.all(indexes.map(processes.kill))
  await db`
    update delivery_queue set leased_until = clock_timestamp() where leased_until is not null
  `
  await db`
    update shipments set leased_until = clock_timestamp() where leased_until is not null
  `
  for (const index of indexes) processes.start(index)
  await Promise.all(indexes.map(processes.ready))
}

/** Requests every label again after the leases of all purchases have expired. */
async function settleLabels(client: Client, db: Sql, journal: Journal): Promise<void> {
  await until('no purchase of a label is leased', 150, async () => {
    const [leased] = await db`select from shipments where leased_until > clock_timestamp() limit 1`
    return !leased
  })
  for (const { seller, orderId } of journal.labelRequests) {
    const { status, text } = await client.send('POST', `/v1/orders/${orderId}/label`, {
      token: seller.key,
    })
    // 409: all orders of the slice were cancelled before.
    if (status !== 200 && status !== 409) {
      journal.violations.push(
        `The request for the label of order ${orderId} returned ${status}: ${text}`,
      )
    }
  }
}

/** Advances the clock until no delivery is pending; later attempts are an hour or more apart. */
async function drain(client: Client, clock: Clock): Promise<void> {
  let steps = 0
  await until('no delivery is pending', 180, async () => {
    if ((await countDeliveries(client, 'status=pending')) === 0) return true
    await clock.advance(steps++ < 40 ? 61 : 3_600)
    return false
  })
}

type Clock = { advance(seconds: number): Promise<void> }

/** Less than the 24 hours for which an idempotency key is valid: the checks repeat the first checkouts at the end. */
const MAX_ADVANCED_SECONDS = 20 * 60 * 60

function clockOf(client: Client): Clock {
  let advanced = 0
  return {
    async advance(seconds) {
      advanced += seconds
      if (advanced > MAX_ADVANCED_SECONDS) return
      await client.sendOk('POST', '/operator/v1/sandbox/clock', {
        token: OPERATOR_TOKEN,
        body: { advance_seconds: seconds },
      })
    },
  }
}

async function until(goal: string, seconds: number, condition: () => Promise<boolean>) {
  const deadline = performance.now() + seconds * 1000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Timed out after ${seconds} s: ${goal}`)
    await sleep(250)
  }
}

function figuresOf({ client, journal, receiver, rows }: Evidence): Record<string, number> {
  const deliveries = [...receiver.deliveries.values()]
  const sum = (of: (delivery: Delivery) => number) =>
    deliveries.reduce((total, delivery) => total + of(delivery), 0)
  const failures = Object.entries(client.failures)
  return {
    checkouts: new Set([...rows.values()].map((row) => row.checkout_id)).size,
    'carts rejected': journal.carts.filter(({ response }) => response?.status === 409).length,
    'carts without a response': journal.carts.filter(({ response }) => !response).length,
    'order rows': rows.size,
    cancellations: [...rows.values()].filter(({ status }) => status === 'cancelled').length,
    'partial refunds': journal.refunds.length,
    'payout runs': journal.runs.length,
    transfers: journal.bank.transfers.size,
    'transfers returned by the bank': journal.bank.returned.size,
    reviews: journal.reviews.size,
    'labels requested': journal.labelRequests.length,
    deliveries: deliveries.length,
    'delivery attempts': sum(({ attempts }) => attempts),
    'deliveries repeated after a 204': sum(({ accepted }) => Math.max(accepted - 1, 0)),
    ...Object.fromEntries(failures.map(([reason, count]) => [`failed requests: ${reason}`, count])),
  }
}
