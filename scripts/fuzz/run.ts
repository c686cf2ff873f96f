import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describedResponses } from '../../server/test/described-responses.ts'
import { DESCRIPTIONS } from '../../server/test/descriptions.ts'
import { OPERATOR_TOKEN, openProcesses } from '../crash-test/processes.ts'
import { seededRandom } from '../random.ts'
import { dashboardOperations, signIn } from './dashboard.ts'
import { openShop } from './flows.ts'
import { createMemory } from './memory.ts'
import { type Operation, operationsOf, operationsOfTools } from './operations.ts'
import { marketOperations } from './pages.ts'
import { allowProgram, consentOperations, oauthOperations } from './programs.ts'
import { createSession, Failed, type Failure, type Shared } from './session.ts'

export type Fuzz = {
  seconds: number
  seed: number
  /** With 1, a seed reproduces the whole sequence; with more, requests run concurrently. */
  connections: number
  /** Selects the operations of single requests by id. */
  operations: RegExp
  /** Contains DATA_DIR and the log. */
  folder: string
}

export type Report = {
  figures: Record<string, number>
  /** The first response that broke a rule. */
  failure?: Failure & { port: number }
  /** Failures of the process, and errors in its log. */
  problems: string[]
}

const STOP_TIMEOUT_MS = 30_000

/** Starts a service, sends requests until the time is up or a response breaks a rule, and stops the service. */
export async function fuzz(options: Fuzz): Promise<Report> {
  const receiver = await startReceiver()
  const processes = await openProcesses(1, options.folder, undefined, {
    LOG_LEVEL: 'warn',
    MCP_PUBLIC_RATE: '1000000000',
  })
  let failure: Report['failure']
  const problems: string[] = []
  const figures: Shared['figures'] = {
    requests: 0,
    attacks: 0,
    byStatus: new Map(),
    succeeded: new Set(),
  }
  try {
    processes.start(0)
    await processes.ready(0)
    if (processes.unexpectedExits.length > 0) throw new Error(processes.unexpectedExits.join('\n'))
    const url = processes.urls[0]!
    const port = Number(new URL(url).port)
    const shared = await prepare(url, port, receiver.url, figures)
    try {
      await runSessions(shared, options)
    } catch (error) {
      if (!(error instanceof Failed)) throw error
      failure = { ...error.failure, port }
    }
  } finally {
    const stopped = processes.stop().then(() => true)
    const timeout = Promise.withResolvers<boolean>()
    const timer = setTimeout(timeout.resolve, STOP_TIMEOUT_MS, false)
    if (!(await Promise.race([stopped, timeout.promise]))) {
      problems.push(`The process did not end within ${STOP_TIMEOUT_MS / 1000} s of SIGTERM.`)
    }
    clearTimeout(timer)
    await processes.killDatabase()
    receiver.close()
  }
  problems.push(...processes.unexpectedExits, ...errorsIn(readFileSync(processes.logs[0]!, 'utf8')))
  return { figures: toFigures(figures), ...(failure ? { failure } : {}), problems }
}

async function prepare(
  url: string,
  port: number,
  receiverUrl: string,
  figures: Shared['figures'],
): Promise<Shared> {
  const read = async (path: string) => (await (await fetch(url + path)).json()) as object
  const operations = (
    await Promise.all(
      DESCRIPTIONS.map(async ({ path, credential }) => operationsOf(await read(path), credential)),
    )
  ).flat()
  operations.push(...(await toolsAt(`${url}/mcp`)), ...oauthOperations(), ...consentOperations())
  operations.push(...(await dashboardOperations()), ...marketOperations())
  return {
    port,
    memory: createMemory(),
    operations,
    chosen: [],
    described: describedResponses(read),
    credentials: {
      operatorToken: OPERATOR_TOKEN,
      receiverUrl,
      origin: url,
      members: [],
      programs: [],
    },
    figures,
  }
}

/** Gives each shop a member who is signed in, and a program that the member has allowed. */
async function signInAll({ memory, credentials }: Shared): Promise<void> {
  const { operatorToken, origin, members, programs } = credentials
  for (const account of new Set(memory.sellers.map(({ accountId }) => accountId))) {
    const member = await signIn(origin, operatorToken, account)
    members.push(member)
    programs.push(await allowProgram(origin, member))
  }
}

/** Whether an operation would end the credentials of all later requests. */
const endsCredentials = ({ id }: Operation) =>
  id === 'revokeOwnKey' || /^DELETE .*\/(sessions|programs)/.test(id)

/** The calls of the tools at an address, as operations. */
async function toolsAt(url: string, token?: string): Promise<Operation[]> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  })
  const { result } = (await response.json()) as {
    result: { tools: Parameters<typeof operationsOfTools>[2] }
  }
  const credential = token === undefined ? 'none' : 'program'
  return operationsOfTools(new URL(url).pathname, credential, result.tools)
}

/** @throws Failed */
async function runSessions(
  shared: Shared,
  { seconds, seed, connections, operations: pattern }: Fuzz,
): Promise<void> {
  const random = seededRandom(seed)
  const sessions = Array.from({ length: connections }, () => createSession(shared, random.fork()))
  const setup = random.fork()
  for (let shops = 0; shops < 4; shops++) await openShop(sessions[0]!.send, setup)
  await signInAll(shared)
  const { origin, programs } = shared.credentials
  shared.operations.push(...(await toolsAt(`${origin}/mcp/seller`, programs[0]!.token)))
  shared.chosen.push(
    ...shared.operations.filter(
      (operation) => pattern.test(operation.id) && !endsCredentials(operation),
    ),
  )
  if (shared.chosen.length === 0) throw new Error(`No operation matches ${pattern}.`)
  for (const list of ['listSets', 'listCards', 'listProducts']) await sessions[0]!.send(list)

  const deadline = performance.now() + seconds * 1000
  let isOver = false
  const work = sessions.map(async (session) => {
    try {
      while (!isOver && performance.now() < deadline) await session.step()
    } finally {
      isOver = true
      session.close()
    }
  })
  // Let the other sessions finish their requests before the service stops.
  const ended = await Promise.allSettled(work)
  const failed = ended.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
  try {
    await sessions[0]!.readLists()
  } finally {
    sessions[0]!.close()
  }
}

/** Receives webhooks and serves photos; most of its responses are failures. */
async function startReceiver() {
  const server = createServer((request, response) => {
    request.resume()
    const statuses = [204, 200, 302, 404, 500]
    response.writeHead(statuses[(request.url?.length ?? 0) % statuses.length]!).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    // A name, because registration refuses private addresses.
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const ERROR_LEVEL = 50

function errorsIn(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      try {
        const { level } = JSON.parse(line)
        return level >= ERROR_LEVEL ? [`The log has an error: ${line}`] : []
      } catch {
        return [`The log has a line that isn't JSON: ${line}`]
      }
    })
}

const toFigures = ({
  requests,
  attacks,
  succeeded,
  byStatus,
}: Shared['figures']): Report['figures'] => ({
  requests,
  attacks,
  'operations that succeeded': succeeded.size,
  ...Object.fromEntries(
    [...byStatus].sort(([a], [b]) => a - b).map(([s, n]) => [`responses with status ${s}`, n]),
  ),
})
