import type { Attempt } from './delivery.ts'

/** An attempt in the JSON of `deliveries.attempts`. */
export type AttemptRow = {
  at: string
  status_code: number | null
  error: string | null
  duration_ms: number
  response: string | null
}

/** The attempt as it is stored. */
export const attemptRow = ({
  at,
  statusCode,
  error,
  durationMs,
  response,
}: Attempt): AttemptRow => ({
  at: at.toISOString(),
  status_code: statusCode,
  error,
  duration_ms: durationMs,
  response,
})

/** The stored attempt; the inverse of `attemptRow`. */
export const attemptFrom = (row: AttemptRow): Attempt => ({
  at: new Date(row.at),
  statusCode: row.status_code,
  error: row.error,
  durationMs: row.duration_ms,
  response: row.response,
})
