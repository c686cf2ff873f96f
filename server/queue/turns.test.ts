import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MINUTES } from '../time/units.ts'
import { openTurns } from './turns.ts'

type Job = { accountId: number | null; isSlow: boolean }

const NOBODY = null
const SLOTS = { slots: 3, perSeller: 2, slow: 1 }
/** More than two rounds of the slow sellers, if these share a slot with repeats and with jobs that are not slow. */
const MAX_ENDS = 150

/** A queue in memory, and the jobs that one process runs. */
function openQueue({ slots, ...limits } = SLOTS) {
  const waiting: Job[] = []
  const running: Job[] = []
  let time = 0
  const take = (isWanted: (job: Job) => boolean): Job | undefined => {
    const index = waiting.findIndex(isWanted)
    return index < 0 ? undefined : waiting.splice(index, 1)[0]
  }
  const freshOf = (accountId: number | null) =>
    take((job) => !job.isSlow && job.accountId === accountId)
  const turns = openTurns<Job>(
    limits,
    {
      async fast({ max, maxOfNobody, after, excluded }) {
        const sellers = [...new Set(waiting.map(({ accountId }) => accountId ?? 0))]
          .filter((id) => id > after && !excluded.includes(id))
          .toSorted((a, b) => a - b)
        const parties = [...Array.from({ length: maxOfNobody }, () => NOBODY), ...sellers]
        const jobs: Job[] = []
        for (const party of parties) {
          const job = jobs.length < max && freshOf(party)
          if (job) jobs.push(job)
        }
        return jobs
      },
      async slow({ sellers, excluded, repeatFirst }) {
        const repeat = () =>
          take(({ accountId, isSlow }) => isSlow && !excluded.includes(accountId ?? 0))
        const ofSeller = () => {
          for (const id of sellers) {
            const job = freshOf(id)
            if (job) return job
          }
          return undefined
        }
        return repeatFirst ? (repeat() ?? ofSeller()) : (ofSeller() ?? repeat())
      },
    },
    () => time,
  )
  return {
    running,
    add(...jobs: [accountId: number | null, isSlow?: boolean][]) {
      for (const [accountId, isSlow = false] of jobs) waiting.push({ accountId, isSlow })
    },
    /** Claims jobs for the free slots, and returns their sellers. */
    async fill(): Promise<Job[]> {
      const claimed: Job[] = []
      while (running.length < slots) {
        const jobs = await turns.claim(slots - running.length)
        if (jobs.length === 0) break
        running.push(...jobs)
        claimed.push(...jobs)
      }
      return claimed
    },
    end(isSlow: (job: Job) => boolean = () => false, index = 0): Job {
      const [job] = running.splice(index % running.length, 1)
      turns.end(job!, isSlow(job!))
      return job!
    },
    pass: (ms: number) => {
      time += ms
    },
  }
}

const REPEAT = 'a repeat'
const nameOf = ({ accountId, isSlow }: Job) => (isSlow ? REPEAT : accountId)
const jobsOf = (jobs: Job[], accountId: number | null) =>
  jobs.filter((job) => job.accountId === accountId)

describe('turns', () => {
  const sellers = [1, 2, 3, 4, 5, 6]

  it('nothing starves, and no seller holds all slots, whichever sellers’ jobs are slow', async () => {
    const parties = fc.subarray<number | null>([NOBODY, ...sellers])
    const cases = fc.record({
      queue: fc.constantFrom(SLOTS, { slots: 6, perSeller: 2, slow: 3 }),
      // Each of them always has jobs.
      busy: parties,
      slow: parties,
      // The running job that ends next. In their own order, a claim can meet the same state again and again.
      ends: fc.oneof(
        fc.constant(Array.from({ length: 300 }, () => 0)),
        fc.array(fc.nat({ max: 5 }), { minLength: 300, maxLength: 300 }),
      ),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ queue, busy, slow, ends }) => {
        const { add, end, fill, running } = openQueue(queue)
        const lastClaims = new Map(busy.map((party): [unknown, number] => [party, 0]))
        const known = new Set<number | null>()
        add(...[...busy, ...busy, ...busy].map((party): [number | null] => [party]))
        for (const [time, index] of ends.entries()) {
          const claimed = await fill()
          for (const job of claimed) {
            if (!job.isSlow) add([job.accountId])
            lastClaims.set(nameOf(job), time)
            const max = known.has(job.accountId) ? 1 : queue.perSeller
            expect(jobsOf(running, job.accountId).length).toBeLessThanOrEqual(max)
          }
          for (const [name, last] of lastClaims) {
            expect(time - last, `ends without a claim of ${name}`).toBeLessThan(MAX_ENDS)
          }
          if (running.length === 0) continue
          // A job ends after a few others at the latest.
          const ended = end(({ accountId }) => slow.includes(accountId), time % 3 === 0 ? 0 : index)
          if (!slow.includes(ended.accountId)) continue
          if (ended.accountId !== NOBODY && !ended.isSlow) known.add(ended.accountId)
          // Only e-mails have repeats, which share a single slot.
          if (queue.slow > 1) continue
          add([ended.accountId, true])
          if (!lastClaims.has(REPEAT)) lastClaims.set(REPEAT, time)
        }
      }),
      { numRuns: 100, endOnFailure: true },
    )
  })

  /** Fails jobs slowly until each of these sellers is slow. */
  const makeSlow = async (queue: ReturnType<typeof openQueue>, ...ids: number[]) => {
    queue.add(...ids.map((id): [number] => [id]))
    while ((await queue.fill()).length > 0) while (queue.running.length > 0) queue.end(() => true)
  }

  it('a seller is slow until half an hour has passed since the last slow attempt, however long its jobs run', async () => {
    const queue = openQueue()
    await makeSlow(queue, 1)
    queue.pass(29 * MINUTES)
    queue.add([1], [1], [1])
    expect(await queue.fill()).toHaveLength(1)
    queue.end(() => true)
    queue.pass(29 * MINUTES)
    expect(await queue.fill()).toHaveLength(1)
    expect(await queue.fill()).toEqual([])
    queue.pass(1 * MINUTES)
    expect(await queue.fill()).toHaveLength(1)
  })

  it('jobs that fail at once, repeats and jobs of nobody leave their sellers fast', async () => {
    const queue = openQueue()
    queue.add([1], [2, true], [NOBODY])
    expect(await queue.fill()).toHaveLength(3)
    while (queue.running.length > 0) queue.end(({ accountId }) => accountId !== 1)
    for (const id of [1, 2, NOBODY]) {
      queue.add([id], [id])
      expect(await queue.fill()).toHaveLength(2)
      while (queue.running.length > 0) queue.end()
    }
  })

  it('repeats and the jobs of slow sellers alternate', async () => {
    const queue = openQueue()
    await makeSlow(queue, 1, 2)
    queue.add([1, true], [1, true], [1, true], [1], [1], [2], [2])
    const order: unknown[] = []
    while ((await queue.fill()).length > 0) order.push(nameOf(queue.end()))
    expect(order.map((name) => name === REPEAT)).toEqual([
      true,
      false,
      true,
      false,
      true,
      false,
      false,
    ])
    expect(order.filter((name) => name !== REPEAT)).toEqual([1, 2, 1, 2])
  })

  it('after two sellers’ first slow attempts, two of three slots are free for others', async () => {
    const queue = openQueue()
    queue.add([1], [1], [1], [2], [2], [2])
    expect(await queue.fill()).toHaveLength(3)
    while (queue.running.length > 0) queue.end(() => true)
    queue.add([1, true], [2, true], [3], [3], [NOBODY])
    const jobs = await queue.fill()
    expect(jobs.filter(({ accountId }) => accountId === 1 || accountId === 2)).toHaveLength(1)
    expect(jobs).toHaveLength(3)
  })
})
