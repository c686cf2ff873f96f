import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { haveChanges, type Position } from './changes.ts'

const POLL_INTERVAL_MS = 250
const MAX_WAITING = 1_000
const MAX_WAITING_OF_ACCOUNT = 10
/** Time after which each further caller looks for changes by itself. */
const UNWATCHED_INTERVAL_MS = 2_000

type Waiting = { accountId: number; position: Position; resolve: () => void }

/** Waits for changes on behalf of all callers of this process, with one statement at a time and none without callers. */
export function watchChanges(ctx: Pick<Context, 'db'>) {
  const waiting = new Set<Waiting>()
  let timer: NodeJS.Timeout | undefined

  const poll = async () => {
    const asked = [...waiting]
    // After a failure, every caller reads its changes again and gets the error itself.
    const changed = await haveChanges(ctx, asked).catch(() => asked.map(() => true))
    asked.forEach((caller, i) => {
      if (changed[i]) caller.resolve()
    })
    schedule()
  }
  const schedule = () => {
    timer = waiting.size > 0 ? setTimeout(poll, POLL_INTERVAL_MS).unref() : undefined
  }

  return {
    /**
     * Resolves once the account has changes after the position, at the latest when `ended` is aborted. If too many callers
     * wait already, it resolves after a pause, and the caller has to look.
     */
    async changeAfter(accountId: number, position: Position, ended: AbortSignal): Promise<void> {
      const ofAccount = [...waiting].filter((caller) => caller.accountId === accountId)
      const isFull = waiting.size >= MAX_WAITING || ofAccount.length >= MAX_WAITING_OF_ACCOUNT
      if (ended.aborted) return
      if (isFull) {
        await sleep(UNWATCHED_INTERVAL_MS, undefined, { signal: ended, ref: false }).catch(() => {})
        return
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      const caller = { accountId, position, resolve }
      waiting.add(caller)
      ended.addEventListener('abort', resolve as () => void)
      if (!timer) schedule()
      await promise
      ended.removeEventListener('abort', resolve as () => void)
      waiting.delete(caller)
    },
  }
}
