import { setTimeout as sleep } from 'node:timers/promises'
import { connectAlone } from './connect.ts'
import type { Session } from './transaction-connection.ts'

const POLL_MS = 1_000
/** A server that doesn't respond for this long is frozen or unreachable: its sessions count no longer. */
const TIMEOUT_MS = 3_000

/** Counts the sessions that still commit after their clients have given them up, until each has ended. */
export function committingSessions(url: string): {
  readonly number: number
  watch(session: Session): void
  /** Stops watching all sessions. */
  forget(): void
} {
  const watched = new Set<Session>()
  let end: (() => void) | undefined

  const poll = async (): Promise<void> => {
    const connection = connectAlone(url, { connect_timeout: TIMEOUT_MS / 1000 })
    end = () => void connection.end({ timeout: 0 }).catch(() => {})
    try {
      while (watched.size > 0) {
        await sleep(POLL_MS, undefined, { ref: false })
        const asked = [...watched]
        const timer = setTimeout(end, TIMEOUT_MS).unref()
        // A backend of another server, or of a server that was started again, can have the same pid.
        const found = await connection<{ pid: number; serverStartedAt: string }[]>`
          select pid, extract(epoch from pg_postmaster_start_time())::text as "serverStartedAt"
          from pg_stat_activity
          where
            pid::text = any(string_to_array(${asked.map(({ pid }) => pid).join()}, ','))
            and state = 'active'
            and query = 'commit'
        `
        clearTimeout(timer)
        for (const session of asked) {
          const goesOn = found.some(
            ({ pid, serverStartedAt }) =>
              pid === session.pid && serverStartedAt === session.serverStartedAt,
          )
          if (!goesOn) watched.delete(session)
        }
      }
    } catch {
      watched.clear()
    } finally {
      end()
      end = undefined
    }
  }

  return {
    get number() {
      return watched.size
    },
    watch(session) {
      watched.add(session)
      if (!end) void poll()
    },
    forget() {
      watched.clear()
      end?.()
    },
  }
}
