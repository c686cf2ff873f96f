/**
 * Node's HTTP server. `import … from 'node:http'` would read every property of the module, among them `WebSocket`, for
 * which Node loads its HTTP client: 10 MB of memory and 40 ms at each start.
 */
export const { createServer, IncomingMessage, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http')
