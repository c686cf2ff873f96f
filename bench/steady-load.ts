import { Pool } from 'undici'

/**
 * Sends requests at a steady rate, whether or not earlier responses have arrived, and measures each from its scheduled
 * time, so that a stall of the server counts for every request that was due during it. Runs in its own process.
 */
export type SteadyLoad = { port: number; key: string; paths: string[]; perSecond: number }

/** Milliseconds per request. */
export type Latencies = number[]

const CONNECTIONS = 16
const TICK_MS = 2

let stop: () => Promise<Latencies>

process.on('message', async (message: SteadyLoad | { stop: true }) => {
  if ('stop' in message) process.send!(await stop())
  else stop = start(message)
})

function start({ port, key, paths, perSecond }: SteadyLoad): () => Promise<Latencies> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS })
  const headers = { authorization: `Bearer ${key}` }
  const latencies: Latencies = []
  const pending = new Set<Promise<void>>()
  const began = performance.now()
  let sent = 0

  const send = async (path: string, due: number) => {
    const response = await pool.request({ method: 'GET', path, headers })
    await response.body.dump()
    if (response.statusCode !== 200) throw new Error(`${path} returned ${response.statusCode}`)
    latencies.push(performance.now() - due)
  }
  const timer = setInterval(() => {
    for (; began + (sent * 1000) / perSecond <= performance.now(); sent++) {
      const request = send(paths[sent % paths.length]!, began + (sent * 1000) / perSecond)
      pending.add(request)
      request.then(() => pending.delete(request))
    }
  }, TICK_MS)
  return async () => {
    clearInterval(timer)
    await Promise.all(pending)
    await pool.close()
    return latencies
  }
}
