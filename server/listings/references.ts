import type { Context } from '../context.ts'
import { validationError } from '../errors.ts'

/**
 * Locks the references of an account's listings until the transaction ends: two transactions that set references in
 * different orders would wait for each other at the unique index. Must precede the locks of listings.
 *
 * @returns the ids of the listings that have one of these references, by reference
 */
export async function lockReferences(
  { db }: Context,
  accountId: number,
  references: string[],
): Promise<Map<string, number>> {
  await db`select pg_advisory_xact_lock(hashtextextended('listing_references', ${accountId}))`
  const rows = await db<{ reference: string; id: number }[]>`
    select reference, id
    from listings
    where account_id = ${accountId} and reference = any(${references}::text[]) and status <> 'removed'
  `
  return new Map(rows.map(({ reference, id }) => [reference, id]))
}

/** A reference that is set, not one that is stored: an earlier version accepted blanks at its ends. */
export const referenceWithBlanks = () =>
  validationError({ reference: ['The reference field must not begin or end with a blank.'] })

export const referenceTaken = () =>
  validationError({ reference: ['Another of your listings has this reference.'] })
