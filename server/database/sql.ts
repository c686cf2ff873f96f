import type postgres from 'postgres'

/** A pool of connections, or a single one. */
export type Sql = Db & Pick<postgres.Sql<{ bigint: number; date: string }>, 'end' | 'options'>

/** Where a verb sends its statements: the pool, or the transaction it runs in. */
export type Db = postgres.ISql<{ bigint: number; date: string }>
