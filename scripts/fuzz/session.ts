import type { Random } from '../random.ts'
import { type Described, faultsOfAttacked, faultsOfResponse } from './checks.ts'
import { type Connection, openConnection, type Response } from './client.ts'
import { openShop, type Send, sell, subscribe } from './flows.ts'
import { type Credentials, createGenerator, type Options } from './generate.ts'
import { type Attack, attack } from './hostile.ts'
import { jsonIn, type Memory } from './memory.ts'
import type { Operation } from './operations.ts'
import { bytesOf, type Request } from './request.ts'
import { shrink } from './shrink.ts'

/** A request or attack whose response broke a rule. */
export type Failure = {
  faults: string[]
  bytes: Buffer
  /** The response, if one arrived. */
  response: Response | undefined
  /** Earlier requests on the same connection, if the failing request does not fail alone. */
  earlier: Buffer[]
}

export class Failed extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.faults.join(' '))
    this.failure = failure
  }
}

export type Shared = {
  port: number
  memory: Memory
  operations: Operation[]
  /** The operations that single requests are for; flows use all. */
  chosen: Operation[]
  described: Described
  credentials: Credentials
  figures: {
    requests: number
    attacks: number
    byStatus: Map<number, number>
    /** Operations that had a 2xx response. */
    succeeded: Set<string>
  }
}

/** Longer than any response takes: a label call waits up to 10 seconds for a concurrent call. */
const TIMEOUT_MS = 30_000
/** Short, because an incomplete request gets no response. */
const ATTACK_TIMEOUT_MS = 100
const MAX_EARLIER_REQUESTS = 5
const MAX_PAGES = 100

/** A client that sends random requests in sequence on its own connection. */
export function createSession(shared: Shared, random: Random) {
  const { port, memory, operations, chosen, described, credentials, figures } = shared
  const generator = createGenerator(memory, random, credentials)
  let connection: Connection | undefined
  let sent: Buffer[] = []

  /** @throws Failed */
  const exchange = async (request: Request): Promise<Response> => {
    if (!connection?.isOpen()) {
      connection?.close()
      connection = await openConnection(port)
      sent = []
    }
    const { response, faults } = await sendAndCheck(connection, request)
    figures.requests++
    if (response)
      figures.byStatus.set(response.status, (figures.byStatus.get(response.status) ?? 0) + 1)
    if (faults.length > 0) throw new Failed(await reproduce(request, response, faults))
    if (response!.status < 300) figures.succeeded.add(request.operation.id)
    sent.push(bytesOf(request))
    if (sent.length > MAX_EARLIER_REQUESTS) sent.shift()
    memory.learn(request, response!)
    const isStream = response!.headers['content-type'] === 'text/event-stream'
    if (isStream || response!.headers.connection === 'close') connection.close()
    return response!
  }

  const sendAndCheck = async (connection: Connection, request: Request) => {
    const beganAt = performance.now()
    const bytes = bytesOf(request)
    connection.send(bytes)
    const steered = request.operation.id === 'steerCarrier' ? memory.steer() : undefined
    let response: Response | undefined
    let faults: string[]
    try {
      const received = await connection.next(request.method, TIMEOUT_MS)
      if (typeof received === 'string') faults = [`There is no response: ${received}.`]
      else {
        response = received
        faults = await faultsOfResponse(request, response, memory, beganAt, described)
      }
    } catch (error) {
      faults = [`The response is not HTTP: ${(error as Error).message}`]
    }
    const isOk = response?.status === 200
    steered?.(isOk ? jsonIn(response!.body)?.data?.label : undefined)
    return { response, faults }
  }

  /** Repeats a failing request alone, and shrinks it while it fails with the same first fault. */
  const reproduce = async (
    request: Request,
    response: Response | undefined,
    faults: string[],
  ): Promise<Failure> => {
    const fails = async (candidate: Request) => {
      const alone = await openConnection(port)
      const { faults: repeated } = await sendAndCheck(alone, candidate).finally(() => alone.close())
      return repeated[0]?.slice(0, 40) === faults[0]!.slice(0, 40)
    }
    const stillFails = await fails(request).catch(() => false)
    const smallest = stillFails ? await shrink(request, fails).catch(() => request) : request
    return { faults, response, bytes: bytesOf(smallest), earlier: stillFails ? [] : sent }
  }

  /** @throws Failed */
  const sendAttack = async (): Promise<void> => {
    const seller = random.pick(memory.sellers)?.key ?? 'none'
    const planned = attack(random, { seller, operator: credentials.operatorToken })
    const connection = await openConnection(port)
    figures.attacks++
    try {
      for (const part of planned.parts) connection.send(part)
      if (!planned.disconnects) await checkResponses(connection, planned)
    } finally {
      connection.close()
    }
    // The service must still serve other clients.
    await exchange(liveness)
  }

  const liveness: Request = {
    method: 'GET',
    target: '/health/live',
    headers: [],
    operation: operations[0]!,
    ids: {},
    hasValidKey: false,
  }

  const send: Send = (id: string, options?: Options) =>
    exchange(generator.valid(operations.find((operation) => operation.id === id)!, options))

  return {
    send,
    async step(): Promise<void> {
      const roll = random.between(0, 100)
      // Few shops, so that each has many records.
      if (roll < 0.5) await openShop(send, random)
      else if (roll < 8) await sell(send, random)
      else if (roll < 9) await subscribe(send, random)
      else if (roll < 20) await sendAttack()
      else {
        const operation = random.pick(chosen)
        const { valid, nearlyValid } = generator
        await exchange(roll < 60 ? valid(operation) : nearlyValid(operation))
      }
    },
    /** Reads all pages of the marketplace's lists: a record may match its schema where it is written, but not in a list. */
    async readLists(): Promise<void> {
      memory.staff.length = 0
      for (const operation of operations) {
        const isList = operation.parameters.some(({ name }) => name === 'page')
        if (!isList || operation.credential !== 'operator' || operation.path.includes('{')) continue
        for (let page = 1, last = 1; page <= Math.min(last, MAX_PAGES); page++) {
          const target = `${operation.path}?per_page=100&page=${page}`
          const { body } = await exchange({ ...generator.valid(operation), target })
          last = jsonIn(body)?.meta?.last_page ?? 0
        }
      }
    },
    close: () => connection?.close(),
  }
}

/**
 * Checks every response that an attack provokes.
 *
 * @throws Failed
 */
async function checkResponses(connection: Connection, { name, parts }: Attack): Promise<void> {
  for (;;) {
    let faults: string[]
    let response: Response | undefined
    try {
      const received = await connection.next('GET', ATTACK_TIMEOUT_MS)
      if (typeof received === 'string') return
      response = received
      faults = faultsOfAttacked(response)
    } catch (error) {
      faults = [`The response is not HTTP: ${(error as Error).message}`]
    }
    if (faults.length > 0) {
      faults = faults.map((fault) => `${name}: ${fault}`)
      throw new Failed({ faults, response, bytes: Buffer.concat(parts), earlier: [] })
    }
  }
}
