/**
 * A problem that the operator can fix: an invalid setting, a port in use, an unreachable database. `main.ts` prints the
 * message without a stack trace and exits with code 1.
 */
export class StartError extends Error {
  override name = 'StartError'
}
