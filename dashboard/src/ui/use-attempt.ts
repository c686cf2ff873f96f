import { useRef } from 'react'
import { randomName } from '../client.ts'

/**
 * Idempotency keys for one dialog: the same input gets the same key until the dialog closes. Another attempt after a lost
 * response then gets that response, and the service acts once.
 */
export function useAttempt(): (input?: unknown) => string {
  const keys = useRef(new Map<string, string>())
  return (input = null) => {
    const text = JSON.stringify(input)
    const key = keys.current.get(text) ?? randomName()
    keys.current.set(text, key)
    return key
  }
}
