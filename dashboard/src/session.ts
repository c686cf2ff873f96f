import { useSyncExternalStore } from 'react'

/**
 * The session that the page was loaded with. All tabs share one session, so a sign-in to another shop in another tab would
 * make this one work there. Every request names its account, and the service refuses that of another session.
 */
type State = 'valid' | 'ended' | 'of another shop'

export const session = {
  /** The account that the page was loaded for. */
  account: (): number | undefined => account,

  /** The first account that the service names stays that of the page. */
  load(id: number): void {
    account ??= id
  },

  state: (): State => state,

  /** Waits until the session is valid again. */
  back: (): Promise<void> =>
    new Promise((resolve) => {
      const unsubscribe = subscribe(() => {
        if (state !== 'valid') return
        unsubscribe()
        resolve()
      })
    }),

  /** Takes the state of the session from a response. */
  is(next: State): void {
    if (next === state) return
    state = next
    for (const listener of listeners) listener()
  },
}

let account: number | undefined
let state: State = 'valid'
const listeners = new Set<() => void>()

function subscribe(changed: () => void): () => void {
  listeners.add(changed)
  return () => listeners.delete(changed)
}

export const useSession = () => useSyncExternalStore(subscribe, session.state)
