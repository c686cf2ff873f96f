import { useSyncExternalStore } from 'react'

/** A value outside of the components, which render again when it changes. */
export function createStore<T>(value: T) {
  const listeners = new Set<() => void>()
  const get = () => value

  function set(next: T): void {
    value = next
    for (const listener of listeners) listener()
  }

  /** @returns a function that ends the subscription */
  function subscribe(changed: () => void): () => void {
    listeners.add(changed)
    return () => listeners.delete(changed)
  }

  const use = () => useSyncExternalStore(subscribe, get)

  return { get, set, subscribe, use }
}
