import { randomBytes } from 'node:crypto'

/**
 * Generates request ids for responses and log lines: a random part per process and a counter. This is cheaper than a
 * random id for each request, and as unique.
 */
export function requestIds(): () => string {
  const process = randomBytes(6).toString('base64url').replace(/[-_]/g, '0')
  let count = 0
  return () => `req_${process}${(++count).toString(36).padStart(4, '0')}`
}
