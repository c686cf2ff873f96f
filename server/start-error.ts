/**
 * A problem that the operator can fix: an invalid setting, a port in use, an unreachable database. `main.ts` prints the
 * message without a stack trace and exits with code 1.
 */
export class StartError extends Error {
  override name = 'StartError'
}

/** The reason for the end of a command, as it is printed: a stack trace only for an error of the program. */
export const failureText = (error: unknown): string =>
  error instanceof StartError ? error.message : String((error as Error).stack)
