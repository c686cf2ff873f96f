import { type CardstallError, ConnectionError, RateLimitError } from '@cardstall/sdk'
import { isPassing, pause } from '../../sdk/src/events.ts'

/**
 * Sends a read until the service responds, also after a `Retry-After` that ends a call in spite of its `maxRetries`.
 *
 * @param onWait called before the first wait
 */
export async function afterOutages<T>(read: () => Promise<T>, onWait = () => {}): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read()
    } catch (error) {
      // The SDK has repeated it: the address may be wrong, unless something has responded before.
      const isUnknown = attempt === 1 && error instanceof ConnectionError
      if (!isPassing(error) || isUnknown) throw error
      // A service that limits the key can be reached.
      if (attempt === 1 && !(error instanceof RateLimitError)) onWait()
      await pause((error as CardstallError).retryAfter)
    }
  }
}
