import { setTimeout as sleep } from 'node:timers/promises'
import type { Channel } from './channel.ts'

const PAUSE_MS = 5_000
/** A process answers within milliseconds, unless it hangs, is stopped, or gets no time from its machine. */
const ANSWER_TIMEOUT_MS = 5_000
/** One is not enough: after a pause of the whole machine, the time for an answer can be over before the answer comes. */
const MAX_UNANSWERED = 3

/**
 * Asks a process again and again whether it is alive, until it leaves several questions in a row unanswered.
 *
 * @param isWatched false ends the questions, because the process has ended or is stopping
 * @returns whether the process hangs
 */
export async function hangs(channel: Channel, isWatched: () => boolean): Promise<boolean> {
  let unanswered = 0
  while (unanswered < MAX_UNANSWERED) {
    const isAlive = await channel.ask<true>('alive', null, ANSWER_TIMEOUT_MS)
    if (!isWatched()) return false
    unanswered = isAlive ? 0 : unanswered + 1
    if (isAlive) await sleep(PAUSE_MS)
  }
  return true
}
