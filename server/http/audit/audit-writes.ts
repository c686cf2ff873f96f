import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import {
  abandonAudit,
  beginAudit,
  endAudit,
  type NewAuditEntry,
  recordAudit,
  recordAudits,
} from '../../audit/record.ts'
import type { Context } from '../../context.ts'
import type { Share, SharedWork } from '../../database/shared-transactions.ts'
import { ApiError, ERROR_TYPES } from '../../errors.ts'
import type { Service } from '../../service.ts'
import {
  beginRequest,
  type RequestTransaction,
  sharing,
  withinRequest,
} from '../request-transaction.ts'
import { kindOf, type RecordRef, readRecord, recordOf, withReview } from './records.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * How the audit log records a write. By default, the entry is part of the write's transaction. `begun and ended` is
     * for a write that calls the network, derives a key from a password, or has several transactions: it is noted before it
     * begins, and its entry is committed before the response is sent. `never` is for an operation that changes nothing.
     * `without state` is for one that reads personal data: its use is recorded, the data is not. `created` is for a verb
     * that shares transactions with concurrent callers: it returns the new record's state for the verb's result, and
     * `isShared` says whether the verb does so for this body.
     */
    audit?: 'begun and ended' | 'never' | 'without state' | SharedCreation
    /**
     * A short form of the body, without secrets, for a write that changes more than its record shows. The entry has it as
     * `request`, in addition to the response.
     */
    auditRequest?: (body: never) => object
    /** A change by the body that no field of the record shows. The entry has it in `after`. */
    auditAlso?: (body: never) => object
  }
  interface FastifyRequest {
    audited: Audited | undefined
  }
}

/** A record as the API shows it. */
type State = { id: number }

type SharedCreation = { created: (result: never) => State; isShared: (body: never) => boolean }

/** The caller of an audited API. */
export type Actor = {
  actor: string
  actorName: string | null
  role: string
  /** The seller's account, to which the records belong; undefined in the operator API. */
  accountId?: number
}

/** A write in progress. */
type Audited = {
  transaction: RequestTransaction | undefined
  record: RecordRef | null
  before: object | null
  /** The note of a write that has several transactions. */
  noteId: number | undefined
  /** Whether a shared transaction has written the entry. */
  isRecorded: boolean
  /** Whether the write failed after a part of it was done, or may have been. */
  isPartial: boolean
}

/**
 * An onRoute hook that writes an entry of the audit log for each successful write. Routes need no code for it: the path
 * names the record, which is read before and after the handler, and the entry has the fields that differ. A request
 * that changes its record and its entry are one transaction; it is committed before the first byte of the response.
 */
export const auditWrites =
  (ctx: Service, actorOf: (request: FastifyRequest) => Actor) =>
  (route: RouteOptions): void => {
    const { url } = route
    const method = String(route.method)
    const mode = route.config?.audit ?? 'with the change'
    if (method === 'GET' || method === 'HEAD' || mode === 'never') return
    const { operationId } = (route.schema ?? {}) as { operationId?: string }
    const action = operationId ?? `${method} ${url}`

    const begin = async (request: FastifyRequest): Promise<Audited> => {
      const record = recordOf(url, request.params, actorOf(request))
      const audited: Audited = {
        transaction: undefined,
        record,
        before: null,
        noteId: undefined,
        isRecorded: false,
        isPartial: false,
      }
      if (
        typeof mode === 'object' &&
        mode.isShared(request.body as never) &&
        request.headers['idempotency-key'] === undefined
      ) {
        const share = sharedWith(ctx, (result) => {
          audited.isRecorded = true
          const after = mode.created(result as never)
          return { ...by(request), record: nameOfNew(url, after), before: null, after }
        })
        return Object.assign(audited, { transaction: sharing(share) })
      }
      if (mode === 'without state') return audited
      if (mode === 'begun and ended') {
        const before = await stateOf(ctx, record)
        const note = { ...by(request), record: record?.name ?? null, before }
        return Object.assign(audited, { before, noteId: await beginAudit(ctx, note) })
      }
      const transaction = await beginRequest(ctx)
      try {
        const tx = transaction.tx!
        audited.record = await withReview(tx, url, record)
        audited.before = await stateOf(tx, audited.record)
        return Object.assign(audited, { transaction })
      } catch (error) {
        await transaction.rollBack()
        throw error
      }
    }

    const by = (request: FastifyRequest) => {
      const { actor, actorName, role } = actorOf(request)
      return { actor, actorName, role, action, requestId: request.id }
    }

    const effectOf = ({ body }: FastifyRequest, data: object | null) =>
      route.config?.auditRequest
        ? { request: route.config.auditRequest(body as never), ...data }
        : data

    /** Rolls a failed write back, or ends its note. */
    const endFailed = async (
      { transaction, record, before, noteId, isPartial }: Audited,
      request: FastifyRequest,
      statusCode: number,
    ): Promise<void> => {
      await transaction?.rollBack()
      if (noteId === undefined) return
      // After a server error, a part of the write may be done: its note becomes an entry later. The verb knows it after
      // an error of the carrier.
      if (statusCode >= 500 && statusCode !== ERROR_TYPES.provider_error) {
        abandonAudit(noteId)
        return
      }
      const after = effectOf(request, { interrupted: true })
      const entry = { ...by(request), record: record?.name ?? null, before, after }
      await endAudit(ctx, noteId, isPartial ? entry : undefined)
    }

    /** The entry of a write that has succeeded, or has at least reported its effect. */
    const entryOf = async (
      tx: Context,
      { record, before }: Audited,
      request: FastifyRequest,
      statusCode: number,
      payload: unknown,
    ): Promise<NewAuditEntry> => {
      const data = dataOf(payload)
      // An invitation creates a member, although its status is 202: its e-mail is still to be sent.
      const isNew = statusCode === 201 || url.endsWith('/invitations')
      const created = isNew && data && 'id' in data ? (data as State) : undefined
      const state = created ?? (record ? await stateOf(tx, record) : data)
      const also = route.config?.auditAlso?.(request.body as never)
      const after = mode === 'without state' ? null : state && { ...state, ...also }
      if (created) return { ...by(request), record: nameOfNew(url, created), before: null, after }
      const name = record?.name ?? null
      if (!before || !after) return { ...by(request), record: name, before, after }
      // Without a parameter, a path of the dashboard is about the account, but can change others, such as listings.
      const namesRecord = url.includes('/:') && !route.config?.auditRequest
      const elsewhere = namesRecord ? null : effectOf(request, data)
      const changes = differences(before, after) ?? { before: {}, after: elsewhere ?? {} }
      return { ...by(request), record: name, ...changes }
    }

    /** Writes the entry and commits, before the response is sent. */
    const end = async (
      audited: Audited,
      request: FastifyRequest,
      { statusCode }: FastifyReply,
      payload: unknown,
    ): Promise<void> => {
      const { transaction, noteId, isRecorded } = audited
      if (isRecorded) return
      const isRefused = statusCode >= 400
      // The response to an import that broke off has the numbers of saved records in addition to the error.
      const hasReport = isRefused && noteId !== undefined && hasData(payload)
      if (isRefused && !hasReport) return endFailed(audited, request, statusCode)
      if (!transaction?.isRepeated) {
        const tx = transaction?.tx ?? ctx
        try {
          const entry = await entryOf(tx, audited, request, statusCode, payload)
          await (noteId === undefined ? recordAudit(tx, entry) : endAudit(ctx, noteId, entry))
        } catch (error) {
          await transaction?.rollBack()
          throw error
        }
      }
      await transaction?.commit()
    }

    const before = (request: FastifyRequest, _reply: FastifyReply, done: (e?: Error) => void) => {
      begin(request)
        .then((audited) => {
          request.audited = audited
          if (audited.transaction) withinRequest(audited.transaction, done)
          else done()
        })
        .catch(done)
    }
    const after = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
      const { audited } = request
      // If the commit fails, its error response passes through this hook as well.
      request.audited = undefined
      if (audited) await end(audited, request, reply, payload)
      return payload
    }
    const { handler } = route
    if (mode === 'begun and ended') {
      route.handler = async function (request, reply) {
        try {
          return await handler.call(this, request, reply)
        } catch (error) {
          request.audited!.isPartial = error instanceof ApiError && error.isPartial
          throw error
        }
      }
    }
    route.preHandler = [route.preHandler ?? [], before].flat()
    route.onSend = [after, route.onSend ?? []].flat()
  }

/** The record's current state; null without one. */
async function stateOf(ctx: Context, record: RecordRef | null): Promise<object | null> {
  if (!record) return null
  try {
    return await readRecord(ctx, record)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

/** The object that a response contains; a list stays in its envelope, because a state is an object. */
function dataOf(payload: unknown): object | null {
  if (typeof payload !== 'string' || payload === '') return null
  const body = JSON.parse(payload)
  const data: unknown = body?.data === undefined || Array.isArray(body.data) ? body : body.data
  return typeof data === 'object' ? data : null
}

/** Whether a response has `data`. The error page for a browser is no JSON. */
const hasData = (payload: unknown): boolean =>
  typeof payload === 'string' && payload.startsWith('{') && 'data' in JSON.parse(payload)

/** The name of a record that was created by `POST /accounts` or `POST /accounts/{id}/keys`. */
const nameOfNew = (url: string, { id }: State) =>
  `${kindOf(url.slice(url.lastIndexOf('/') + 1))}:${id}`

type Entered<Item> = { item: Item; entryOf: (result: unknown) => NewAuditEntry }
// biome-ignore lint/suspicious/noExplicitAny: each work is mapped to the same one with entries
type Work = SharedWork<Context, any, any>
const audited = new WeakMap<Work, Work>()

/** Shares transactions like `ctx.share`, and writes the entries of each one's successful items with one statement. */
const sharedWith =
  (ctx: Context, entryOf: Entered<unknown>['entryOf']): Share<Context> =>
  (work, item) => {
    let withEntries = audited.get(work)
    if (!withEntries) {
      withEntries = async (tx, items: Entered<typeof item>[], waits) => {
        const inner = items.map(({ item }) => item)
        const outcomes = await work(tx, inner, waits)
        const entries = outcomes.flatMap((outcome, index) =>
          typeof outcome === 'object' && 'result' in outcome
            ? [items[index]!.entryOf(outcome.result)]
            : [],
        )
        await recordAudits(tx, entries)
        return outcomes
      }
      audited.set(work, withEntries)
    }
    return ctx.share(withEntries, { item, entryOf })
  }

/** The fields of two states that differ; undefined if none do. */
function differences(before: object, after: object): { before: object; after: object } | undefined {
  const names = Object.keys({ ...before, ...after }).filter(
    (name) => JSON.stringify(before[name as never]) !== JSON.stringify(after[name as never]),
  )
  const only = (state: object) =>
    Object.fromEntries(Object.entries(state).filter(([name]) => names.includes(name)))
  return names.length === 0 ? undefined : { before: only(before), after: only(after) }
}
