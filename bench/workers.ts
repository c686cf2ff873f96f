import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** Starts a process that runs this file and exchanges messages with this one. */
export const startWorker = (file: string) =>
  fork(new URL(file, import.meta.url), { serialization: 'advanced', execArgv: [] })

/** Sends a message to a worker and returns its reply. Throws if the worker exits first; its error is on stderr. */
export async function callWorker<Reply>(worker: ChildProcess, message: object): Promise<Reply> {
  worker.send(message)
  const settled = new AbortController()
  const { signal } = settled
  try {
    const [reply] = await Promise.race([
      once(worker, 'message', { signal }),
      once(worker, 'exit', { signal }).then(([code]) => {
        throw new Error(`${worker.spawnargs.at(-1)} exited with code ${code}`)
      }),
    ])
    return reply
  } finally {
    settled.abort()
  }
}
