import { randomBytes } from 'node:crypto'

/**
 * Generates request ids for responses and log lines: a random part per process and a counter, because a random id for
 * each request would cost more and be no more unique.
 */
export function requestIds(): () => string {
  const process = randomBytes(6).toString('base64url').replace(/[-_]/g, '0')
  let count = 0
  return () => `req_${process}${(++count).toString(36).padStart(4, '0')}`
}
