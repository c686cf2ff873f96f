import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'

/** What the service answered. */
export type Answer = {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are of many shapes
  body: any
}

export type Request = { token: string; body?: unknown; idempotencyKey?: string }

/** How a back end talks to a service that may go away at any moment. */
export type Ask = {
  /** Sends it to one of the processes, once. undefined: nobody knows what became of it. */
  once(method: string, path: string, request: Request): Promise<Answer | undefined>
  /** Sends it again until there is an answer; `lost` says how often there was none before. */
  insist(method: string, path: string, request: Request): Promise<Answer & { lost: number }>
  /** The same for what must succeed. Throws when it's refused. */
  must(method: string, path: string, request: Request): Promise<Answer>
  /** Requests that were answered with 5xx, by status, and those that weren't answered. */
  lost: Record<string, number>
}

/** Longer than the service takes for anything: a label call waits for another one's purchase for 10 seconds. */
const TIMEOUT_MS = 20_000
const BACK_AFTER_MS = 60_000
const AGAIN_AFTER_MS = 50

export function askAt(urls: string[], random: Random): Ask {
  const lost: Ask['lost'] = {}
  const lose = (why: string) => {
    lost[why] = (lost[why] ?? 0) + 1
    return undefined
  }

  const ask: Ask = {
    lost,
    async once(method, path, { token, body, idempotencyKey }) {
      try {
        const response = await fetch(random.pick(urls) + path, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
          },
          body: body === undefined ? null : JSON.stringify(body),
          signal: AbortSignal.timeout(TIMEOUT_MS),
        })
        const text = await response.text()
        if (response.status >= 500) return lose(String(response.status))
        return { status: response.status, text, body: text ? JSON.parse(text) : undefined }
      } catch {
        return lose('no answer')
      }
    },

    async insist(method, path, request) {
      const deadline = performance.now() + BACK_AFTER_MS
      for (let lostBefore = 0; ; lostBefore++) {
        const answer = await ask.once(method, path, request)
        if (answer) return { ...answer, lost: lostBefore }
        if (performance.now() > deadline) {
          throw new Error(`${method} ${path}: no answer for ${BACK_AFTER_MS / 1000} s.`)
        }
        await sleep(AGAIN_AFTER_MS)
      }
    },

    async must(method, path, request) {
      const answer = await ask.insist(method, path, request)
      if (answer.status >= 400) {
        throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
      }
      return answer
    },
  }
  return ask
}
