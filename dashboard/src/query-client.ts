import { QueryClient } from '@tanstack/react-query'
import { ApiError, ConnectionError } from './client.ts'

const MAX_RETRIES = 2

/** Another attempt can help only if the service failed: the same request gets the same refusal. */
const isWorthRetrying = (error: Error) =>
  error instanceof ConnectionError || (error instanceof ApiError && error.status >= 500)

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
