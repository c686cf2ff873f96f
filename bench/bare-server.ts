import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A bare Node server that returns the given headers and bytes for each path. Runs in its own process. */
export type BareResponses = Map<string, { headers: string[]; body: Buffer }>

process.once('message', (responses: BareResponses) => {
  const server = createServer((request, response) => {
    const { headers, body } = responses.get(request.url!)!
    response.writeHead(200, headers)
    response.end(body)
  })
  // The same value as in the service, so that both send the same Keep-Alive header.
  server.keepAliveTimeout = 72_000
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
})
