import { randomName } from '../client.ts'
import { queryClient } from '../query-client.ts'
import { createStore } from '../ui/store.ts'
import { readCaller } from './api.ts'

/**
 * The session of the signed-in person: the time of its last use, its name, and the token. It is kept for this tab alone,
 * because a staff token doesn't expire. A browser can reopen a closed tab with what it has kept, so an old one is ignored.
 */
const NAME = 'cardstall-console-session'

const MAX_UNUSED_MS = 15 * 60_000

let [token, name] = load()
const isSignedIn = createStore(token !== undefined)

function load(): [token?: string, name?: string] {
  const [usedAt, name, token] = (sessionStorage.getItem(NAME) ?? '').split(' ')
  if (Date.now() - Number(usedAt) < MAX_UNUSED_MS) return [token, name]
  sessionStorage.removeItem(NAME)
  return []
}

const keep = () => sessionStorage.setItem(NAME, `${Date.now()} ${name} ${token}`)

/** Signs out the duplicates of this tab, which have the same session. */
const duplicates = new BroadcastChannel(NAME)
duplicates.onmessage = ({ data }) => {
  if (isSignedIn.get() && data === name) session.end()
}

export const session = {
  /** The token for a request, which is a use of the session. */
  token(): string | undefined {
    if (isSignedIn.get()) keep()
    return token
  },

  /** Signs in with a token that works. @throws ApiError or ConnectionError */
  async begin(wanted: string): Promise<void> {
    // Other characters can't be sent in a header.
    if (!/^[\x21-\x7e]+$/.test(wanted)) throw new Error('This is not a token.')
    token = wanted
    try {
      queryClient.setQueryData(['caller'], await readCaller())
    } catch (error) {
      token = undefined
      throw error
    }
    name = randomName()
    keep()
    isSignedIn.set(true)
  },

  /** Signs out, also when the token has stopped working. Nothing that was read stays in memory. */
  end(): void {
    if (isSignedIn.get()) duplicates.postMessage(name)
    token = undefined
    sessionStorage.removeItem(NAME)
    queryClient.clear()
    isSignedIn.set(false)
  },
}

export const useIsSignedIn = isSignedIn.use
