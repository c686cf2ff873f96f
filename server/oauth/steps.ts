import { createHmac } from 'node:crypto'
import type { Context } from '../context.ts'
import { deriveKey } from '../crypto/derived-key.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Scope } from '../keys/scopes.ts'
import { recordSignInEvent } from '../members/audit.ts'
import { keepMember } from '../members/members.ts'
import type { SignedInMember } from '../members/sessions.ts'
import { generateToken, hashToken, looksLikeToken } from '../members/token.ts'
import { issueCode, REPEAT_SECONDS, wasIssued, wasJustIssued } from './tokens.ts'

/** Requests of programs that wait for the decision of the member who is signed in. */

const HOURS = 1
/** Beyond this number, a member's oldest requests are deleted. */
const MAX_STEPS = 20

/** A checked authorization request. */
export type AuthorizationRequest = {
  clientId: string
  clientName: string
  /** The host of the client's metadata document. */
  documentHost: string | null
  /** The host that the browser goes back to. */
  host: string
  redirectUri: string
  state: string | null
  codeChallenge: string
  audience: string
  scopes: Scope[]
}

/** Stores a request for the page that asks the member. Returns the identifier in the page's address. */
export async function createStep(
  ctx: Context,
  memberId: number,
  request: AuthorizationRequest,
): Promise<string> {
  const uid = generateToken()
  await inTransaction(ctx, async ({ db }) => {
    await keepMember({ db }, memberId)
    await db`
      insert into oauth_steps (uid_hash, member_id, request, expires_at)
      values (
        ${hashToken(uid)},
        ${memberId},
        ${db.json(request)},
        clock_timestamp() + make_interval(hours => ${HOURS})
      )
    `
    // Otherwise the client could be deleted before the member decides.
    await db`
      update oauth_clients
      set keep_until = greatest(keep_until, clock_timestamp() + make_interval(hours => ${HOURS}))
      where id = ${request.clientId}
    `
    await db`
      delete from oauth_steps
      where uid_hash in (
        select uid_hash from oauth_steps
        where member_id = ${memberId}
        order by expires_at desc
        offset ${MAX_STEPS}
      )
    `
  })
  return uid
}

/**
 * The member's request; undefined if it was decided, has expired, or is another member's.
 *
 * @param isDecision also finds a request that was decided in the last seconds: a double click sends the decision twice
 */
export async function findStep(
  { db }: Context,
  memberId: number,
  uid: string,
  isDecision = false,
): Promise<AuthorizationRequest | undefined> {
  if (!looksLikeToken(uid)) return undefined
  const [step] = await db<{ request: AuthorizationRequest }[]>`
    select request
    from oauth_steps
    where
      uid_hash = ${hashToken(uid)}
      and member_id = ${memberId}
      and expires_at > clock_timestamp() - make_interval(secs => ${isDecision ? REPEAT_SECONDS : 0})
  `
  return step?.request
}

/** Whether a request waits for the decision of another member. */
export async function waitsForAnother(
  { db }: Context,
  memberId: number,
  uid: string,
): Promise<boolean> {
  if (!looksLikeToken(uid)) return false
  const found = await db`
    select from oauth_steps
    where
      uid_hash = ${hashToken(uid)}
      and member_id <> ${memberId}
      and expires_at > clock_timestamp()
  `
  return found.length > 0
}

/**
 * Ends a request with the member's decision. The second request of a double click gets the same result: the browser shows
 * only the response to that one.
 *
 * @param uid of a request that `findStep` has found for the decision
 * @param scopes those that the member allows; undefined if they refuse
 * @returns the code; null after a refusal; undefined if the request was decided meanwhile
 */
export function decideStep(
  ctx: Context,
  member: SignedInMember,
  uid: string,
  scopes: Scope[] | undefined,
  requestId: string,
): Promise<string | null | undefined> {
  return inTransaction(ctx, async (tx) => {
    // Before the request, in the order in which a removal locks and deletes them.
    await keepMember(tx, member.id)
    const [step] = await tx.db<{ request: AuthorizationRequest }[]>`
      update oauth_steps
      set expires_at = clock_timestamp()
      where
        uid_hash = ${hashToken(uid)}
        and member_id = ${member.id}
        and expires_at > clock_timestamp()
      returning request
    `
    const code = codeOf(ctx, uid)
    if (!scopes) return step || !(await wasIssued(tx, code)) ? null : undefined
    if (!step) {
      return (await wasJustIssued(tx, code, { memberId: member.id, scopes })) ? code : undefined
    }
    const { clientId, clientName, host, audience, redirectUri, codeChallenge } = step.request
    const after = { program: clientName, client_id: clientId, host, scopes }
    await recordSignInEvent(tx, 'programAllowed', member, { requestId, after })
    const grant = { memberId: member.id, clientId, clientName, host, audience, scopes }
    await issueCode(tx, code, grant, { redirectUri, codeChallenge })
    return code
  })
}

/** The code that allowing a request gives, the same each time without being stored. */
const codeOf = ({ config }: Context, uid: string) =>
  createHmac('sha256', deriveKey('oauth codes', config)).update(uid).digest('base64url')
