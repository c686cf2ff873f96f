import { useSyncExternalStore } from 'react'

/**
 * The account that the page was loaded for. All tabs share one session, so a sign-in to another shop in another tab would
 * make this one work there. Every request names its account, and the service refuses that of another session.
 */
export const pageAccount = {
  id: (): number | undefined => id,

  /** The first account that the service names stays that of the page. */
  load(account: number): void {
    id ??= account
  },

  /** Whether the service has refused the last request, because its session is another shop's. */
  refused(refused: boolean): void {
    if (refused === isRefused) return
    isRefused = refused
    for (const listener of listeners) listener()
  },
}

let id: number | undefined
let isRefused = false
const listeners = new Set<() => void>()

export const useIsOtherShop = () =>
  useSyncExternalStore(
    (changed) => {
      listeners.add(changed)
      return () => listeners.delete(changed)
    },
    () => isRefused,
  )
