import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'

export type Response = {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: responses have many shapes
  body: any
}

/** `cookie` makes it a request of a browser that is signed in. */
export type Request = { token?: string; cookie?: string; body?: unknown; idempotencyKey?: string }

/** An API client of a service whose processes may be killed at any moment. Each attempt goes to a random process. */
export type Client = {
  urls: string[]
  /** Makes one attempt. Returns undefined if its outcome is unknown: a 5xx or no response. */
  sendOnce(method: string, path: string, request: Request): Promise<Response | undefined>
  /** Repeats the request until its outcome is known. `failedAttempts` counts the attempts before. */
  send(
    method: string,
    path: string,
    request: Request,
  ): Promise<Response & { failedAttempts: number }>
  /** Like `send`, but throws if the request is rejected. */
  sendOk(method: string, path: string, request: Request): Promise<Response>
  /** Counts attempts with an unknown outcome, by 5xx status or `no response`. */
  failures: Record<string, number>
}

/** Longer than any response takes: a label call waits up to 10 seconds for a concurrent purchase. */
const TIMEOUT_MS = 20_000
const OUTAGE_TIMEOUT_MS = 180_000
const RETRY_AFTER_MS = 50

export function clientFor(urls: string[], random: Random): Client {
  const failures: Client['failures'] = {}
  const recordFailure = (reason: string) => {
    failures[reason] = (failures[reason] ?? 0) + 1
    return undefined
  }

  const client: Client = {
    urls,
    failures,
    async sendOnce(method, path, { token, cookie, body, idempotencyKey }) {
      const url = random.pick(urls)
      try {
        const response = await fetch(url + path, {
          method,
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(cookie === undefined ? {} : { cookie, origin: url }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
          },
          body: body === undefined ? null : JSON.stringify(body),
          signal: AbortSignal.timeout(TIMEOUT_MS),
        })
        const text = await response.text()
        if (response.status >= 500) return recordFailure(String(response.status))
        return {
          status: response.status,
          text,
          body: text.startsWith('{') ? JSON.parse(text) : undefined,
        }
      } catch {
        return recordFailure('no response')
      }
    },

    async send(method, path, request) {
      const deadline = performance.now() + OUTAGE_TIMEOUT_MS
      for (let failedAttempts = 0; ; failedAttempts++) {
        const response = await client.sendOnce(method, path, request)
        if (response) return { ...response, failedAttempts }
        if (performance.now() > deadline) {
          throw new Error(`${method} ${path}: no response for ${OUTAGE_TIMEOUT_MS / 1000} s.`)
        }
        await sleep(RETRY_AFTER_MS)
      }
    },

    async sendOk(method, path, request) {
      const response = await client.send(method, path, request)
      if (response.status >= 400) {
        throw new Error(`${method} ${path}: ${response.status} ${response.text}`)
      }
      return response
    },
  }
  return client
}

/** Reads a list to its last page. */
export async function allPages<T>(client: Client, path: string, token: string): Promise<T[]> {
  const all: T[] = []
  for (let page = 1; ; page++) {
    const { body } = await client.sendOk('GET', `${path}?per_page=100&page=${page}`, { token })
    all.push(...body.data)
    if (body.links.next === null) return all
  }
}
