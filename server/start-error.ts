/**
 * Something the person who starts the service can mend: a bad setting, a port in use, a database out of
 * reach. `main.ts` prints its message as one line and exits with code 1; a stack trace would only hide it.
 */
export class StartError extends Error {
  override name = 'StartError'
}
