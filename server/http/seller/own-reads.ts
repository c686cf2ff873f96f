import type { TSchema } from 'typebox'
import { newBudget, withBudget } from '../../database/budget.ts'
import type { Caller } from '../../keys/key-cache.ts'
import type { Scope } from '../../keys/scopes.ts'
import { withTimeout } from '../../time/with-timeout.ts'
import { MAX_LANE_WAIT_MS, type OwnPrepared, type PreparedSource } from '../fast-lane.ts'
import { bytesOf } from '../latin1.ts'
import { plainQuery } from '../plain-query.ts'
import type { Query } from '../query.ts'

/** A read of a seller's own records. */
export type OwnRead = {
  /** The route's pattern, without parameters. */
  route: string
  scope: Scope
  querystring: TSchema
  /** The JSON as the text of `bytesAsText`. The route's handler calls it as well. */
  respond(caller: Caller, query: Query): Promise<string>
}

/**
 * A source of the fast lane: it prepares the response after the request was admitted. It leaves unknown and invalid
 * parameters and all errors to the ordinary path.
 */
export function ownRead({ route, scope, querystring, respond }: OwnRead): PreparedSource {
  const readQuery = plainQuery(querystring)

  const prepare = (caller: Caller, query: Query): Promise<OwnPrepared | undefined> => {
    const budget = { ...newBudget(MAX_LANE_WAIT_MS), accountId: caller.account.id }
    const text = withBudget(budget, () => respond(caller, query))
    const prepared = text.then((text) => ({ body: bytesOf(text), route }))
    return withTimeout<OwnPrepared | undefined>(MAX_LANE_WAIT_MS, prepared, () => undefined)
  }

  return {
    scope,
    find(url) {
      const isOf =
        url.startsWith(route) && (url.length === route.length || url[route.length] === '?')
      // The ordinary path refuses a malformed query before it counts the request.
      const query = isOf ? readQuery(url) : undefined
      return query && ((caller) => prepare(caller!, query))
    },
  }
}
