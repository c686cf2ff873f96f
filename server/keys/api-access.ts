import type { ApiAccess } from '../enums.ts'
import { type ApiError, authorizationError } from '../errors.ts'

/** The error for a program of an account whose API access is off or suspended; undefined while it is enabled. */
export function accessProblem({ apiAccess }: { apiAccess: ApiAccess }): ApiError | undefined {
  if (apiAccess === 'enabled') return undefined
  return authorizationError(
    apiAccess === 'suspended'
      ? 'API access of this account is suspended. Orders can still be shipped in the dashboard. Ask the marketplace for the reason.'
      : 'API access is not enabled for this account.',
  )
}
