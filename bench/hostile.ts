import { rm } from 'node:fs/promises'
import { temporaryFolder } from '../scripts/temporary-folder.ts'
import { DESCRIPTIONS } from '../server/test/descriptions.ts'
import {
  type HostileRequest,
  hostileOAuthRequests,
  hostileRecords,
  hostileRequests,
  hostileToolCalls,
} from '../server/test/hostile-requests.ts'
import { startService } from './service.ts'
import { cpuOf } from './usage.ts'

/**
 * `npm run hostile -- [text]`: starts a service, sends it the most expensive requests (those with this text in their
 * name), and prints the CPU time of its process for each, the most expensive first. Linux only. Exits with code 1 if a
 * request costs more than 100 ms or returns a 5xx, or an error response exceeds 64 KiB.
 */
const REPETITIONS = 5
const MAX_CPU_MS = 100
const MAX_ERROR_BYTES = 64 * 1024
const MAX_SHOWN = 40

const kib = (bytes: number) => `${(bytes / 1024).toFixed(1).padStart(8)} KiB`

const filter = process.argv[2] ?? ''
const folder = await temporaryFolder('hostile')
const service = await startService({ dataDir: folder })
try {
  const token = service.operatorToken
  const send = async (
    method: string,
    path: string,
    payload?: string,
    type = 'application/json',
  ) => {
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      method,
      headers: {
        ...(!/^\/(mcp|oauth)/.test(path) && {
          authorization: `Bearer ${path.startsWith('/operator') ? token : service.key}`,
        }),
        ...(payload !== undefined && {
          'content-type': type,
          'idempotency-key': crypto.randomUUID(),
        }),
      },
      ...(payload !== undefined && { body: payload }),
    })
    return { status: response.status, text: await response.text() }
  }
  const json = async (path: string) => JSON.parse((await send('GET', path)).text)

  const [product] = (await json('/v1/products')).data
  const records = await hostileRecords(
    async (path, body) => JSON.parse((await send('POST', path, JSON.stringify(body))).text),
    (await json('/v1/me')).data.id,
    { card: 'base1-4', set: 'base1', product: product?.slug ?? 'none' },
  )
  const requests = []
  for (const { path, prefix } of DESCRIPTIONS) {
    requests.push(...hostileRequests(await json(path), prefix, records))
  }
  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  const { tools } = JSON.parse((await send('POST', '/mcp', list)).text).result
  requests.push(...hostileToolCalls('/mcp', tools, records), ...hostileOAuthRequests())

  const measured = []
  for (const request of requests.filter(({ name }) => name.includes(filter))) {
    measured.push(await measure(request, send, service.pids()[0]!))
  }
  measured.sort((a, b) => b.cpuMs - a.cpuMs)
  for (const { name, status, cpuMs, bytes } of measured.slice(0, MAX_SHOWN)) {
    console.log(`${cpuMs.toFixed(1).padStart(8)} ms  ${status}  ${kib(bytes)}  ${name}`)
  }
  const failed = measured.filter(
    ({ status, cpuMs, bytes }) =>
      cpuMs > MAX_CPU_MS || status >= 500 || (status >= 400 && bytes > MAX_ERROR_BYTES),
  )
  console.log(`\n${measured.length} requests, ${failed.length} too expensive or failed`)
  for (const { name, status, cpuMs, bytes } of failed) {
    console.log(`- ${name}: ${status}, ${cpuMs.toFixed(1)} ms, ${kib(bytes)}`)
  }
  process.exitCode = failed.length > 0 ? 1 : 0
} finally {
  await service.stop()
  await rm(folder, { recursive: true, force: true })
  await rm(`${folder}.log`, { force: true })
}

/** Measures the minimum of several repetitions: code that isn't compiled yet makes the first ones slower. */
async function measure(
  { name, method, path, payload, type }: HostileRequest,
  send: (
    method: string,
    path: string,
    payload?: string,
    type?: string,
  ) => Promise<{ status: number; text: string }>,
  pid: number,
) {
  const times: number[] = []
  let [status, bytes] = [0, 0]
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    const before = cpuOf([pid])
    const response = await send(method.toUpperCase(), path(repetition), payload, type)
    times.push((cpuOf([pid]) - before) / 1000)
    status = response.status
    bytes = Math.max(bytes, Buffer.byteLength(response.text))
  }
  return { name, status, bytes, cpuMs: Math.min(...times) }
}
