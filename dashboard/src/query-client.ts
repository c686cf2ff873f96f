import { notifyManager, QueryClient, type QueryKey } from '@tanstack/react-query'
import { ApiError, ConnectionError } from './client.ts'

const MAX_RETRIES = 2

/** Another attempt can help only if the service failed: the same request gets the same refusal. */
const isWorthRetrying = (error: Error) =>
  error instanceof ConnectionError || (error instanceof ApiError && error.status >= 500)

// A button whose write has begun refuses the next press. The default is a timeout, which the second press of a double click
// can precede.
notifyManager.setScheduler(queueMicrotask)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Going back to a page shows what it had, and reads again.
      staleTime: 5_000,
      retry: (failures, error) => failures < MAX_RETRIES && isWorthRetrying(error),
    },
    mutations: {
      // A save that fails says so at once and keeps its input. It must not be sent later behind the seller's back.
      networkMode: 'always',
      retry: false,
    },
  },
})

/**
 * Waits for a write, then reads again what is shown. After an error it reads as well: a refusal often means that another
 * person has changed the record, and a write whose response was lost may have happened.
 */
export async function readAfter<T>(write: Promise<T>, queryKey: QueryKey = []): Promise<T> {
  const read = () => queryClient.invalidateQueries({ queryKey })
  const result = await write.catch((error) => {
    // The message must not wait for a connection that is lost.
    void read()
    throw error
  })
  await read()
  return result
}
