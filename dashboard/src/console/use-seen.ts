import { useState } from 'react'
import { ApiError } from '../client.ts'

/**
 * The record that a dialog's action is about: as it was shown first, also if it is read again meanwhile. After a refusal
 * because of a change, the person sees the current one, and the next attempt is about that.
 *
 * @returns the record to show and to send, and a function that makes an attempt
 */
export function useSeen<T>(current: T): [T, (act: () => Promise<unknown>) => Promise<void>] {
  const [kept, setKept] = useState<{ record: T } | undefined>({ record: current })
  const { record } = kept ?? { record: current }

  async function attempt(act: () => Promise<unknown>): Promise<void> {
    setKept({ record })
    try {
      await act()
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setKept(undefined)
      throw error
    }
  }
  return [record, attempt]
}
