import type { Context } from '../context.ts'
import type { Signals } from '../database/signals.ts'
import type { Db } from '../database/sql.ts'
import { notFound } from '../errors.ts'
import { PREFIX_BYTES, type SecretLookups, secretLookups } from '../limits/secret-lookups.ts'
import { generateStaffToken, hashStaffToken, looksLikeStaffToken } from './token.ts'

/** Roles of staff. An admin may do everything that the operator token may. */
export const STAFF_ROLES = ['admin', 'support', 'finance', 'catalog'] as const
export type StaffRole = (typeof STAFF_ROLES)[number]

/** A person or program of the marketplace with a token of its own. */
export type StaffMember = {
  id: number
  name: string
  role: StaffRole
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
}

const TOUCH_INTERVAL_MS = 60_000

/** Adds a staff member. The token is returned once; the database has its hash. */
export async function addStaff(
  { db, now, signal }: Context,
  { name, role }: { name: string; role: StaffRole },
): Promise<{ member: StaffMember; token: string }> {
  const token = generateStaffToken()
  const [member] = await db<StaffMember[]>`
    insert into staff (name, role, token_hash, created_at)
    values (${name}, ${role}, ${hashStaffToken(token)}, ${now()})
    returning ${staffColumns(db)}
  `
  await signal('new-staff')
  return { member: member!, token }
}

/** All staff members, oldest first, including those whose token is revoked. */
export const listStaff = ({ db }: Context): Promise<StaffMember[]> =>
  db<StaffMember[]>`select ${staffColumns(db)} from staff order by id`

/** One staff member. @throws not_found */
export async function getStaff({ db }: Pick<Context, 'db'>, id: number): Promise<StaffMember> {
  const [member] = await db<StaffMember[]>`select ${staffColumns(db)} from staff where id = ${id}`
  if (!member) throw noSuchStaff()
  return member
}

/**
 * Revokes a token at once, in all processes, because each request of staff reads the table. Revoking it again changes
 * nothing.
 *
 * @throws not_found
 */
export async function revokeStaff({ db, now }: Context, id: number): Promise<void> {
  const { count } = await db`
    update staff set revoked_at = coalesce(revoked_at, ${now()}) where id = ${id}
  `
  if (count === 0) throw noSuchStaff()
}

/** Lookups of staff tokens in one process. */
export const staffLookups = (db: Db, signals: Signals): SecretLookups =>
  secretLookups(
    signals,
    'new-staff',
    () => db<{ sorted: Buffer | null }[]>`
      select string_agg(substring(token_hash for ${PREFIX_BYTES}), '' order by token_hash) as sorted
      from staff
      where revoked_at is null
    `,
  )

/**
 * The owner of a token; null if it is unknown or revoked. Reads the database for each request, because staff send few.
 * Records the use, at most once a minute.
 *
 * @param from the subject for which wrong tokens are counted
 */
export async function staffOf(
  { db, now, staffTokens }: Context & { staffTokens: SecretLookups },
  token: string,
  from: string,
): Promise<StaffMember | null> {
  if (!looksLikeStaffToken(token)) return null
  const member = await staffTokens.lookUp(hashStaffToken(token), from, async (hashed) => {
    const [found = null] = await db<StaffMember[]>`
      select ${staffColumns(db)}
      from staff
      where token_hash = ${hashed} and revoked_at is null
    `
    return found
  })
  if (!member) return null
  const at = now()
  if (at.getTime() - (member.lastUsedAt?.getTime() ?? 0) >= TOUCH_INTERVAL_MS) {
    await db`update staff set last_used_at = ${at} where id = ${member.id}`
  }
  return member
}

const staffColumns = (db: Db) => db`
  id,
  name,
  role,
  created_at as "createdAt",
  last_used_at as "lastUsedAt",
  revoked_at as "revokedAt"
`

const noSuchStaff = () => notFound('There is no such staff member.')
