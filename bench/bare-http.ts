import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A bare Node server that sends the given responses in turn, whatever is requested. Runs in its own process. */
export type BareResponses = { headers: string[]; body: Buffer }[]

process.once('message', (responses: BareResponses) => {
  let sent = 0
  const server = createServer((_request, response) => {
    const { headers, body } = responses[sent++ % responses.length]!
    response.writeHead(200, headers)
    response.end(body)
  })
  // The same value as in the service, so that both send the same Keep-Alive header.
  server.keepAliveTimeout = 72_000
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
})
