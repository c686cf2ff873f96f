import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A connection that is new when the end begins gets this long to ask for something. */
const FIRST_REQUEST_MS = 500

type Open = { asked: boolean; answers: Set<ServerResponse> }

/**
 * Follows a server's connections, to end them gently once it closes: each as soon as nothing is under way on it.
 * Left to itself Node would wait for connections that never ask for anything and for those it kept alive
 * after their last answer, and cut off answers that a slow client is still reading.
 *
 * @returns what begins the end
 */
export function followConnections(server: Server): () => void {
  const connections = new Map<Socket, Open>()
  let ending = false

  const endIfIdle = (socket: Socket) => {
    if (connections.get(socket)?.answers.size === 0) socket.destroySoon()
  }

  server.on('connection', (socket) => {
    connections.set(socket, { asked: false, answers: new Set() })
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    const connection = connections.get(socket)
    if (!connection) return
    connection.asked = true
    connection.answers.add(response)
    // Not before the last byte of the answer is out of our hands.
    response.once('close', () => {
      connection.answers.delete(response)
      if (ending) endIfIdle(socket)
    })
  })
  // Called when the server closes. What it takes for idle may have bytes of an answer left to send.
  server.closeIdleConnections = () => {}

  return () => {
    ending = true
    for (const [socket, { asked, answers }] of connections) {
      for (const answer of answers) {
        if (!answer.headersSent) answer.setHeader('connection', 'close')
      }
      if (asked) endIfIdle(socket)
    }
    setTimeout(() => {
      for (const socket of connections.keys()) endIfIdle(socket)
    }, FIRST_REQUEST_MS).unref()
  }
}
