import type { FastifyRequest } from 'fastify'
import { type ApiError, serviceUnavailable, validationError } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { catalogued, envelope } from '../error-handler.ts'
import { isObject } from './message.ts'
import { fits, shortened } from './result-size.ts'
import type { SellerCall, Tool } from './tool.ts'
import type { ToolResult } from './tool-server.ts'

const NO_OBJECT = {
  arguments: [
    'The arguments field must be an object with the fields of the tool’s input, not a text that contains one.',
  ],
}

const OUTCOME_UNKNOWN = 'The change may have been made. Read the record before you repeat the call.'

/**
 * Calls a tool. Every failure is a result as well, with the error envelope (§7) as its text: a model reads it and
 * corrects itself. Never throws.
 */
export async function callTool(
  ctx: Service,
  tool: Tool<never>,
  args: unknown,
  { caller, request }: { caller: SellerCall | undefined; request: FastifyRequest },
): Promise<ToolResult> {
  try {
    if (!isObject(args)) throw validationError(NO_OBJECT)
    let result = await tool.run(ctx, tool.read(args), caller as never)
    let text = JSON.stringify(result)
    if (!fits(text)) {
      result = shortened(result)
      text = JSON.stringify(result)
    }
    const link = tool.linkOf?.(result as never)
    return {
      content: [{ type: 'text', text }, ...(link ? [{ type: 'resource_link', ...link }] : [])],
      structuredContent: result,
    }
  } catch (thrown) {
    const error = catalogued(thrown, request)
    if (error.status === 503 && error.cause && !tool.isIdempotent) {
      return failedCall(serviceUnavailable(OUTCOME_UNKNOWN), request.id)
    }
    // The arguments are not logged: they can contain names and addresses.
    if (error.status === 500) {
      ctx.log.error({ err: thrown, reqId: request.id, tool: tool.name }, 'tool call failed')
    }
    return failedCall(error, request.id)
  }
}

/** The result of a call that failed. */
export function failedCall(error: ApiError, requestId: string): ToolResult {
  const { error: shown } = envelope(error)
  const message = error.status === 500 ? `${shown.message} Request: ${requestId}.` : shown.message
  return {
    content: [{ type: 'text', text: JSON.stringify({ error: { ...shown, message } }) }],
    isError: true,
  }
}
