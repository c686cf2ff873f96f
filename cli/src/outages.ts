import { type CardstallError, ConnectionError } from '@cardstall/sdk'
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
      // The SDK has repeated it: the address may be wrong.
      if (!isPassing(error) || error instanceof ConnectionError) throw error
      if (attempt === 1) onWait()
      await pause((error as CardstallError).retryAfter)
    }
  }
}
