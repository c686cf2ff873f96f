import type postgres from 'postgres'

/** A pool of connections, or a single one. */
export type Sql = Db & Pick<postgres.Sql<{ bigint: number; date: string }>, 'end' | 'options'>

/** Target of a verb's statements: the pool, or the current transaction. */
export type Db = postgres.ISql<{ bigint: number; date: string }>

/** A part of a statement. */
export type Fragment = postgres.Fragment
