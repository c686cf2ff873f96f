import { onlineManager } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { SERVICE } from './base.ts'

/** Time between two attempts to reach the service again. */
const RETRY_MS = 2_000
/** An attempt whose packets are lost ends after this time: TCP would repeat them much later. */
const ATTEMPT_MS = 5_000

/**
 * Whether the service can be reached. While it can't, TanStack Query pauses all reads and repeats them afterwards; the
 * page shows a banner. The browser's own events are hints only, because the service can also be away with the network on.
 */
export const connection = {
  lost() {
    onlineManager.setOnline(false)
    if (isTrying) return
    isTrying = true
    setTimeout(tryAgain, RETRY_MS)
  },
  found() {
    onlineManager.setOnline(true)
  },
  /** Asks the service whether it can be reached, unless it is known to be away. */
  async check(): Promise<boolean> {
    if (!onlineManager.isOnline()) return false
    const isThere = await isReachable()
    if (!isThere) connection.lost()
    return isThere
  },
  /** Waits until the service can be reached. */
  async back(): Promise<void> {
    if (onlineManager.isOnline()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const unsubscribe = onlineManager.subscribe((isOnline) => isOnline && resolve())
    await promise
    unsubscribe()
  },
}

let isTrying = false

const isReachable = (): Promise<boolean> =>
  fetch(`${SERVICE}health/ready`, {
    cache: 'no-store',
    signal: AbortSignal.timeout(ATTEMPT_MS),
  }).then(
    ({ ok }) => ok,
    () => false,
  )

async function tryAgain(): Promise<void> {
  const isThere = await isReachable()
  isTrying = !isThere
  if (isThere) return connection.found()
  // A response that was under way when the connection broke may have said that it was found.
  onlineManager.setOnline(false)
  setTimeout(tryAgain, RETRY_MS)
}

// Instead of the browser's events: an event that says "offline" must be followed by attempts, not by another event.
onlineManager.setEventListener(() => {
  const check = () => connection.lost()
  window.addEventListener('offline', check)
  return () => window.removeEventListener('offline', check)
})

export const useIsConnected = () =>
  useSyncExternalStore(
    (changed) => onlineManager.subscribe(changed),
    () => onlineManager.isOnline(),
  )
