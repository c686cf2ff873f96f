import Type from 'typebox'
import { limitProblem } from '../body.ts'
import { parseJson } from '../parse-json.ts'
import { messagesOf } from '../validate.ts'

export type Message = Record<string, unknown>

/** A response, whose body is JSON or empty. */
export type MessageResponse = { status: number; body: string }

/** Codes of JSON-RPC errors. */
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602

/** Characters of an id, which every response repeats. */
const MAX_ID_LENGTH = 255

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Parses the body of a request: one JSON-RPC message. */
export function readMessage(
  body: Buffer | undefined,
): { message: Message } | { refusal: MessageResponse } {
  if (!body?.length) return { refusal: failure(400, PARSE_ERROR, 'The body is empty.') }
  const problem = limitProblem(body)
  if (problem) return { refusal: failure(400, INVALID_REQUEST, problem) }
  let value: unknown
  try {
    value = parseJson(utf8.decode(body))
  } catch {
    return { refusal: failure(400, PARSE_ERROR, 'The body is not valid JSON.') }
  }
  if (Array.isArray(value)) {
    return { refusal: failure(400, INVALID_REQUEST, 'Send one message at a time, not a batch.') }
  }
  if (typeof value !== 'object' || value === null) {
    return { refusal: failure(400, INVALID_REQUEST, 'The body must be a JSON-RPC message.') }
  }
  const { id } = value as Message
  if (typeof id === 'string' && id.length > MAX_ID_LENGTH) {
    const tooLong = `The id must not be longer than ${MAX_ID_LENGTH} characters.`
    return { refusal: failure(400, INVALID_REQUEST, tooLong) }
  }
  return { message: value as Message }
}

/** The response to a message that fails as a whole. */
export function failure(
  status: number,
  code: number,
  message: string,
  { id, data }: { id?: unknown; data?: object } = {},
): MessageResponse {
  const known = typeof id === 'string' || typeof id === 'number' ? id : null
  const error = { code, message, data }
  return { status, body: JSON.stringify({ jsonrpc: '2.0', error, id: known }) }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Text of a request as a message quotes it. */
export const quoted = (text: string) => JSON.stringify(text.slice(0, 64))

/** Checks of methods for which the library would report a wrong parameter as a failure of the service. */
const PARAMS: Record<string, (params: unknown) => Record<string, string[]>> = {
  initialize: messagesOf(
    Type.Object({
      protocolVersion: Type.String(),
      capabilities: Type.Object({}),
      clientInfo: Type.Object({ name: Type.String(), version: Type.String() }),
    }),
  ),
  'tools/call': messagesOf(Type.Object({ name: Type.String() })),
  'resources/read': messagesOf(Type.Object({ uri: Type.String() })),
  'prompts/get': messagesOf(
    Type.Object({
      name: Type.String(),
      arguments: Type.Optional(Type.Record(Type.String(), Type.String())),
    }),
  ),
}

/** The response to a request whose parameters are wrong; undefined for valid ones. A notification gets none. */
export function refuseParams({ method, params, id }: Message): MessageResponse | undefined {
  if (id === undefined) return undefined
  if (params !== undefined && !isObject(params)) {
    return failure(200, INVALID_PARAMS, 'params must be an object.', { id })
  }
  const check = Object.hasOwn(PARAMS, String(method)) ? PARAMS[String(method)] : undefined
  const [problem] = Object.entries(check?.(params ?? {}) ?? {})
  if (!problem) return undefined
  const [field, [message]] = problem
  return failure(200, INVALID_PARAMS, `params.${field}: ${message}`, { id })
}

/** The name of the tool that a message calls; undefined if it calls none. */
export function calledTool({ method, params }: Message): string | undefined {
  const { name } = (params ?? {}) as { name?: unknown }
  return method === 'tools/call' && typeof name === 'string' ? name : undefined
}
