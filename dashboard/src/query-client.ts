import { notifyManager, QueryClient, type QueryKey } from '@tanstack/react-query'
import { ApiError, ConnectionError, onUnknownOutcome } from './client.ts'

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
 * Reads again what is shown, after a write of the caller. TanStack Query repeats most reads that are under way. It would
 * not repeat a first read, whose response may be older than the write, nor a read that no component waits for: both are
 * cancelled before. A caller that waits for a read waits for its repetition.
 */
export async function readAgain(queryKey: QueryKey = []): Promise<void> {
  await queryClient.cancelQueries({
    queryKey,
    predicate: (query) => query.state.data === undefined || !query.isActive(),
  })
  await queryClient.invalidateQueries({ queryKey })
}

// The person is asked to look before the next attempt, whichever page or dialog has sent the write.
onUnknownOutcome(() => void readAgain())

/**
 * Waits for a write, then reads again what is shown. After an error it reads as well: a refusal often means that another
 * person has changed the record.
 */
export async function readAfter<T>(write: Promise<T>, queryKey: QueryKey = []): Promise<T> {
  const result = await write.catch((error) => {
    // The message must not wait for a connection that is lost.
    void readAgain(queryKey)
    throw error
  })
  await readAgain(queryKey)
  return result
}

// Back can show the page from the browser's memory. Meanwhile the person may have signed out, in this tab too.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) void readAgain()
})
