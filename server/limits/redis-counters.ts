import { Command, Redis, ReplyError } from 'ioredis'
import { StartError } from '../start-error.ts'
import { unlessLate } from '../time/unless-late.ts'
import { type Counters, memoryCounters, WINDOW_SECONDS } from './counters.ts'

const KEY_PREFIX = 'cardstall:rate:'
/** The TTL of a key is two windows, so that none expires while its window lasts. */
const TTL_WINDOWS = 2
const CONNECT_TIMEOUT_MS = 2000
const CONNECT_STEPS = 20
/** Exponential backoff between attempts to connect. */
const MIN_BACKOFF_MS = 1000
const MAX_BACKOFF_MS = 5000
/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 10_000
/** Keeps the server, or a proxy, from closing an idle connection. */
const PING_INTERVAL_MS = 30_000

/**
 * An atomic script, so that no key is ever left without its TTL. Measured alternatives: INCR and EXPIRE in a MULTI cost
 * three times the CPU time in this process, SET … NX and INCR in a pipeline a third more (and the key could expire
 * between the two), EVALSHA the same. The server spends 3.5 µs on the script, as much as on the MULTI.
 */
const COUNT = `local hits = redis.call('INCRBY', KEYS[1], ARGV[2])
if hits == tonumber(ARGV[2]) then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return hits`

type Options = {
  log: {
    warn(details: object, message: string): void
    info(details: object, message: string): void
  }
  /** Time limit of a request's wait for the server's response. */
  timeoutMs?: number
  /** Called when a connection is ready, and when one is lost or cannot be opened. */
  changed?: (isUp: boolean) => void
}

/**
 * Counters shared by all processes through a Redis or Valkey server.
 *
 * A rate limit must never stop the service that it protects: while the server is gone, silent, slow or responding with
 * errors, this process counts in memory without delay and reconnects in the background. Only hits that are in flight
 * when the server falls silent wait, and at most for `timeoutMs`. Why this is not a library:
 * docs/decisions/0007-redis-counters.md.
 *
 * @throws StartError if `url` is invalid; its message never contains the URL, which may hold a password
 */
export function redisCounters(
  url: string,
  { log, timeoutMs = 100, changed = () => {} }: Options,
): Counters {
  const local = memoryCounters()
  let connection: Connection
  let retry: NodeJS.Timeout | undefined
  let backoffMs = MIN_BACKOFF_MS
  let readySince = 0
  let isDown = false
  let closed = false
  // At the start, hits wait for the first connection instead of counting in memory, but at most for `timeoutMs`.
  const first = Promise.withResolvers<void>()
  let starting: Promise<void> | undefined = first.promise

  function connect(): void {
    connection = openConnection(url, timeoutMs, {
      ready() {
        readySince = performance.now()
        if (isDown) log.info({}, 'Redis is available again: all processes share their counters')
        isDown = false
        changed(true)
        started()
      },
      lost(reason) {
        if (closed) return
        changed(false)
        if (!isDown) log.warn({ reason }, 'Redis is unavailable: each process counts for itself')
        if (!isDown && performance.now() - readySince > STABLE_MS) backoffMs = MIN_BACKOFF_MS
        isDown = true
        retry = setTimeout(connect, backoffMs).unref()
        backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS)
        started()
      },
    })
  }

  function hit(
    subject: string,
    window: number,
    seconds = WINDOW_SECONDS,
    by = 1,
  ): number | Promise<number> {
    if (connection.ready) {
      return connection
        .count(`${KEY_PREFIX}${window}:${subject}`, seconds, by)
        .catch(() => local.hit(subject, window, seconds, by))
    }
    if (starting) return starting.then(() => hit(subject, window, seconds, by))
    return local.hit(subject, window, seconds, by)
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
  /** Whether it is connected and has counted once. */
  readonly ready: boolean
  /** Closes the connection and rejects if the server responds too late or with an error. */
  count(key: string, seconds: number, by: number): Promise<number>
  end(): void
}

/**
 * One connection, which never reconnects. The client's own reconnecting is not enough: it doesn't detect a server that
 * accepts connections and then stays silent, or one that only responds with errors.
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
    cancelConnectTimeout()
    clearInterval(pings)
    client.disconnect() // rejects all pending commands
    events.lost(reason)
  }

  const send = (key: string, seconds: number, by: number) => {
    const values = [COUNT, '1', key, String(TTL_WINDOWS * seconds), String(by)]
    return client.sendCommand(new Command('eval', values)) as Promise<number>
  }

  function count(key: string, seconds: number, by: number): Promise<number> {
    const cancelTimeout = unlessLate(timeoutMs, 2, () => lose(`no response within ${timeoutMs} ms`))
    return send(key, seconds, by).then(
      (hits) => {
        cancelTimeout()
        return hits
      },
      (error) => {
        cancelTimeout()
        lose(reasonOf(error))
        throw error
      },
    )
  }

  async function open(): Promise<void> {
    await client.connect()
    // An open connection is not enough: a replica, or a server out of memory, refuses to count.
    await send(`${KEY_PREFIX}trial`, WINDOW_SECONDS, 1)
    if (lost) return
    cancelConnectTimeout()
    ready = true
    events.ready()
  }

  // Longer and with more steps than for a hit, because the start of the service keeps the process busy.
  const cancelConnectTimeout = unlessLate(CONNECT_TIMEOUT_MS, CONNECT_STEPS, () =>
    lose(`no connection within ${CONNECT_TIMEOUT_MS} ms`),
  )
  client.on('error', (error) => lose(reasonOf(error)))
  client.on('close', () => lose('the connection was closed'))
  const pings = setInterval(() => client.ping().catch(() => {}), PING_INTERVAL_MS).unref()
  open().catch((error) => lose(reasonOf(error)))

  return {
    get ready() {
      return ready
    },
    count,
    end: () => lose('closed'),
  }
}

function newClient(url: string): Redis {
  // The client's own errors contain the URL, and it takes a name for a database.
  const { protocol, pathname } = URL.canParse(url) ? new URL(url) : {}
  if (!/^rediss?:$/.test(protocol ?? '') || !/^\/?\d*$/.test(pathname ?? '')) {
    throw new StartError('REDIS_URL must look like redis://user:password@host:6379/0.')
  }
  return new Redis(url, {
    lazyConnect: true,
    protocol: 2, // supported by every server, and sufficient for counters
    enableReadyCheck: false, // see open()
    enableOfflineQueue: false,
    disableClientInfo: true,
    connectTimeout: 0, // see unlessLate()
    disconnectTimeout: 0,
    retryStrategy: null,
  })
}

/** The error's message for the log. Quoted text is removed: a server quotes unknown commands, AUTH with its password. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  if (error instanceof ReplyError) return message.split(/['"`]/, 1)[0]!.trim()
  return message || code || 'unknown error'
}
