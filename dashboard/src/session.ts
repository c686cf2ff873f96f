import { createStore } from './ui/store.ts'

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

  state: (): State => state.get(),

  /** Waits until the session is valid again. */
  back: (): Promise<void> =>
    new Promise((resolve) => {
      const unsubscribe = state.subscribe(() => {
        if (state.get() !== 'valid') return
        unsubscribe()
        resolve()
      })
    }),

  /** Takes the state of the session from a response. */
  is(next: State): void {
    if (next !== state.get()) state.set(next)
  },
}

let account: number | undefined
const state = createStore<State>('valid')

export const useSession = state.use
