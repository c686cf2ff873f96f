import type { Chance } from '../random.ts'
import { type Described, faultsOfAnswer, faultsOfAny } from './checks.ts'
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
  /** Earlier requests on the same connection, if the last one does not fail alone. */
  before: Buffer[]
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

/** Longer than the service takes for anything: a label call waits up to 10 seconds for another one. */
const TIMEOUT_MS = 30_000
/** An incomplete request gets no response: wait only briefly. */
const ATTACK_TIMEOUT_MS = 100
const BEFORE = 5

/** One client: sends one request after the other on its own connection, as its chance decides. */
export function createLane(shared: Shared, chance: Chance) {
  const { port, memory, operations, chosen, described, credentials, figures } = shared
  const generator = createGenerator(memory, chance, credentials)
  let connection: Connection | undefined
  let sent: Buffer[] = []

  /** @throws Failed */
  const exchange = async (request: Request): Promise<Response> => {
    if (!connection?.isOpen()) {
      connection?.close()
      connection = await openConnection(port)
      sent = []
    }
    const { response, faults } = await answerOn(connection, request)
    figures.requests++
    if (response)
      figures.byStatus.set(response.status, (figures.byStatus.get(response.status) ?? 0) + 1)
    if (faults.length > 0) throw new Failed(await reproduce(request, response, faults))
    if (response!.status < 300) figures.succeeded.add(request.operation.id)
    sent.push(bytesOf(request))
    if (sent.length > BEFORE) sent.shift()
    memory.learn(request, response!)
    const isStream = response!.headers['content-type'] === 'text/event-stream'
    if (isStream || response!.headers.connection === 'close') connection.close()
    return response!
  }

  const answerOn = async (connection: Connection, request: Request) => {
    const beganAt = performance.now()
    const bytes = bytesOf(request)
    connection.send(bytes)
    const steered = request.operation.id === 'steerCarrier' ? memory.steer() : undefined
    let response: Response | undefined
    let faults: string[]
    try {
      const answered = await connection.next(request.method, TIMEOUT_MS)
      if (typeof answered === 'string') faults = [`There is no answer: ${answered}.`]
      else {
        response = answered
        faults = await faultsOfAnswer(request, response, memory, beganAt, described)
      }
    } catch (error) {
      faults = [`The answer is no HTTP: ${(error as Error).message}`]
    }
    const isDone = response?.status === 200
    steered?.(isDone ? jsonIn(response!.body)?.data?.label : undefined)
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
      const { faults: others } = await answerOn(alone, candidate).finally(() => alone.close())
      return others[0]?.slice(0, 40) === faults[0]!.slice(0, 40)
    }
    const stillFails = await fails(request).catch(() => false)
    const smallest = stillFails ? await shrink(request, fails).catch(() => request) : request
    return { faults, response, bytes: bytesOf(smallest), before: stillFails ? [] : sent }
  }

  /** @throws Failed */
  const assault = async (): Promise<void> => {
    const seller = chance.oneOf(memory.sellers)?.key ?? 'none'
    const planned = attack(chance, { seller, operator: credentials.operatorToken })
    const victim = await openConnection(port)
    figures.attacks++
    try {
      for (const part of planned.parts) victim.send(part)
      if (!planned.leaves) await checkAnswers(victim, planned)
    } finally {
      victim.close()
    }
    // The service must still serve others.
    await exchange(live)
  }

  const live: Request = {
    method: 'GET',
    target: '/health/live',
    headers: [],
    operation: operations[0]!,
    ids: {},
    hasGoodKey: false,
  }

  const send: Send = (id: string, options?: Options) =>
    exchange(generator.valid(operations.find((operation) => operation.id === id)!, options))

  return {
    send,
    async step(): Promise<void> {
      const dice = chance.between(0, 100)
      if (dice < 3) await openShop(send, chance)
      else if (dice < 8) await sell(send, chance)
      else if (dice < 9) await subscribe(send, chance)
      else if (dice < 20) await assault()
      else {
        const operation = chance.oneOf(chosen)
        const { valid, nearlyValid } = generator
        await exchange(dice < 60 ? valid(operation) : nearlyValid(operation))
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
async function checkAnswers(connection: Connection, { name, parts }: Attack): Promise<void> {
  for (;;) {
    let faults: string[]
    let response: Response | undefined
    try {
      const answered = await connection.next('GET', ATTACK_TIMEOUT_MS)
      if (typeof answered === 'string') return
      response = answered
      faults = faultsOfAny(response)
    } catch (error) {
      faults = [`The answer is no HTTP: ${(error as Error).message}`]
    }
    if (faults.length > 0) {
      faults = faults.map((fault) => `${name}: ${fault}`)
      throw new Failed({ faults, response, bytes: Buffer.concat(parts), before: [] })
    }
  }
}
