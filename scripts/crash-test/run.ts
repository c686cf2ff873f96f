import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../server/database/connect.ts'
import { startEmbedded } from '../../server/database/embedded/embedded.ts'
import type { Sql } from '../../server/database/sql.ts'
import { type Random, seededRandom } from '../random.ts'
import { countDeliveries, findWrongs, type Outcome, readRows } from './checks.ts'
import { type Ask, askAt } from './client.ts'
import { type Books, type Load, startLoad } from './load.ts'
import { openMarket } from './market.ts'
import { OPERATOR_TOKEN, openProcesses, type Processes } from './processes.ts'
import { type Delivery, startReceiver } from './receiver.ts'

export type CrashTest = {
  /** The load and the killing end after so long or so many kills, whichever comes first. */
  seconds: number
  kills: number
  processes: number
  seed: number
  /** DATA_DIR and the logs go there. */
  folder: string
  /** A migrated or empty database; without one PostgreSQL is embedded, and killed as well at times. */
  databaseUrl?: string
  sellers: number
  buyers: number
  /** From one kill to the next, the start of what was killed aside. */
  secondsBetweenKills: [least: number, most: number]
  /**
   * Ends the leases of what was killed by hand instead of waiting for them: 22 seconds for deliveries, two minutes for
   * labels.
   */
  endsLeases?: boolean
}

export type Report = { figures: Record<string, number>; wrong: string[] }

/**
 * Sells under load while the service is killed again and again, lets it come to rest, and looks at what is left: every
 * committed order was announced, nothing else was, and stock adds up.
 *
 * @throws Error when it can't come to its end: the service doesn't start, or doesn't answer for a minute
 */
export async function crashTest(options: CrashTest): Promise<Report> {
  const began = performance.now()
  const random = seededRandom(options.seed)
  const receiver = await startReceiver(random.fork())
  const processes = await openProcesses(options.processes, options.folder, options.databaseUrl)
  try {
    const places = processes.urls.map((_url, place) => place)
    for (const place of places) processes.start(place)
    await Promise.all(places.map(processes.ready))
    const ask = askAt(processes.urls, random.fork())
    const clock = clockOf(ask)
    const market = await openMarket(ask, options.sellers, receiver)

    const load = startLoad(ask, market, random.fork(), options.buyers)
    const kills = await killAgainAndAgain(processes, clock, load, options, random.fork()).finally(
      load.stop,
    )
    const database = await openDatabase(options)
    const { db } = database
    try {
      if (options.endsLeases) await endLeases(processes, db)
      receiver.calmDown()
      await settleLabels(ask, db, load.books)
      await drain(ask, clock)
      const rows = await readRows(ask, market)
      const outcome = { ask, db, market, books: load.books, receiver, rows }
      const wrong = [...processes.accidents, ...(await findWrongs(outcome))]
      const seconds = Math.round((performance.now() - began) / 1000)
      return { figures: { seconds, ...kills, ...figuresOf(outcome) }, wrong }
    } finally {
      await database.close()
    }
  } finally {
    await processes.stop()
    // When something went wrong half-way, its last user may be gone already.
    if (!options.databaseUrl) await processes.killDatabase()
    receiver.close()
  }
}

type Kills = { kills: number; 'kills during a start': number; 'kills of PostgreSQL': number }

/**
 * kill -9, again and again, of one process while others go on, or of all there is as when the machine dies. What was
 * killed is started again where it was.
 */
async function killAgainAndAgain(
  processes: Processes,
  clock: Clock,
  load: Load,
  { seconds, kills, databaseUrl, secondsBetweenKills: [least, most] }: CrashTest,
  random: Random,
): Promise<Kills> {
  const done: Kills = { kills: 0, 'kills during a start': 0, 'kills of PostgreSQL': 0 }
  const everyone = processes.urls.map((_url, place) => place)
  const deadline = performance.now() + seconds * 1000

  const kill = async (places: number[]) => {
    await Promise.all(places.map(processes.kill))
    done.kills += places.length
  }

  while (done.kills < kills && performance.now() < deadline) {
    await sleep(random.between(least, most) * 1000)
    const places = random.chance(0.35) ? everyone : [random.pick(everyone)]
    // With many under way a kill meets something: a commit that nobody noted, an answer that nobody got.
    await load.rush()
    await sleep(random.between(0, 10))
    await kill(places)
    if (!databaseUrl && places === everyone && random.chance(0.8)) {
      await processes.killDatabase()
      done['kills of PostgreSQL']++
    }
    for (const place of places) processes.start(place)
    if (random.chance(0.25)) {
      await sleep(random.between(0, 800))
      await kill(places)
      done['kills during a start'] += places.length
      for (const place of places) processes.start(place)
    }
    await Promise.all(places.map(processes.ready))
    // What failed before is due again.
    await clock.advance(61)
  }
  return done
}

/** The service's own database, to look into. An embedded one is joined while the service runs on it. */
async function openDatabase({ databaseUrl, folder }: CrashTest) {
  const embedded = databaseUrl ? undefined : await startEmbedded({ dataDir: `${folder}/data` })
  const db = connect(databaseUrl ?? embedded!.url, { max: 2 })
  return {
    db,
    async close() {
      await db.end({ timeout: 1 })
      await embedded?.stop()
    },
  }
}

/** A last kill, of all of them: nobody holds anything then, and what was held is free. */
async function endLeases(processes: Processes, db: Sql): Promise<void> {
  const places = processes.urls.map((_url, place) => place)
  await Promise.all(places.map(processes.kill))
  await db`
    update deliveries set leased_until = clock_timestamp() where leased_until is not null
  `
  await db`
    update shipments set leased_until = clock_timestamp() where leased_until is not null
  `
  for (const place of places) processes.start(place)
  await Promise.all(places.map(processes.ready))
}

/** Asks again for every label, once nobody holds a purchase any more. */
async function settleLabels(ask: Ask, db: Sql, books: Books): Promise<void> {
  await until('no label is being bought', 150, async () => {
    const [held] = await db`select from shipments where leased_until > clock_timestamp() limit 1`
    return !held
  })
  for (const { seller, orderId } of books.labels) {
    const { status, text } = await ask.insist('POST', `/v1/orders/${orderId}/label`, {
      token: seller.key,
    })
    // 409: everything in the slice was cancelled first.
    if (status !== 200 && status !== 409) {
      books.wrong.push(`The label of order ${orderId} can’t be had: ${status} ${text}`)
    }
  }
}

/** Until nothing is pending, on through the hours: of five attempts the fourth comes after one. */
async function drain(ask: Ask, clock: Clock): Promise<void> {
  let steps = 0
  await until('nothing is pending', 180, async () => {
    if ((await countDeliveries(ask, 'status=pending')) === 0) return true
    await clock.advance(steps++ < 40 ? 61 : 3_600)
    return false
  })
}

type Clock = { advance(seconds: number): Promise<void> }

/** A repeated request gets its first answer for 24 hours: what was sold first is asked for again at the end. */
const MAX_ADVANCED_SECONDS = 20 * 60 * 60

function clockOf(ask: Ask): Clock {
  let advanced = 0
  return {
    async advance(seconds) {
      advanced += seconds
      if (advanced > MAX_ADVANCED_SECONDS) return
      await ask.must('POST', '/operator/v1/sandbox/clock', {
        token: OPERATOR_TOKEN,
        body: { advance_seconds: seconds },
      })
    },
  }
}

async function until(what: string, seconds: number, condition: () => Promise<boolean>) {
  const deadline = performance.now() + seconds * 1000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Still not so after ${seconds} s: ${what}`)
    await sleep(250)
  }
}

function figuresOf({ ask, books, receiver, rows }: Outcome): Record<string, number> {
  const deliveries = [...receiver.deliveries.values()]
  const sum = (of: (delivery: Delivery) => number) =>
    deliveries.reduce((total, delivery) => total + of(delivery), 0)
  return {
    checkouts: new Set([...rows.values()].map((row) => row.checkout_id)).size,
    'carts refused': books.carts.filter(({ answer }) => answer?.status === 409).length,
    'carts without an answer': books.carts.filter(({ answer }) => !answer).length,
    'order rows': rows.size,
    cancellations: books.cancellations.size,
    'labels asked for': books.labels.length,
    deliveries: deliveries.length,
    attempts: sum(({ times }) => times),
    'sent again though taken': sum(({ taken }) => Math.max(taken - 1, 0)),
    ...Object.fromEntries(Object.entries(ask.lost).map(([why, count]) => [`lost: ${why}`, count])),
  }
}
