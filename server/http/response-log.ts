import type { Service } from '../service.ts'
import { STATUS_CODES } from './node-http.ts'

/** A response that was sent, or whose client has disconnected. */
export type SentResponse = {
  reqId: string
  /** The seller who sent the request; undefined for others, and for credentials that were not recognised. */
  account: number | undefined
  method: string
  url: string
  /** The URL's pattern, or `unknown`. */
  route: string
  status: number
  /** Time from the request to the end of the response. */
  ms: number
}

/** Counts and logs a response. */
export function recordResponse(
  { metrics, log }: Service,
  { reqId, account, method, url, route, status, ms }: SentResponse,
): void {
  metrics.observeRequest(method, route, status, ms / 1000)
  // The path without the query, which can contain the secret of a signed link.
  const query = url.indexOf('?')
  const path = query < 0 ? url : url.slice(0, query)
  log.response(
    { reqId, account, method, path, status, ms: Math.round(ms * 1000) / 1000 },
    STATUS_CODES[status],
  )
}
