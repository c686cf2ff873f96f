import { useSyncExternalStore } from 'react'
import { queryClient } from '../query-client.ts'
import type { Caller } from './api.ts'
import { readCaller } from './api.ts'

/**
 * The token of the signed-in person. It is kept for this tab alone, until the tab is closed: a staff token doesn't
 * expire, so a browser must not store it.
 */
const NAME = 'cardstall-console-token'

let token = sessionStorage.getItem(NAME) ?? undefined
let isSignedIn = token !== undefined
const listeners = new Set<() => void>()

function change(next: boolean): void {
  isSignedIn = next
  for (const listener of listeners) listener()
}

export const session = {
  token: () => token,

  /** Signs in with a token that works. @throws ApiError or ConnectionError */
  async begin(wanted: string): Promise<void> {
    // Other characters can't be sent in a header.
    if (!/^[\x21-\x7e]+$/.test(wanted)) throw new Error('This is not a token.')
    token = wanted
    try {
      const caller: Caller = await readCaller()
      queryClient.setQueryData(['caller'], caller)
    } catch (error) {
      token = undefined
      throw error
    }
    sessionStorage.setItem(NAME, wanted)
    change(true)
  },

  /** Signs out, also when the token has stopped working. Nothing that was read stays in memory. */
  end(): void {
    token = undefined
    sessionStorage.removeItem(NAME)
    queryClient.clear()
    change(false)
  },
}

export const useIsSignedIn = () =>
  useSyncExternalStore(
    (changed) => {
      listeners.add(changed)
      return () => listeners.delete(changed)
    },
    () => isSignedIn,
  )
