import type { Log } from '../context.ts'
import { connectAlone, type Db, type Sql } from './connect.ts'

/** What processes tell each other: something they hold in memory is out of date, or there are deliveries to make. */
export type Topic = 'catalog' | 'keys' | 'new-keys' | 'clock' | 'deliveries' | 'endpoints'

export type Notices = {
  /** Calls `heard` for each notice on the topic, and once after the connection was lost and found again. */
  on(topic: Topic, heard: () => void): void
  /** False while notices may be missed: then nothing read earlier may be trusted without asking the database. */
  readonly connected: boolean
  close(): Promise<void>
}

const CHANNEL = 'cardstall'
const HEARTBEAT_MS = 5_000
const HEARTBEAT_PATIENCE_MS = 2_000
const RETRY_MS = 300
/** An attempt to connect that takes longer is given up for a new one: its first packet may be lost. */
const CONNECT_PATIENCE_MS = 3_000

/**
 * Tells every process, this one included, once the caller's transaction commits. NOTIFY takes a
 * database-wide lock at commit, so it's for what changes rarely: keys, accounts, the catalog, the clock.
 */
export async function notify(db: Db, topic: Topic): Promise<void> {
  await db`select pg_notify(${CHANNEL}, ${topic})`
}

/**
 * Listens on a connection of its own. A heartbeat finds out about a connection that died without a word;
 * what was missed meanwhile is made up for by calling every listener when the connection is back.
 */
export async function listenForNotices(url: string, log: Log): Promise<Notices> {
  const listeners = new Map<Topic, (() => void)[]>()
  let connected = false
  let closed = false
  let session: Sql | undefined
  let timer: NodeJS.Timeout | undefined

  const tell = (topic: Topic) => {
    for (const heard of listeners.get(topic) ?? []) heard()
  }

  const lost = (reason: unknown, from: Sql | undefined) => {
    if (closed || from !== session) return
    if (connected) log.warn({ err: reason }, 'the notice connection is lost, memory is bypassed')
    connected = false
    session = undefined
    clearTimeout(timer)
    void from?.end({ timeout: 0 }).catch(() => {})
    timer = setTimeout(() => void open().catch((error) => lost(error, session)), RETRY_MS)
  }

  const open = async () => {
    const opening = connectAlone(url, {
      connect_timeout: CONNECT_PATIENCE_MS / 1000,
      onnotify: (_channel, payload) => tell(payload as Topic),
      onclose: () => lost(new Error('connection closed'), opening),
    })
    session = opening
    // A server can also freeze after it has taken the connection.
    const patience = setTimeout(
      () => lost(new Error('no answer'), opening),
      2 * CONNECT_PATIENCE_MS,
    )
    try {
      await opening.unsafe(`listen ${CHANNEL}`)
    } finally {
      clearTimeout(patience)
    }
    if (opening !== session) return
    connected = true
    // What happened meanwhile was missed: everything held in memory may be out of date.
    for (const topic of listeners.keys()) tell(topic)
    beat(opening)
  }

  const beat = (on: Sql) => {
    timer = setTimeout(() => {
      const patience = setTimeout(() => lost(new Error('no heartbeat'), on), HEARTBEAT_PATIENCE_MS)
      on`select 1`
        .then(() => on === session && beat(on))
        .catch((error) => lost(error, on))
        .finally(() => clearTimeout(patience))
    }, HEARTBEAT_MS)
    timer.unref()
  }

  await open()
  return {
    on(topic, heard) {
      listeners.set(topic, [...(listeners.get(topic) ?? []), heard])
    },
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
