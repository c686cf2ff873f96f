import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The least that Node can do: answers given bytes by path, with given headers. Runs as a process of its own. */
export type BareAnswers = Map<string, { headers: string[]; body: Buffer }>

process.once('message', (answers: BareAnswers) => {
  const server = createServer((request, response) => {
    const { headers, body } = answers.get(request.url!)!
    response.writeHead(200, headers)
    response.end(body)
  })
  // As the service has it, so that both send the same Keep-Alive header.
  server.keepAliveTimeout = 72_000
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
})
