import { AsyncLocalStorage } from 'node:async_hooks'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Share } from '../database/shared-transactions.ts'
import type { Metrics } from '../metrics.ts'

/**
 * One transaction around everything that a request writes. The verbs that it calls take part without knowing: their own
 * transactions become savepoints. No network or file I/O may happen in such a request.
 */
export type RequestTransaction = {
  /** The context inside the transaction; undefined once it has ended. */
  tx: Context | undefined
  /** Takes part in a transaction that the request shares with concurrent ones; then it has none of its own. */
  share?: Share<Context>
  /** The response was stored by an earlier request with the same Idempotency-Key. */
  isRepeated: boolean
  /** Counts of rows that exist only after the commit. */
  afterCommit: (() => void)[]
  commit(): Promise<void>
  rollBack(): Promise<void>
}

const current = new AsyncLocalStorage<RequestTransaction>()

/** The members that a transaction replaces. */
const REPLACED = new Set<string | symbol>(['db', 'begin', 'share', 'signal'])

/** A view of the context that uses the transaction of the current request, if there is one. */
export const insideRequests = <C extends Context & { metrics: Metrics }>(ctx: C): C =>
  new Proxy(ctx, {
    get(target, name) {
      if (name === 'metrics') return metricsInside(target.metrics, current.getStore())
      const request = REPLACED.has(name) ? current.getStore() : undefined
      if (name === 'share' && request?.share) return request.share
      return (request?.tx ?? target)[name as keyof Context]
    },
  })

/** The metrics of a request: a verb's own transaction is committed with that of the request, so the count waits for it. */
const metricsInside = (metrics: Metrics, request: RequestTransaction | undefined): Metrics =>
  request?.tx
    ? {
        ...metrics,
        countOrderRows(change, rows) {
          request.afterCommit.push(() => metrics.countOrderRows(change, rows))
        },
      }
    : metrics

/** Begins the transaction of a request. */
export async function beginRequest(ctx: Context): Promise<RequestTransaction> {
  const opened = Promise.withResolvers<Context>()
  const ended = Promise.withResolvers<void>()
  const done = inTransaction(ctx, async (tx) => {
    opened.resolve(tx)
    await ended.promise
  })
  // If the transaction fails early, the statements in it fail as well, so nothing else has to handle this error.
  done.catch(opened.reject)
  const transaction: RequestTransaction = {
    tx: await opened.promise,
    isRepeated: false,
    afterCommit: [],
    async commit() {
      transaction.tx = undefined
      ended.resolve()
      await done
      for (const count of transaction.afterCommit) count()
    },
    async rollBack() {
      transaction.tx = undefined
      ended.reject(new Error('rolled back'))
      await done.catch(() => {})
    },
  }
  return transaction
}

/** A request without a transaction of its own. */
export const sharing = (share: Share<Context>): RequestTransaction => ({
  ...{ tx: undefined, share, isRepeated: false, afterCommit: [] },
  async commit() {},
  async rollBack() {},
})

/** Runs what follows inside the transaction of the request. */
export const withinRequest = <T>(transaction: RequestTransaction, work: () => T): T =>
  current.run(transaction, work)

/** Notes that the request repeats an earlier one, and so has no effect. */
export function noteRepeated(): void {
  const transaction = current.getStore()
  if (transaction) transaction.isRepeated = true
}
