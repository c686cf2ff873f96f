import { createStore } from './ui/store.ts'

/**
 * The session that the page was loaded with. All tabs share one session, so a sign-in as another member in another tab
 * would make this one act for that member. Every request names its member, and the service refuses that of another session.
 */
type State = 'valid' | 'ended' | 'of another member'

export const session = {
  /** The member whom the page was loaded for. */
  member: (): number | undefined => member,

  /** The first member whom the service names stays that of the page. */
  load(id: number): void {
    member ??= id
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

let member: number | undefined
const state = createStore<State>('valid')

export const useSession = state.use
