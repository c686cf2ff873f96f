import type { FastifyInstance } from 'fastify'
import { type Budget, newBudget, withBudget } from '../database/budget.ts'
import { WRITE_LIMIT_MS } from '../database/connect.ts'

declare module 'fastify' {
  interface FastifyRequest {
    databaseTime: Budget
  }
  interface FastifyContextConfig {
    /** The request goes on for long, as a stream does: each statement has a limit, all of them together have none. */
    isLong?: boolean
  }
}

/** Gives each request 10 s of waiting for the database in total; after that it's answered with 503. */
export function limitDatabaseTime(app: FastifyInstance): void {
  app.decorateRequest('databaseTime')
  app.addHook('onRequest', (request, reply, done) => {
    const budget = newBudget(WRITE_LIMIT_MS)
    request.databaseTime = budget
    budget.isOver = request.routeOptions.config.isLong ?? false
    reply.raw.once('close', () => {
      budget.isOver = true
    })
    withBudget(budget, done)
  })
  // Reading a body loses the asynchronous context: what follows is called by the socket.
  app.addHook('preValidation', (request, _reply, done) => withBudget(request.databaseTime, done))
}
