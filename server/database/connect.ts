import postgres from 'postgres'
import { teachArrays } from './array-types.ts'
import { type Circuit, type CircuitTimes, openCircuit } from './circuit.ts'
import { type PoolLimits, poolOf } from './pool.ts'
import type { Sql } from './sql.ts'

/**
 * No statement may run, and no transaction may sit idle, longer than this; nor may a transaction that writes take
 * longer as a whole (see `transactionsOn`): incremental syncs rely on it.
 */
export const WRITE_LIMIT_MS = 10_000

const INT8 = 20
const DATE = 1082

/**
 * The options every connection shares: `bigint` arrives as a number (ids stay below 2^53), `date` as its
 * YYYY-MM-DD text, because a day has no time zone.
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
 * Opens the pool that requests and jobs work on. Connects when the first statement is sent.
 *
 * @param options.forQueue for statements that take work from a queue and note what became of it: a commit isn't waited
 *   for until it's on disk (should the database crash, the last fraction of a second of it is as if it hadn't been), and
 *   no table is read as a whole, as plans made while it was empty would
 * @param options.circuit to share what is known about the database being away
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
  const settings = options.forQueue ? { synchronous_commit: 'off', enable_seqscan: 'off' } : {}
  const open = (onclose: () => void) => connectSingle(url, onclose, settings)
  return poolOf(open, options.max ?? 10, options.circuit ?? circuitTo(url), options.limits)
}

/** A visit that takes longer is given up for newer ones: its first packet may be lost. */
const VISIT_TIMEOUT_S = 3

/** Watches whether the database at this address is away, by visits on connections of its own. */
export function circuitTo(url: string, times?: CircuitTimes): Circuit {
  return openCircuit(() => {
    const session = connectAlone(url, { connect_timeout: VISIT_TIMEOUT_S })
    return {
      answer: session`select 1`,
      end: () => void session.end({ timeout: 0 }).catch(() => {}),
    }
  }, times)
}

/**
 * Opens a single connection for transactions (see `transactionsOn`). A statement that reaches it outside of one is
 * refused by the server if it writes.
 */
export function connectForTransactions(url: string, onclose: () => void): Sql {
  return connectSingle(url, onclose, { default_transaction_read_only: true })
}

/** Opens a single connection that is not opened again when it was lost. */
function connectSingle(url: string, onclose: () => void, settings: object = {}): Sql {
  const sql: Sql = postgres(url, {
    ...connectionOptions,
    max: 1,
    onclose: () => {
      // Else the client would connect again for statements that still wait, and nobody would ever close that.
      Object.assign(sql.options, { socket: refuseToConnect })
      onclose()
    },
    max_lifetime: null,
    connection: {
      application_name: 'cardstall',
      statement_timeout: WRITE_LIMIT_MS,
      idle_in_transaction_session_timeout: WRITE_LIMIT_MS,
      ...settings,
    },
  })
  return teachArrays(sql)
}

function refuseToConnect(): never {
  throw new Error('This connection is closed.')
}

/** As text: the client leaves out a 0, and then what the database or the role is set to would count. */
const ZERO = '0' as unknown as number

/**
 * Opens one connection of its own, for what lasts longer than a statement: listening, and locks held by a
 * session. Never closed for being idle or old. No statement timeout: waiting for a lock is its trade.
 */
export function connectAlone(
  url: string,
  options: {
    onnotify?: (channel: string, payload: string) => void
    onclose?: () => void
    connect_timeout?: number
  } = {},
): Sql {
  return postgres(url, {
    ...connectionOptions,
    ...options,
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    connection: {
      application_name: 'cardstall',
      statement_timeout: ZERO,
      idle_session_timeout: ZERO,
    },
  } as Parameters<typeof postgres>[1]) as unknown as Sql
}
