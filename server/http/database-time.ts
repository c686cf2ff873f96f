import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Budget, newBudget, withBudget } from '../database/budget.ts'
import { WRITE_LIMIT_MS } from '../database/connect.ts'

declare module 'fastify' {
  interface FastifyRequest {
    databaseTime: Budget
  }
  interface FastifyContextConfig {
    /** A long request, such as a stream: its statements have a time limit each, but no common one. */
    isLong?: boolean
  }
}

/** Limits the time that a request waits for the database to 10 s in total, then responds with 503. */
export function limitDatabaseTime(app: FastifyInstance): void {
  app.decorateRequest('databaseTime')
  app.addHook('onRequest', (request, reply, done) => {
    const budget = newBudget(WRITE_LIMIT_MS)
    request.databaseTime = budget
    budget.isOver = request.routeOptions.config.isLong ?? false
    reply.raw.once('close', () => {
      budget.isOver = true
      // If the client has gone, its request goes on.
      if (reply.raw.writableFinished) budget.accountId = undefined
    })
    withBudget(budget, done)
  })
  // Reading a body loses the asynchronous context, because the socket calls the code that follows.
  app.addHook('preValidation', (request, _reply, done) => withBudget(request.databaseTime, done))
}

/** Counts a wait before the request's hooks towards its time for the database. */
export function countEarlierWait({ databaseTime }: FastifyRequest, ms: number): void {
  databaseTime.leftMs -= ms
}
