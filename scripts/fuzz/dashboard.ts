import Fastify from 'fastify'
import type { TSchema } from 'typebox'
import { published } from '../../server/http/mcp/published-schema.ts'
import { dashboardApis } from '../../server/routes.ts'
import type { Service } from '../../server/service.ts'
import { mismatchesOf } from '../../server/test/described-responses.ts'
import type { Operation, Parameter, Schema } from './operations.ts'

/** The shop of a member, and the cookie of their session. */
export type Member = { accountId: number; cookie: string }

/** The operations of the dashboard's API, read from its routes, because it has no published description. */
export async function dashboardOperations(): Promise<Operation[]> {
  const operations: Operation[] = []
  // The routes are declared, never called.
  const app = Fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  app.addHook('onRoute', ({ method, url, schema }) => {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    const { body, params, querystring, headers } = (schema ?? {}) as Record<string, Schema>
    const mismatches = new Map(
      Object.entries(schema?.response ?? {}).map(([status, response]) => [
        Number(status),
        mismatchesOf(published(response as TSchema)),
      ]),
    )
    operations.push({
      id: `${method} ${path}`,
      credential: 'member',
      method: String(method),
      path,
      parameters: [
        ...parametersOf(params, 'path'),
        ...parametersOf(querystring, 'query'),
        ...parametersOf(headers, 'header'),
      ],
      ...(body && {
        body: { type: 'application/json', schema: body, isRequired: true, example: undefined },
      }),
      mismatch: (status, body) => mismatches.get(status)?.('#', body) ?? null,
    })
  })
  const ctx = { config: {} } as Service
  app.register(
    async (dashboard) => {
      for (const addRoutes of Object.values(dashboardApis)) {
        dashboard.register(async (app) => addRoutes(app, ctx))
      }
    },
    { prefix: '/dashboard/api' },
  )
  await app.ready()
  await app.close()
  return operations
}

const parametersOf = (schema: Schema | undefined, location: Parameter['in']): Parameter[] =>
  Object.entries(schema?.properties ?? {}).map(([name, inner]) => ({
    name,
    in: location,
    schema: inner,
    isRequired: schema?.required?.includes(name) ?? false,
  }))

export const PASSWORD = 'a password for the fuzzer alone'

/** Gives a shop a member with a password, and signs in. */
export async function signIn(url: string, token: string, accountId: number): Promise<Member> {
  const account = `${url}/operator/v1/accounts/${accountId}`
  const changed = await fetch(account, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ password: PASSWORD }),
  })
  const { data } = (await changed.json()) as { data: { email: string } }
  const response = await fetch(`${url}/signin`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: url },
    body: new URLSearchParams({ email: data.email, password: PASSWORD }),
  })
  const cookie = response.headers.get('set-cookie')?.split(';')[0]
  if (!cookie) throw new Error(`The member of account ${accountId} could not sign in.`)
  return { accountId, cookie }
}
