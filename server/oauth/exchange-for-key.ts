import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { authenticationError, authorizationError } from '../errors.ts'
import { createKey, lockOpenAccount, type NewSecret } from '../keys/keys.ts'
import type { Scope } from '../keys/scopes.ts'
import type { Access } from './access.ts'
import { endGrants } from './grants.ts'

/**
 * Replaces the access of the command line with an ordinary API key, which the seller sees and can revoke. Only one of
 * several concurrent exchanges succeeds, because it ends the access.
 *
 * @throws authorization_error for a scope that the member has not allowed, authentication_error if the access has ended,
 *   conflict if the account has 100 keys: the access stays then
 */
export function exchangeForKey(
  ctx: Context,
  { grantId, account, scopes }: Access,
  input: { scopes: readonly Scope[]; name?: string | null },
): Promise<NewSecret> {
  const missing = input.scopes.find((scope) => !scopes.includes(scope))
  if (missing) throw authorizationError(`The access token lacks the scope ${missing}.`)
  return inTransaction(ctx, async (tx) => {
    // Before the grant, in the order in which closeAccount locks them.
    await lockOpenAccount(tx.db, account.id)
    const ended = await endGrants(tx.db, tx.db`id = ${Number(grantId)}`)
    if (ended === 0) throw authenticationError('The access token has already been used.')
    return createKey(tx, account.id, input)
  })
}
