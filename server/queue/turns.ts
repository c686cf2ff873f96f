/** A claimed job of a seller, or of nobody. */
type Job = {
  accountId: number | null
  /** Whether its last attempt got no answer. */
  isSlow?: boolean
}

/**
 * Answers in a row after which a seller's jobs are no longer slow. A single one says little: each sale has an e-mail to the
 * buyer and one to the seller.
 */
const MIN_ANSWERS = 10

/** The jobs that may be claimed next. */
export type Turn = {
  max: number
  /** Sellers up to this id have had their turn. */
  after: number
  /** Sellers whose jobs have to wait. */
  excluded: number[]
  /** Whether a job may be claimed whose last attempt got no answer. */
  withSlow: boolean
}

/** Whether nothing keeps a claim from the jobs of any seller. */
export const isUnlimited = ({ after, excluded, withSlow }: Turn) =>
  after === 0 && excluded.length === 0 && withSlow

/**
 * Turns of sellers in the queue of one process. They follow the ids of the sellers, so a seller waits for one job of each
 * other seller, however many jobs these have. Slow jobs are those whose last attempt got no answer, and all of a seller
 * without ten answers in a row since one got none: together they hold a part of the slots, because each can hold its slot
 * until it times out.
 *
 * @param limits.perSeller jobs of one seller at the same time; one, while they are slow
 * @param limits.slow slow jobs at the same time
 * @param claimNext claims at most one job of each seller, and at most one whose last attempt got no answer
 */
export function openTurns<J extends Job>(
  limits: { perSeller: number; slow: number },
  claimNext: (turn: Turn) => Promise<J[]>,
) {
  const running = new Map<number, number>()
  /** Sellers whose jobs are slow, with the answers that each still needs. */
  const failing = new Map<number, number>()
  const slow = new Set<J>()
  let after = 0

  const nextTurn = (max: number): Turn => {
    const withSlow = slow.size < limits.slow
    const isBusy = ([id, count]: [number, number]) =>
      count >= (failing.has(id) ? 1 : limits.perSeller)
    const busy = [...running].filter(isBusy).map(([id]) => id)
    if (!withSlow)
      return { max, after, excluded: [...new Set([...busy, ...failing.keys()])], withSlow }
    // A claim of several jobs could exceed the limit of slow ones.
    return { max: failing.size > 0 ? 1 : max, after, excluded: busy, withSlow }
  }

  return {
    /** Claims the next jobs. Call `end` with each. */
    async claim(max: number): Promise<J[]> {
      let jobs = await claimNext(nextTurn(max))
      if (jobs.length === 0 && after > 0) {
        after = 0
        jobs = await claimNext(nextTurn(max))
      }
      for (const job of jobs) {
        const { accountId, isSlow = false } = job
        if (isSlow || (accountId !== null && failing.has(accountId))) slow.add(job)
        if (accountId === null) continue
        running.set(accountId, (running.get(accountId) ?? 0) + 1)
        // A job whose last attempt got no answer does not take its seller's turn.
        if (!isSlow) after = Math.max(after, accountId)
      }
      return jobs
    },

    /** @param isFailing whether the attempt got no answer */
    end(job: J, isFailing: boolean): void {
      const { accountId } = job
      slow.delete(job)
      if (accountId === null) return
      const count = running.get(accountId)! - 1
      if (count > 0) running.set(accountId, count)
      else running.delete(accountId)
      const missing = isFailing ? MIN_ANSWERS : (failing.get(accountId) ?? 0) - 1
      if (missing > 0) failing.set(accountId, missing)
      else failing.delete(accountId)
    },
  }
}
