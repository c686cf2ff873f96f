import type { Service } from '../../service.ts'
import { authorizationHandlers } from './authorize.ts'
import { deviceHandlers } from './device.ts'
import { discoveryHandlers } from './discovery.ts'
import { oauthErrorHandler } from './endpoint.ts'
import { registrationHandlers } from './register.ts'
import { tokenHandlers } from './token.ts'

/** Everything behind the routes. Loaded with the first request of a program (routes.ts). */
export const openHandlers = (ctx: Service) => ({
  ...authorizationHandlers(ctx),
  ...deviceHandlers(ctx),
  ...discoveryHandlers(ctx),
  ...registrationHandlers(ctx),
  ...tokenHandlers(ctx),
  handleError: oauthErrorHandler(ctx.log),
})
