import { execFile, spawn } from 'node:child_process'
import { copyFile, readdir } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { startTestApp, type TestApp } from '../../server/test/app.ts'
import { startWebServer } from '../../server/test/fakes/network.ts'
import { cardItem, list, NO_LIMITS } from '../../server/test/fixtures/listings.ts'
import { buy, LABEL, LETTER, openShop, PARCEL } from '../../server/test/fixtures/orders.ts'
import { freePort } from '../../server/test/free-port.ts'
import { madeOnce } from '../../server/test/made-once.ts'
import { newDirectory } from '../../server/test/new-directory.ts'
import { until } from '../../server/test/until.ts'

const execute = promisify(execFile)

/** The service, the shop and the folder of the running test file. */
export let app: TestApp
export let seller: Awaited<ReturnType<typeof openShop>>
export let url: string
export let folder: string

/** Starts a service with a shop, and unpacks the program. Call it in `beforeAll`. */
export async function startShop(): Promise<void> {
  folder = await newDirectory()
  // The packed program, in a folder without anything else.
  const archive = await packedProgram()
  await copyFile(archive, file(path.basename(archive)))
  await execute('tar', ['-xzf', archive], { cwd: folder })
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  app = await startTestApp({ template: 'fixture', settings: { ...NO_LIMITS, PUBLIC_URL: url } })
  await app.app.listen({ port, host: '127.0.0.1' })
  seller = await openShop(app, PARCEL, LABEL, LETTER)
}

/** The packed program. */
async function packedProgram(): Promise<string> {
  const target = await madeOnce('cli', (folder) =>
    execute('npm', ['pack', '--pack-destination', folder], {
      cwd: path.join(import.meta.dirname, '..'),
    }),
  )
  const [archive] = await readdir(target)
  return path.join(target, archive!)
}

/** `input` is all of stdin; null leaves it open. */
type Options = { input?: string | null; env?: object }

export type Result = { code: number | null; stdout: string; stderr: string }

export function start(args: string[], { input = '', env = {} }: Options = {}) {
  const child = spawn(process.execPath, [path.join(folder, 'package/dist/cardstall.js'), ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      XDG_CONFIG_HOME: path.join(folder, 'config'),
      CARDSTALL_URL: url,
      CARDSTALL_KEY: seller.key,
      ...env,
    },
  })
  // A command may end before it has read its input.
  child.stdin.on('error', () => {})
  if (input !== null) child.stdin.end(input)
  const ended = new Promise<Result>((resolve) => {
    const result = { stdout: '', stderr: '' }
    child.stdout.on('data', (data) => {
      result.stdout += data
    })
    child.stderr.on('data', (data) => {
      result.stderr += data
    })
    child.on('close', (code) => resolve({ code, ...result }))
  })
  return { child, ended }
}

export const run = (args: string | string[], options: Options = {}) =>
  start(typeof args === 'string' ? args.split(' ') : args, options).ended

/** Runs a command that succeeds, and returns its output. */
export async function succeed(args: string, options: Options = {}): Promise<string> {
  const { code, stdout, stderr } = await run(args, options)
  expect([code, stderr.match(/.*(error|failed).*/i)?.[0]], stderr).toEqual([0, undefined])
  return stdout
}

/**
 * Runs a first `sync --once`. Long transactions of other tests on the same server can delay its
 * position beyond its limit.
 */
export const startSync = (args: string, options: Options = {}) =>
  until('a first position', async () => {
    const result = await run(args, options)
    if (result.stderr.includes('Other changes take long')) return false
    expect(result.code, result.stderr).toBe(0)
    expect(result.stderr).toContain('Starting now')
    return true
  })

export async function sold(option = PARCEL): Promise<number> {
  const [id] = await list(seller, cardItem())
  const shipping = [{ account_id: seller.accountId, option: option.code }]
  return (await buy(app, [[id!, 1]], { shipping })).orderIds[0]!
}

/** Responds to a request as the service does. */
export async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { authorization, 'content-type': type, 'idempotency-key': key } = request.headers
  const answer = await fetch(`${url}${request.url}`, {
    method: request.method!,
    headers: {
      ...(authorization && { authorization }),
      ...(type && { 'content-type': type }),
      ...(key && { 'idempotency-key': String(key) }),
    },
    ...(request.method === 'POST' && { body: await text(request) }),
  })
  response.writeHead(answer.status, {
    'content-type': answer.headers.get('content-type') ?? 'application/json',
  })
  response.end(Buffer.from(await answer.arrayBuffer()))
}

export const CARD = cardItem().card
/** A file in the folder. */
export const file = (name: string) => path.join(folder, name)
export const totalOf = async (status = 'active') =>
  (await seller.get(`/v1/listings?status=${status}`)).body.meta.total as number

export const csvOf = (rows: number, price = '1.50') =>
  [
    'card,condition,language,price,quantity,shelf',
    ...Array(rows).fill(`${CARD},NM,EN,${price},2,A4`),
  ].join('\n')

export type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

/**
 * Starts a proxy of the service and returns its address.
 *
 * @param answer responds to a request instead of the service, or returns undefined
 */
export async function startProxy(answer: Answer = () => undefined): Promise<string> {
  const { port } = await startWebServer(async (request, response) => {
    if (!answer(request, response)) await forward(request, response)
  })
  return `http://127.0.0.1:${port}`
}
