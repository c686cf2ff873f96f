import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Follows a server's connections, to end them gently once it closes: each as soon as nothing is under way on it.
 * Left to itself Node would wait for connections that never ask for anything and for those it kept alive
 * after their last answer, and cut off answers that a slow client is still reading.
 *
 * @returns what begins the end
 */
export function followConnections(server: Server): () => void {
  /** Each open connection, with its answers that aren't out of our hands yet. */
  const connections = new Map<Socket, Set<ServerResponse>>()
  let ending = false

  const endIfIdle = (socket: Socket) => {
    if (connections.get(socket)?.size === 0) socket.destroySoon()
  }

  server.on('connection', (socket) => {
    connections.set(socket, new Set())
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    connections.get(socket)?.add(response)
    response.once('close', () => {
      connections.get(socket)?.delete(response)
      if (ending) endIfIdle(socket)
    })
  })
  // Called when the server closes. What it takes for idle may have bytes of an answer left to send.
  server.closeIdleConnections = () => {}

  return () => {
    ending = true
    for (const [socket, answers] of connections) {
      for (const answer of answers) {
        if (!answer.headersSent) answer.setHeader('connection', 'close')
      }
      endIfIdle(socket)
    }
  }
}
