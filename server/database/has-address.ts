import { spellingsOf } from '../text/mailbox.ts'
import type { Db, Fragment } from './sql.ts'

/**
 * The condition that a column with e-mail addresses has this one, in any case and in either form of its domain. An index on
 * `lower(column)` serves it.
 */
export const hasAddress = (db: Db, column: Fragment, address: string): Fragment => db`
  lower(${column}) = any(array(select lower(spelling) from unnest(${spellingsOf(address)}::text[]) spelling))
`
