import postgres from 'postgres'
import { registerArrayTypes } from './array-types.ts'
import { type Circuit, type CircuitTimes, createCircuit } from './circuit.ts'
import { type PoolLimits, poolOf } from './pool.ts'
import { serverOf } from './server-address.ts'
import type { Sql } from './sql.ts'

/**
 * Time limit of each statement, of idle time in a transaction, and of a whole transaction that writes. Incremental
 * syncs rely on the last one (see `transactionsOn`).
 */
export const WRITE_LIMIT_MS = 10_000

/**
 * The first statement of a session for single statements. Like BEGIN_WRITE of transactions.ts, it makes commits durable, or
 * keeps the administrator's choice. The server can't turn them off for this session later.
 */
const KEEP_COMMITS_DURABLE = `
  select set_config(
    'synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), false
  )
`

/** A string, because the client omits a numeric 0, and then the default of the database or role would apply. */
const ZERO = '0' as unknown as number

const INT8 = 20
const DATE = 1082

/**
 * Options of all connections. `bigint` is read as a number, because ids stay below 2^53, and `date` as YYYY-MM-DD text,
 * because a day has no time zone.
 */
const connectionOptions = {
  types: {
    bigint: { to: INT8, from: [INT8], parse: Number, serialize: String },
    date: { to: DATE, from: [DATE], parse: String, serialize: String },
  },
  onnotice: () => {},
  connect_timeout: 10,
  fetch_types: false,
}

/**
 * Opens a pool for single statements. It connects when the first statement is sent.
 *
 * @param options.forQueue for claiming jobs and recording their outcomes. Commits are asynchronous, so a crash of the
 *   database loses the last fraction of a second; sequential scans are disabled, because a plan made while the table
 *   was empty would use one. Each statement is planned once: planning it for its values takes longer than running it
 * @param options.circuit a circuit breaker shared with other pools
 */
export function connect(
  url: string,
  options: {
    max?: number
    forQueue?: boolean
    circuit?: Circuit
    limits?: PoolLimits
  } = {},
): Sql {
  const settings = options.forQueue
    ? { synchronous_commit: 'off', enable_seqscan: 'off', plan_cache_mode: 'force_generic_plan' }
    : {}
  const open = (onclose: () => void) => connectSingle(url, onclose, settings)
  const first = options.forQueue ? 'select 1' : KEEP_COMMITS_DURABLE
  return poolOf(open, first, options.max ?? 10, options.circuit ?? circuitFor(url), options.limits)
}

/** A probe that takes longer is abandoned for newer ones: its first packet may be lost. */
const PROBE_TIMEOUT_S = 3

/** A circuit breaker for the database at this URL. */
export function circuitFor(url: string, times?: CircuitTimes): Circuit {
  return createCircuit(() => {
    const session = connectAlone(url, { connect_timeout: PROBE_TIMEOUT_S })
    return {
      answer: session`select 1`,
      end: () => void session.end({ timeout: 0 }).catch(() => {}),
    }
  }, times)
}

/** Opens a single connection that does not reconnect. */
export function connectSingle(url: string, onclose: () => void, settings: object = {}): Sql {
  const { address, options: server } = serverOf(url)
  const sql: Sql = postgres(address, {
    ...connectionOptions,
    ...server,
    max: 1,
    onclose: () => {
      // Otherwise the client would reconnect for its pending statements, and nothing would close that connection.
      Object.assign(sql.options, { socket: refuseToConnect })
      onclose()
    },
    max_lifetime: null,
    connection: {
      application_name: 'cardstall',
      statement_timeout: WRITE_LIMIT_MS,
      idle_in_transaction_session_timeout: WRITE_LIMIT_MS,
      // Compiling a plan takes longer than any of the service's statements, and shared reads have high estimates.
      jit: 'off',
      // The client reads values in these formats only; a server, database or role can have other defaults.
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      bytea_output: 'hex',
      // Statements and parameters are written for these defaults of PostgreSQL.
      array_nulls: 'on',
      standard_conforming_strings: 'on',
      default_transaction_isolation: 'read committed',
      // A pool keeps its idle sessions.
      idle_session_timeout: ZERO,
      ...settings,
    },
  })
  return registerArrayTypes(sql)
}

function refuseToConnect(): never {
  throw new Error('This connection is closed.')
}

/**
 * Opens a separate connection for LISTEN and session locks. It has no statement timeout, because it waits for locks,
 * and is never closed for being idle or old.
 */
export function connectAlone(
  url: string,
  options: {
    onnotify?: (channel: string, payload: string) => void
    onclose?: () => void
    connect_timeout?: number
    application_name?: string
  } = {},
): Sql {
  const { application_name = 'cardstall', ...others } = options
  const { address, options: server } = serverOf(url)
  return postgres(address, {
    ...connectionOptions,
    ...server,
    ...others,
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    connection: {
      application_name,
      statement_timeout: ZERO,
      lock_timeout: ZERO,
      idle_session_timeout: ZERO,
    },
  } as Parameters<typeof postgres>[1]) as unknown as Sql
}
