import type { Service } from '../../service.ts'
import type { App } from '../schema.ts'
import { Data } from '../schema.ts'
import { exampleMe, MeSchema, meJson } from '../shapes/me.ts'

export function meRoutes(app: App, ctx: Service): void {
  app.get(
    '/me',
    {
      config: { scope: null },
      schema: {
        operationId: 'getMe',
        summary: 'Read the account and key in use',
        description: 'Needs no scope: any active key can call this operation.',
        tags: ['Account'],
        response: { 200: Data(MeSchema, 'The account and the key') },
        'x-example': { data: exampleMe },
      },
    },
    ({ caller }) => ({ data: meJson(caller, ctx.config, ctx.now()) }),
  )
}
