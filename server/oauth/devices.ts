import { createHmac, randomInt } from 'node:crypto'
import type { Context } from '../context.ts'
import { deriveKey } from '../crypto/derived-key.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Scope } from '../keys/scopes.ts'
import { recordSignInEvent } from '../members/audit.ts'
import { keepMember } from '../members/members.ts'
import type { SignedInMember } from '../members/sessions.ts'
import { generateToken, hashToken, looksLikeToken } from '../members/token.ts'
import { COMMAND_LINE } from './clients.ts'
import { createGrant } from './grants.ts'
import { OAuthError } from './oauth-error.ts'
import { type Issued, issueTokens } from './tokens.ts'

/** Device login (RFC 8628): a member types a code in a browser, while the command line polls. */

export const DEVICE_SECONDS = 15 * 60
export const POLL_SECONDS = 5

/** No vowels, so that no words appear, and no characters that look like another one. */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8

/** A login that waits for a member's decision. */
export type WaitingDevice = { scopes: Scope[]; audience: string }

/** Starts a device login. Returns the secret code of the device, and the one that a member types. */
export async function startDevice(
  ctx: Context,
  { scopes, audience }: WaitingDevice,
): Promise<{ deviceCode: string; userCode: string }> {
  const deviceCode = generateToken()
  const letters = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join(
    '',
  )
  await ctx.db`
    insert into oauth_devices (
      device_hash, user_code_hash, client_id, audience, scopes, interval_seconds, expires_at
    )
    values (
      ${hashToken(deviceCode)},
      ${hashUserCode(ctx, letters)},
      ${COMMAND_LINE.id},
      ${audience},
      ${scopes}::text[],
      ${POLL_SECONDS},
      clock_timestamp() + make_interval(secs => ${DEVICE_SECONDS})
    )
  `
  return { deviceCode, userCode: userCodeOf(letters) }
}

/** The waiting login with a code that a member typed, and the code as the device shows it; undefined if there is none. */
export async function findDevice(
  ctx: Context,
  userCode: string,
): Promise<(WaitingDevice & { userCode: string }) | undefined> {
  const letters = lettersOf(userCode)
  if (letters === undefined) return undefined
  const [device] = await ctx.db<WaitingDevice[]>`
    select scopes, audience
    from oauth_devices
    where
      user_code_hash = ${hashUserCode(ctx, letters)}
      and grant_id is null
      and not refused
      and expires_at > clock_timestamp()
  `
  return device && { ...device, userCode: userCodeOf(letters) }
}

/**
 * Records the member's decision. Returns whether the login was still waiting for one.
 *
 * @param scopes those that the member allows; undefined if they refuse
 */
export function decideDevice(
  ctx: Context,
  member: SignedInMember,
  userCode: string,
  scopes: Scope[] | undefined,
  requestId: string,
): Promise<boolean> {
  const hashed = hashUserCode(ctx, lettersOf(userCode) ?? '')
  return inTransaction(ctx, async (tx) => {
    await keepMember(tx, member.id)
    const [device] = await tx.db<{ audience: string }[]>`
      update oauth_devices
      set refused = ${scopes === undefined}
      where
        user_code_hash = ${hashed}
        and grant_id is null
        and not refused
        and expires_at > clock_timestamp()
      returning audience
    `
    if (!device || !scopes) return device !== undefined
    const after = { program: COMMAND_LINE.name, client_id: COMMAND_LINE.id, host: null, scopes }
    await recordSignInEvent(tx, 'programAllowed', member, { requestId, after })
    const grant = {
      memberId: member.id,
      clientId: COMMAND_LINE.id,
      clientName: COMMAND_LINE.name,
      host: null,
      audience: device.audience,
      scopes,
    }
    const grantId = await createGrant(tx, grant, DEVICE_SECONDS)
    await tx.db`
      update oauth_devices set grant_id = ${grantId} where user_code_hash = ${hashed}
    `
    return true
  })
}

type Device = {
  refused: boolean
  isExpired: boolean
  /** Whether the device polled again before its interval was over. */
  isEarly: boolean
}

/**
 * Exchanges the device's code for tokens once a member has allowed the login. It works once.
 *
 * @throws OAuthError: authorization_pending and slow_down until then
 */
export async function exchangeDevice(
  ctx: Context,
  deviceCode: string,
  clientId: string,
): Promise<Issued> {
  if (!looksLikeToken(deviceCode) || clientId !== COMMAND_LINE.id) throw unknownDevice()
  const hashed = hashToken(deviceCode)
  const result = await inTransaction(ctx, async (tx) => {
    const { db } = tx
    // The grant before the device, like the end of a grant, which deletes its devices.
    const [grant] = await db<{ id: number; scopes: Scope[] }[]>`
      select id, scopes
      from oauth_grants
      where id = (select grant_id from oauth_devices where device_hash = ${hashed})
      for no key update
    `
    const [device] = await db<Device[]>`
      select
        refused,
        expires_at <= clock_timestamp() as "isExpired",
        coalesce(
          polled_at + make_interval(secs => interval_seconds) > clock_timestamp(), false
        ) as "isEarly"
      from oauth_devices
      where device_hash = ${hashed}
      for update
    `
    if (!device) return unknownDevice()
    if (device.isExpired) return new OAuthError('expired_token', 'The code has expired.')
    if (device.refused) return new OAuthError('access_denied', 'The request was refused.')
    if (device.isEarly) {
      await db`
        update oauth_devices
        set interval_seconds = interval_seconds + ${POLL_SECONDS}
        where device_hash = ${hashed}
      `
      return new OAuthError('slow_down', `Wait ${POLL_SECONDS} seconds longer between requests.`)
    }
    // A member who allows it between the two statements is noticed at the next poll.
    if (!grant) {
      await db`
        update oauth_devices
        set polled_at = clock_timestamp()
        where device_hash = ${hashed}
      `
      return new OAuthError('authorization_pending', 'No member has allowed it yet.')
    }
    await db`delete from oauth_devices where device_hash = ${hashed}`
    return { ...(await issueTokens(tx, grant.id)), scopes: grant.scopes }
  })
  // The transaction has recorded the poll.
  if (result instanceof OAuthError) throw result
  return result
}

/** The letters of a code, with or without spaces, hyphens and capitals; undefined if it can't be a code. */
function lettersOf(userCode: string): string | undefined {
  const letters = userCode.toUpperCase().replace(/[\s-]/g, '')
  const isCode =
    letters.length === LENGTH && [...letters].every((letter) => ALPHABET.includes(letter))
  return isCode ? letters : undefined
}

const userCodeOf = (letters: string) =>
  `${letters.slice(0, LENGTH / 2)}-${letters.slice(LENGTH / 2)}`

const hashUserCode = ({ config }: Context, letters: string) =>
  createHmac('sha256', deriveKey('device codes', config)).update(letters).digest()

const unknownDevice = () => new OAuthError('invalid_grant', 'The device code is unknown.')
