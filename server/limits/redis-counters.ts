import { createClient, ErrorReply } from '@redis/client'
import { StartError } from '../start-error.ts'
import { type Counters, memoryCounters } from './counters.ts'
import { WINDOW_SECONDS } from './rate-limit.ts'

const KEY_PREFIX = 'cardstall:rate:'
/** Two windows, so that no key expires while it is in use. */
const KEY_TTL_SECONDS = 2 * WINDOW_SECONDS
const CONNECT_TIMEOUT_MS = 2000
const CONNECT_STEPS = 20
/** How long a server that failed is left alone: a second, then twice as long each time. */
const MIN_BACKOFF_MS = 1000
const MAX_BACKOFF_MS = 5000
/** A server that has answered this long starts again from the first pause. */
const STABLE_MS = 10_000
/** Keeps a connection without traffic from being closed as idle by the server or something between. */
const PING_INTERVAL_MS = 30_000

/**
 * One step on the server, so that no key is ever left without its TTL. Measured: INCR and EXPIRE in a MULTI cost
 * three times the CPU time here, SET … NX and INCR in a pipeline a third more (and a key could expire between the
 * two); EVALSHA the same. The server itself spends 3.5 µs on it, as on the MULTI.
 */
const COUNT = `local hits = redis.call('INCR', KEYS[1])
if hits == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return hits`

type Options = {
  log: {
    warn(details: object, message: string): void
    info(details: object, message: string): void
  }
  /** How long a request may wait for the server's answer. */
  timeoutMs?: number
  /** Called when a connection is ready, and when one was lost or could not be opened. */
  changed?: (isUp: boolean) => void
}

/**
 * Counters shared by all processes through a Redis or Valkey server.
 *
 * A limit must never stop the service it guards: while the server is gone, silent, too slow or answering
 * errors, hits are counted in this process's memory, at once, and the server is tried again in the background.
 * Only the hits that are under way when it falls silent wait for it, and no longer than `timeoutMs`.
 *
 * @throws StartError when `url` can't be used; its message doesn't show the URL, which may hold a password
 */
export function redisCounters(
  url: string,
  { log, timeoutMs = 100, changed = () => {} }: Options,
): Counters {
  const local = memoryCounters()
  let connection: Connection
  let retry: NodeJS.Timeout | undefined
  let pause = MIN_BACKOFF_MS
  let backSince = 0
  let away = false
  let closed = false
  // The first hits wait for the first connection rather than count alone, but no longer than for an answer.
  const first = Promise.withResolvers<void>()
  let starting: Promise<void> | undefined = first.promise

  function connect(): void {
    connection = openConnection(url, timeoutMs, {
      ready() {
        backSince = performance.now()
        if (away) log.info({}, 'Redis is back: requests are counted across processes again')
        away = false
        changed(true)
        started()
      },
      lost(reason) {
        if (closed) return
        changed(false)
        if (!away) log.warn({ reason }, 'Redis is away: each process counts requests by itself')
        if (!away && performance.now() - backSince > STABLE_MS) pause = MIN_BACKOFF_MS
        away = true
        retry = setTimeout(connect, pause).unref()
        pause = Math.min(2 * pause, MAX_BACKOFF_MS)
        started()
      },
    })
  }

  function hit(subject: string, window: number): number | Promise<number> {
    if (connection.ready) {
      return connection
        .count(`${KEY_PREFIX}${window}:${subject}`)
        .catch(() => local.hit(subject, window))
    }
    if (starting) return starting.then(() => hit(subject, window))
    return local.hit(subject, window)
  }

  function started(): void {
    starting = undefined
    first.resolve()
  }

  connect()
  setTimeout(started, timeoutMs)

  return {
    hit,

    async close() {
      closed = true
      clearTimeout(retry)
      connection.end()
      started()
      await local.close()
    },
  }
}

type Connection = {
  /** Connected, and able to count: it has done so once. */
  readonly ready: boolean
  /** Rejects when the server doesn't answer in time, or with an error; the connection is lost then. */
  count(key: string): Promise<number>
  end(): void
}

/**
 * One connection, from its opening to its loss; it never reconnects. The client's own reconnecting would not
 * do: it doesn't notice a server that accepts connections and then says nothing, nor one that only answers errors.
 */
function openConnection(
  url: string,
  timeoutMs: number,
  events: { ready(): void; lost(reason: string): void },
): Connection {
  let ready = false
  let lost = false
  const client = newClient(url)

  function lose(reason: string): void {
    if (lost) return
    lost = true
    ready = false
    connected()
    client.destroy() // rejects whatever is still waiting for an answer
    events.lost(reason)
  }

  const send = (key: string) =>
    client.sendCommand<number>(['EVAL', COUNT, '1', key, String(KEY_TTL_SECONDS)])

  function count(key: string): Promise<number> {
    const answered = unlessLate(timeoutMs, 2, () => lose(`no answer within ${timeoutMs} ms`))
    return send(key).then(
      (hits) => {
        answered()
        return hits
      },
      (error) => {
        answered()
        lose(reasonOf(error))
        throw error
      },
    )
  }

  async function open(): Promise<void> {
    await client.connect()
    // An open connection proves little: a replica, or a server out of memory, answers and refuses to count.
    await send(`${KEY_PREFIX}trial`)
    if (lost) return
    connected()
    ready = true
    events.ready()
  }

  // A start keeps the process busy, and so does the first answer's way: in small steps, and not as short as for a hit.
  const connected = unlessLate(CONNECT_TIMEOUT_MS, CONNECT_STEPS, () =>
    lose(`no connection within ${CONNECT_TIMEOUT_MS} ms`),
  )
  client.on('error', (error) => lose(reasonOf(error)))
  client.on('connect', () => {
    // Given up while the socket was still connecting, where destroy() can't reach it.
    if (lost) client.destroy()
  })
  open().catch((error) => lose(reasonOf(error)))

  return {
    get ready() {
      return ready
    },
    count,
    end: () => lose('closed'),
  }
}

/**
 * Calls `late` when the time is over, unless the returned function is called before. The time passes in steps, and the
 * end waits for one look at what has arrived: while this process is too busy to read, an answer may be here and only
 * the reading late. However long that takes, it costs one step, and must not count against the server.
 */
function unlessLate(milliseconds: number, steps: number, late: () => void): () => void {
  let settled = false
  let left = steps
  let timer: NodeJS.Timeout
  const step = () => {
    timer = setTimeout(() => (--left > 0 ? step() : setImmediate(end)), milliseconds / steps)
    timer.unref()
  }
  const end = () => {
    if (!settled) late()
  }
  step()
  return () => {
    settled = true
    clearTimeout(timer)
  }
}

function newClient(url: string) {
  try {
    const client = createClient({
      url,
      RESP: 2, // every server speaks it, and a counter needs no more
      maintNotifications: 'disabled',
      pingInterval: PING_INTERVAL_MS,
      commandOptions: { timeout: 0 }, // the client's own costs an AbortSignal per command; see count()
      socket: { connectTimeout: 0, reconnectStrategy: false }, // ours counts the process's own delays less
    })
    client.unref() // destroy() can't reach a socket that is still connecting; nobody shall wait for it
    return client
  } catch {
    // The original error holds the URL.
    throw new StartError('REDIS_URL must look like redis://user:password@host:6379/0.')
  }
}

/** The error in words for the log. A server quotes the command it doesn't know, and with AUTH that is the password. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  if (error instanceof ErrorReply) return message.split(/['"`]/, 1)[0]!.trim()
  return message || code || 'unknown error'
}
