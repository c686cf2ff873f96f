import { randomBytes } from 'node:crypto'

/**
 * Makes the ids that name requests in answers and in the log: a random part for the process, and a count. Cheaper
 * than randomness for each, and as unique.
 */
export function requestIds(): () => string {
  const process = randomBytes(6).toString('base64url').replace(/[-_]/g, '0')
  let count = 0
  return () => `req_${process}${(++count).toString(36).padStart(4, '0')}`
}
