import { readFileSync } from 'node:fs'
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import { failure, isObject, type Message, type MessageResponse, quoted } from './message.ts'
import type { Tool } from './tool.ts'

/**
 * A tool server of the Model Context Protocol. This file alone knows the library. Both eras of the protocol are served
 * without sessions: each request gets a server object of its own, which only refers to what is made once per process.
 */

/** A document that a program can read. */
export type Document = {
  uri: string
  name: string
  title: string
  description: string
  mimeType: string
  read(): string | Promise<string>
}

/** A text that a program offers its user as a start. */
export type Prompt = {
  name: string
  title: string
  description: string
  arguments: { name: string; description: string; required: boolean }[]
  write(args: Record<string, string>): string
}

export type ToolServer = {
  name: string
  title: string
  /** Five sentences for the model. */
  instructions: string
  tools: Tool<never>[]
  resources: Document[]
  prompts: Prompt[]
}

/** The result of a tool. */
export type ToolResult = {
  content: object[]
  structuredContent?: object
  isError?: boolean
}

/** Calls a tool for the client of one request. Never throws. */
export type CallTool = (tool: Tool<never>, args: unknown) => Promise<ToolResult>

/** The library serves this revision, but its list has only the earlier ones. */
const CURRENT_REVISION = '2026-07-28'
const REVISIONS = [CURRENT_REVISION, ...SUPPORTED_PROTOCOL_VERSIONS]

/** Room for a pasted list of a thousand lines, in characters. */
const MAX_PROMPT_ARGUMENT = 20_000

const LIST_TTL_MS = 3_600_000
const DOCUMENT_TTL_MS = 300_000

const { version } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { version: string }

/** Without this option, the library makes one for each server object. It is never used: tool.ts validates. */
const jsonSchemaValidator = new AjvJsonSchemaValidator()

/** The library's type of an authenticated request, used to pass our own function through the library. */
type Passed = { token: string; clientId: string; scopes: string[]; extra: { callTool: CallTool } }

const passed = (callTool: CallTool): Passed => ({
  token: '',
  clientId: '',
  scopes: [],
  extra: { callTool },
})

/** The parts of a request with a parsed body that the library reads. */
export type ProtocolRequest = {
  method: 'POST'
  /** @param name in lower case */
  headers: { get(name: string): string | null }
}

export type OpenToolServer = {
  /**
   * Whether this server knows the method of a message. A message without a method is a response, which is accepted, as is
   * every notification. A notification has no id: one with an id would be a request.
   */
  knows(message: Message): boolean
  toolNamed(name: string): Tool<never> | undefined
  serve(request: ProtocolRequest, message: Message, callTool: CallTool): Promise<MessageResponse>
}

/** Creates a tool server. Its lists and schemas are made once and shared by all requests. */
export function openToolServer(definition: ToolServer): OpenToolServer {
  const { tools, resources, prompts } = definition
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const toolList = { tools: tools.map(({ listed }) => listed) }
  const resourceList = { resources: resources.map(({ read, ...listed }) => listed) }
  const promptList = { prompts: prompts.map(({ write, ...listed }) => listed) }
  const info = { name: definition.name, title: definition.title, version }
  const cached = (ttlMs: number) => ({ ttlMs, cacheScope: 'public' as const })
  const options = {
    instructions: definition.instructions,
    capabilities: {
      tools: {},
      ...(resources.length > 0 ? { resources: {} } : {}),
      ...(prompts.length > 0 ? { prompts: {} } : {}),
    },
    cacheHints: {
      'tools/list': cached(LIST_TTL_MS),
      'resources/list': cached(LIST_TTL_MS),
      'resources/templates/list': cached(LIST_TTL_MS),
      'prompts/list': cached(LIST_TTL_MS),
      'resources/read': cached(DOCUMENT_TTL_MS),
      'server/discover': cached(LIST_TTL_MS),
    },
    jsonSchemaValidator,
  }

  const makeServer = ({ authInfo }: { authInfo?: unknown }) => {
    const { callTool } = (authInfo as Passed).extra
    const server = new OneExchange(info, options)
    server.setRequestHandler('tools/list', () => toolList as never)
    server.setRequestHandler('tools/call', ({ params }) => {
      const tool = byName.get(params.name)
      if (!tool) throw unknownName('tool', params.name)
      return callTool(tool, params.arguments ?? {}) as never
    })
    if (resources.length > 0) {
      server.setRequestHandler('resources/list', () => resourceList)
      server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }))
      server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
        const document = resources.find((resource) => resource.uri === uri)
        if (!document) throw unknownName('resource', uri)
        const { mimeType } = document
        return { contents: [{ uri, mimeType, text: await document.read() }] }
      })
    }
    if (prompts.length > 0) {
      server.setRequestHandler('prompts/list', () => promptList)
      server.setRequestHandler('prompts/get', ({ params }) => {
        const prompt = prompts.find(({ name }) => name === params.name)
        if (!prompt) throw unknownName('prompt', params.name)
        const given = params.arguments ?? {}
        const missing = prompt.arguments.find(({ name, required }) => required && !given[name])
        if (missing) {
          throw new ProtocolError(
            ProtocolErrorCode.InvalidParams,
            `The prompt needs ${missing.name}.`,
          )
        }
        for (const [name, value] of Object.entries(given)) {
          if (value.length <= MAX_PROMPT_ARGUMENT) continue
          throw new ProtocolError(
            ProtocolErrorCode.InvalidParams,
            `${quoted(name)} must not be longer than ${MAX_PROMPT_ARGUMENT} characters.`,
          )
        }
        const text = prompt.write(given)
        return {
          description: prompt.description,
          messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
        }
      })
    }
    return server
  }

  const current = createMcpHandler(makeServer, { legacy: 'reject', keepAliveMs: 0 })

  const methods = new Set([
    ...['initialize', 'ping', 'server/discover', 'tools/list', 'tools/call'],
    ...(resources.length > 0
      ? ['resources/list', 'resources/templates/list', 'resources/read']
      : []),
    ...(prompts.length > 0 ? ['prompts/list', 'prompts/get'] : []),
  ])

  return {
    // Nothing here ever changes while a client waits, so there are no subscriptions: an open stream would only occupy a
    // connection.
    knows: ({ id, method }) =>
      typeof method !== 'string' ||
      methods.has(method) ||
      (id === undefined && method.startsWith('notifications/')),

    toolNamed: (name) => byName.get(name),

    async serve(given, sent, call) {
      const request = given as Request
      const { message, callTool } = withObjectArguments(sent, call)
      const authInfo = passed(callTool)
      const isEarlier = await isLegacyRequest(request, message)
      const revision = request.headers.get('mcp-protocol-version')
      const isKnown = !revision || REVISIONS.includes(revision)
      // The library looks for an unknown revision in the body only.
      if (!isKnown && (isEarlier || !namesRevision(message))) {
        return unknownRevision(message, revision)
      }
      const response = isEarlier
        ? await serveEarlier(makeServer({ authInfo }), request, message)
        : await current.fetch(request, { authInfo, parsedBody: message })
      return { status: response.status, body: await response.text() }
    },
  }
}

/**
 * The library refuses arguments that are not an object with the report of its own validator, which a model can't read. It
 * gets none instead, and the tool gets the arguments as they were sent.
 */
function withObjectArguments(
  message: Message,
  callTool: CallTool,
): { message: Message; callTool: CallTool } {
  const params = message.params as Record<string, unknown> | undefined
  const args = params?.arguments
  if (message.method !== 'tools/call' || args === undefined || isObject(args)) {
    return { message, callTool }
  }
  return {
    message: { ...message, params: { ...params, arguments: {} } },
    callTool: (tool) => callTool(tool, args),
  }
}

/** Serves a message of a revision up to 2025-11-25. The library's own function always streams its responses. */
async function serveEarlier(server: Server, request: Request, message: Message): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  return transport.handleRequest(request, { parsedBody: message })
}

type Handler = ReturnType<Server['_wrapHandler']>

/**
 * A server for one message. When its connection closes, the response is complete, so there is nothing to cancel. The
 * library's own cleanup would create an error with a stack, which costs a tenth of a call.
 */
class OneExchange extends Server {
  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport)
    transport.onclose = () => this.onclose?.()
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, handler)
    return async (request, ctx) => {
      try {
        return await wrapped(request, ctx)
      } catch (error) {
        throw refusalOfParams(error) ?? error
      }
    }
  }
}

/** The error for parameters that the library refuses with the report of its validator, as an internal error. */
function refusalOfParams(error: unknown): ProtocolError | undefined {
  if (!(error instanceof Error)) return undefined
  let report: unknown
  try {
    report = JSON.parse(error.message.slice(error.message.indexOf('[')))
  } catch {
    return undefined
  }
  if (!Array.isArray(report)) return undefined
  const [problem] = report as { path?: (string | number)[]; message: string }[]
  if (!problem?.path) return undefined
  const field = problem.path.join('.').slice(0, 150)
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `${field}: ${problem.message}.`)
}

function namesRevision({ params }: Message): boolean {
  const { _meta: meta } = (params ?? {}) as { _meta?: Record<string, unknown> | null }
  return meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined
}

/** The same response as the library's to an unknown revision in the body. */
const unknownRevision = (message: Message, requested: string): MessageResponse =>
  failure(400, ProtocolErrorCode.UnsupportedProtocolVersion, 'Unsupported protocol version', {
    id: message.id,
    data: { supported: REVISIONS, requested },
  })

const unknownName = (kind: string, name: string) =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no ${kind} ${quoted(name)}.`)
