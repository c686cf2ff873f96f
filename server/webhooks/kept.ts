import type { Db } from '../database/sql.ts'

/** The limit of the retention: deliveries with lower ids are hidden. */
export const keptFrom = (db: Db) =>
  db`(select kept_from from retention where table_name = 'deliveries')`

/**
 * Whether a row of `deliveries` is shown: if it is within the retention, or queued. Older ones wait for the end of their
 * partition.
 */
export const isKept = (db: Db) => db`
  (
    deliveries.id >= ${keptFrom(db)}
    or deliveries.id in (select delivery_id from delivery_queue where delivery_id < ${keptFrom(db)})
  )
`

/**
 * No delivery with a lower id is shown. A search for the oldest ones begins here, because `isKept` alone makes it read
 * all hidden ones.
 */
export const firstKept = (db: Db) => db`
  (
    select least(min(delivery_id), ${keptFrom(db)})
    from delivery_queue
    where delivery_id < ${keptFrom(db)}
  )
`
