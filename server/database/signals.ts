import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { Log } from '../log.ts'
import { unlessLate } from '../time/unless-late.ts'
import type { Circuit } from './circuit.ts'
import { connectAlone } from './connect.ts'
import type { Db, Sql } from './sql.ts'

/**
 * Every change that other code is notified of, and the reach of its signal beyond the subscribers of this process:
 * - `with the commit`: all processes, by a NOTIFY in the transaction. NOTIFY takes a lock on the whole database at
 *   commit, so this is for rare changes. The sender also notifies the other processes of this service directly and
 *   waits for them: otherwise a key would work in one of them for a moment after the response to its revocation.
 * - `soon after`: all processes, by one NOTIFY for everything that was committed within 20 ms.
 * - `this process`: no other process. Workers of other processes find the work when they poll.
 */
const REACH = {
  catalog: 'with the commit',
  /** A key or an account changed: that with the id of the signal, or any. */
  keys: 'with the commit',
  'new-keys': 'with the commit',
  'new-access-tokens': 'with the commit',
  'new-staff': 'with the commit',
  /** The sandbox's clock was moved in the database. */
  clock: 'with the commit',
  deliveries: 'soon after',
  /** A webhook endpoint was changed or deleted. */
  endpoints: 'soon after',
  /** An offer changed. Other processes read the feed of changes. */
  offers: 'this process',
  photos: 'this process',
  mail: 'this process',
  shipments: 'this process',
  /** The clock of this process has moved: anything may have become due. */
  time: 'this process',
} as const satisfies Record<string, 'with the commit' | 'soon after' | 'this process'>

export type Topic = keyof typeof REACH

/** A topic, and the id of the signal if it has one. */
type Notice = Topic | `${Topic}:${number}`

/**
 * Notifies the subscribers of a topic. In a transaction they are notified after the commit, or not at all when it is
 * rolled back. A signal can be lost with its process: subscribers must also poll.
 */
export type Signal = {
  (topic: Topic, id?: number): Promise<void>
  /**
   * @returns the signal for one transaction, and `release`, which must be called once that is committed, and awaited if
   *   it returns a promise
   */
  deferUntilCommit(transaction: Db): { signal: Signal; release: () => Promise<unknown> | undefined }
}

/** The other processes of this service, which have caches of their own. */
export type Siblings = {
  /** Resolves when they have notified their subscribers, or don't respond. */
  tell(notice: Notice): Promise<unknown>
  /** Calls `notified` with each notice that one of them tells. */
  listen(notified: (notice: Notice) => void): void
}

export type Signals = {
  signal: Signal
  /**
   * Calls `notified` with the id of each signal of the topic, and once without one after the connection to the other
   * processes was lost and restored. The returned function unsubscribes.
   */
  on(topic: Topic, notified: (id?: number) => void): () => void
  /** False while signals of other processes may be missed: cached data must be checked against the database. */
  readonly connected: boolean
  close(): Promise<void>
}

/** Signals without subscribers in this process, for commands: they reach the running services. */
export function signalOnly(db: Db): Signal {
  return signalFrom(db, () => undefined)
}

/** Signals within this process, without a database. */
export function localSignals(): Signals {
  const { notify, on } = subscriptions()
  const signal = signalFrom(undefined as never, (notice) => {
    notify(notice)
    return undefined
  })
  return { signal, on, connected: true, async close() {} }
}

const THROTTLE_MS = 20

/**
 * Signals between all processes that use this database; `db` sends them, a connection of its own receives them.
 *
 * @param options.circuit that of `db`: closed when the connection is restored, because subscribers read the database
 */
export async function openSignals(
  url: string,
  db: Db,
  log: Log,
  {
    siblings,
    circuit,
    noticeTimeoutMs = NOTICE_TIMEOUT_MS,
  }: { siblings?: Siblings | undefined; circuit?: Circuit; noticeTimeoutMs?: number } = {},
): Promise<Signals> {
  const { notify, on, topics } = subscriptions()
  siblings?.listen(notify)
  const sendSoon = new Map<Topic, () => void>()
  for (const topic of Object.keys(REACH) as Topic[]) {
    if (REACH[topic] !== 'soon after') continue
    const send = () => {
      sendNotice(db, topic).catch((error) =>
        log.debug({ err: error, topic }, 'cannot notify the other processes'),
      )
    }
    sendSoon.set(topic, throttle(THROTTLE_MS, send))
  }
  /** The payload of a notice to this process alone. The other processes ignore it. */
  const test = `test:${randomUUID()}`
  let endTest = () => {}
  let hasArrived = false
  let isReported = false
  const reportLost = () => {
    if (isReported || !notices.connected) return
    isReported = true
    log.error(
      {},
      'notifications of the database do not arrive, so other services keep accepting revoked keys: DATABASE_URL must not name a pooler in transaction mode (docs/configuration.md#poolers)',
    )
  }
  const testNotices = async () => {
    endTest()
    hasArrived = false
    // A busy database may take the notice late, or not at all.
    await sendNotice(db, test)
    endTest()
    if (!hasArrived) endTest = unlessLate(noticeTimeoutMs, HEARTBEAT_STEPS, reportLost)
  }
  const notices = await listenForNotices(url, log, {
    received: (payload) => {
      if (payload !== test) return notify(payload as Notice)
      hasArrived = true
      endTest()
    },
    restored: () => {
      testNotices().catch(() => {})
      circuit?.answered()
      for (const topic of topics()) if (REACH[topic] !== 'this process') notify(topic)
    },
  })
  return {
    signal: signalFrom(db, (notice) => {
      const topic = topicOf(notice)
      notify(notice)
      sendSoon.get(topic)?.()
      return REACH[topic] === 'with the commit' ? siblings?.tell(notice) : undefined
    }),
    on,
    get connected() {
      return notices.connected
    },
    close() {
      endTest()
      return notices.close()
    },
  }
}

/** @param announce notifies of a change that is committed; a promise must be awaited */
function signalFrom(db: Db, announce: (notice: Notice) => Promise<unknown> | undefined): Signal {
  const signal = async (topic: Topic, id?: number) => {
    const notice: Notice = id === undefined ? topic : `${topic}:${id}`
    if (REACH[topic] === 'with the commit') await sendNotice(db, notice)
    await announce(notice)
  }
  return Object.assign(signal, {
    deferUntilCommit(transaction: Db) {
      const pending = new Set<Notice>()
      return {
        signal: signalFrom(transaction, (notice) => {
          pending.add(notice)
          return undefined
        }),
        release() {
          const announced = [...pending].flatMap((notice) => announce(notice) ?? [])
          return announced.length > 0 ? Promise.all(announced) : undefined
        },
      }
    },
  })
}

function subscriptions() {
  const subscribers = new Set<{ topic: Topic; notified: (id?: number) => void }>()
  return {
    notify(notice: Notice) {
      const topic = topicOf(notice)
      const id = topic === notice ? undefined : Number(notice.slice(topic.length + 1))
      for (const subscriber of subscribers) if (subscriber.topic === topic) subscriber.notified(id)
    },
    on(topic: Topic, notified: (id?: number) => void) {
      // A subscriber has its own time for the database, not that of the request that signals.
      const subscriber = { topic, notified: AsyncLocalStorage.bind(notified) }
      subscribers.add(subscriber)
      return () => {
        subscribers.delete(subscriber)
      }
    },
    topics: () => new Set([...subscribers].map(({ topic }) => topic)),
  }
}

const topicOf = (notice: Notice) => notice.split(':', 1)[0] as Topic

/**
 * Returns a function that runs `work` `ms` milliseconds (real time) after a call. Calls in between lead to the same
 * run.
 */
export function throttle(ms: number, work: () => void): () => void {
  let isPlanned = false
  return () => {
    if (isPlanned) return
    isPlanned = true
    setTimeout(() => {
      isPlanned = false
      work()
    }, ms).unref()
  }
}

const CHANNEL = 'cardstall'
const HEARTBEAT_MS = 5_000
const HEARTBEAT_TIMEOUT_MS = 2_000
/** A pause of this process counts as a quarter of the timeout at most. */
const HEARTBEAT_STEPS = 4
const RECONNECT_DELAY_MS = 300
const NOTICE_TIMEOUT_MS = 10_000
/** After this time an attempt to connect is abandoned for a new one: its first packet may be lost. */
const CONNECT_TIMEOUT_MS = 3_000

async function sendNotice(db: Db, payload: string): Promise<void> {
  await db`select pg_notify(${CHANNEL}, ${payload})`
}

/**
 * Listens on a connection of its own. A heartbeat detects a connection that died silently. Notices sent while it was
 * lost are missed; `restored` is called when it is back.
 */
async function listenForNotices(
  url: string,
  log: Log,
  { received, restored }: { received: (payload: string) => void; restored: () => void },
) {
  let connected = false
  let closed = false
  let session: Sql | undefined
  let timer: NodeJS.Timeout | undefined

  const lost = (reason: unknown, from: Sql | undefined) => {
    if (closed || from !== session) return
    if (connected) log.warn({ err: reason }, 'lost the notice connection; caches are bypassed')
    connected = false
    session = undefined
    clearTimeout(timer)
    void from?.end({ timeout: 0 }).catch(() => {})
    timer = setTimeout(() => void open().catch((error) => lost(error, session)), RECONNECT_DELAY_MS)
  }

  const open = async () => {
    const opening = connectAlone(url, {
      application_name: 'cardstall notices',
      connect_timeout: CONNECT_TIMEOUT_MS / 1000,
      onnotify: (_channel, payload) => received(payload),
      onclose: () => lost(new Error('connection closed'), opening),
    })
    session = opening
    // A server can also freeze after it has accepted the connection.
    const timeout = setTimeout(
      () => lost(new Error('no response'), opening),
      2 * CONNECT_TIMEOUT_MS,
    )
    try {
      await opening.unsafe(`listen ${CHANNEL}`)
    } finally {
      clearTimeout(timeout)
    }
    if (opening !== session) return
    connected = true
    restored()
    beat(opening)
  }

  const beat = (on: Sql) => {
    timer = setTimeout(() => {
      const cancelTimeout = unlessLate(HEARTBEAT_TIMEOUT_MS, HEARTBEAT_STEPS, () =>
        lost(new Error('no heartbeat'), on),
      )
      on`select 1`
        .then(() => on === session && beat(on))
        .catch((error) => lost(error, on))
        .finally(cancelTimeout)
    }, HEARTBEAT_MS)
    timer.unref()
  }

  await open()
  return {
    get connected() {
      return connected
    },
    async close() {
      closed = true
      connected = false
      clearTimeout(timer)
      await session?.end({ timeout: 1 })
    },
  }
}
