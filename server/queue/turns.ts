import { MINUTES } from '../time/units.ts'

/** A claimed job of a seller, or of nobody. */
type Job = {
  accountId: number | null
  /** Whether it repeats a slow attempt. */
  isSlow?: boolean
}

export type Limits = {
  /** Jobs of one seller at the same time, or of nobody; one job of a slow seller. */
  perSeller: number
  /** Slow jobs at the same time. */
  slow: number
}

/** A failed attempt that took this long is slow. */
export const SLOW_MS = 5_000

/** A seller without a slow attempt for this long is no longer slow: longer than the first delays of e-mails and photos. */
const FORGOTTEN_AFTER_MS = 30 * MINUTES

/** Stands for nobody where accounts have ids. */
const NOBODY = 0

/** The jobs of a claim that are not slow. */
export type FastTurn = {
  max: number
  /** The part of `max` that may be jobs of nobody. */
  maxOfNobody: number
  /** Sellers up to this id have had their turn. */
  after: number
  /** Sellers whose jobs have to wait. */
  excluded: number[]
}

/** The slow jobs that may be claimed next. */
export type SlowTurn = {
  /** Slow sellers, in the order of their turns. */
  sellers: number[]
  /** Sellers whose repeats have to wait; 0 is nobody. */
  excluded: number[]
  /** Whether a repeat has precedence over the sellers. */
  repeatFirst: boolean
}

/**
 * Turns of sellers in the queue of one process. They follow the ids of the sellers, so a seller waits for one job of each
 * other seller, however many jobs these have. Slow jobs are repeats of slow attempts, and the jobs of sellers with a slow
 * attempt in the last half hour. They have turns of their own in a part of the slots, because each can hold its slot until
 * it times out. Repeats and slow sellers alternate, as do slow and fast jobs if one slot is free.
 *
 * @param claims.fast claims at most one job of each seller, and no repeat
 * @param claims.slow claims at most one job
 * @param clock milliseconds of real time
 */
export function openTurns<J extends Job>(
  limits: Limits,
  claims: {
    fast: (turn: FastTurn) => Promise<J[]>
    slow: (turn: SlowTurn) => Promise<J | undefined>
  },
  clock = () => performance.now(),
) {
  const running = new Set<J>()
  const slow = new Set<J>()
  /** The last slow attempts of sellers, in the order of the sellers' next turns. */
  const slowSince = new Map<number, number>()
  let after = 0
  let wasSlow = false
  let wasRepeat = false

  const forgetSellers = () => {
    for (const [id, time] of slowSince) {
      if (clock() - time >= FORGOTTEN_AFTER_MS) slowSince.delete(id)
    }
  }

  /** Accounts that have as many running jobs as they may. */
  const busyAccounts = () =>
    [...Map.groupBy(running, accountOf)]
      .filter(([id, jobs]) => jobs.length >= (slowSince.has(id) ? 1 : limits.perSeller))
      .map(([id]) => id)

  const claimSlow = async (): Promise<J[]> => {
    if (slow.size >= limits.slow) return []
    const excluded = busyAccounts()
    const sellers = [...slowSince.keys()].filter((id) => !excluded.includes(id))
    const job = await claims.slow({ sellers, excluded, repeatFirst: !wasRepeat })
    if (!job) return []
    slow.add(job)
    wasRepeat = job.isSlow === true
    if (!wasRepeat) moveToEnd(slowSince, accountOf(job))
    return [job]
  }

  const claimFast = async (max: number): Promise<J[]> => {
    const ofNobody = [...running].filter(({ accountId }) => accountId === null).length
    const turn = {
      max,
      maxOfNobody: Math.max(0, Math.min(max, limits.perSeller - ofNobody)),
      excluded: [...new Set([...busyAccounts(), ...slowSince.keys()])],
    }
    let jobs = await claims.fast({ ...turn, after })
    if (jobs.length === 0 && after > 0) {
      after = 0
      jobs = await claims.fast({ ...turn, after })
    }
    after = Math.max(after, ...jobs.map(accountOf))
    return jobs
  }

  return {
    /** Claims the next jobs. Call `end` with each. */
    async claim(max: number): Promise<J[]> {
      forgetSellers()
      for (const claim of wasSlow ? [claimFast, claimSlow] : [claimSlow, claimFast]) {
        const jobs = await claim(max)
        if (jobs.length === 0) continue
        for (const job of jobs) running.add(job)
        // A slow job leaves the next slot that it could have to a fast one.
        if (claim === claimSlow) wasSlow = true
        else if (slow.size < limits.slow) wasSlow = false
        return jobs
      }
      return []
    },

    /** @param isSlow whether the attempt failed slowly. A repeat says nothing new about its seller. */
    end(job: J, isSlow: boolean): void {
      running.delete(job)
      slow.delete(job)
      if (isSlow && !job.isSlow && job.accountId !== null) slowSince.set(job.accountId, clock())
    },
  }
}

const accountOf = ({ accountId }: Job) => accountId ?? NOBODY

function moveToEnd<K, V>(map: Map<K, V>, key: K) {
  const value = map.get(key)!
  map.delete(key)
  map.set(key, value)
}
