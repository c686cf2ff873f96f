import { beforeAll, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import { form } from '../../test/fixtures/members.ts'
import { requireRole } from './permissions.ts'

// biome-ignore lint/suspicious/noExplicitAny: a whole OpenAPI document, walked freely
type Document = any
type Operation = { id: string; method: keyof Client; url: string; roles: string[] }

const ROLES = ['admin', 'support', 'finance', 'catalog'] as const

let app: TestApp
const operations: Operation[] = []
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture' })
  const { paths }: Document = (await app.anyone.get('/operator/openapi.json')).body
  for (const [path, methods] of Object.entries<Document>(paths)) {
    for (const [method, { operationId, description }] of Object.entries<Document>(methods)) {
      operations.push({
        id: operationId,
        method: method as keyof Client,
        url: `/operator/v1${path.replaceAll(/\{\w+\}/g, '999999')}`,
        roles: [...(/Roles: (.*)\.$/.exec(description)?.[1] ?? '').matchAll(/\w+/g)].map(String),
      })
    }
  }
})

const hire = async (role: string) => {
  const { status, body } = await app.operator.post('/operator/v1/staff', {
    payload: { name: `The ${role}`, role },
  })
  expect(status).toBe(201)
  return { ...app.withKey(body.token), id: body.data.id as number, token: body.token as string }
}

/** The operations that a role may call, by asking each of them about a record that doesn't exist. */
async function allowedTo(client: Client): Promise<string[]> {
  const allowed: string[] = []
  for (const { id, method, url, roles } of operations) {
    const { status, body } = await client[method](url)
    expect(status, id).not.toBe(401)
    if (status !== 403) allowed.push(id)
    else {
      const needed = roles.length === 1 ? 'the role admin' : `one of the roles ${roles.join(', ')}`
      expect(body.error, id).toMatchObject({
        type: 'authorization_error',
        message: expect.stringContaining(`This needs ${needed}; yours is `),
      })
    }
  }
  return allowed
}

it('each role may call exactly the operations whose description names it', async () => {
  const all = operations.map(({ id }) => id)
  const allowed = new Map<string, string[]>()
  for (const role of ROLES) {
    allowed.set(role, await allowedTo(await hire(role)))
    expect(allowed.get(role), role).toEqual(
      operations.filter(({ roles }) => roles.includes(role)).map(({ id }) => id),
    )
  }
  expect(allowed.get('admin')).toEqual(all)
  expect(await allowedTo(app.operator)).toEqual(all)
  const writes = (role: string) =>
    operations
      .filter(({ id, method }) => method !== 'get' && allowed.get(role)?.includes(id))
      .map(({ id }) => id)
  expect(writes('support')).toEqual(expect.arrayContaining(['cancelOrder', 'resendDelivery']))
  const others = ['runPayouts', 'verifyPayoutSetup', 'importCatalog', 'createKey', 'addStaff']
  for (const id of [...others, 'deleteEndpoint']) {
    expect(writes('admin')).toContain(id)
    expect(writes('support')).not.toContain(id)
  }
  expect(allowed.get('support')).not.toContain('listMail')
  expect(writes('finance').toSorted()).toEqual([
    'markPayoutFailed',
    'markPayoutPaid',
    'markRunPaid',
    'rejectPayoutSetup',
    'releasePayout',
    'runPayouts',
    'verifyPayoutSetup',
  ])
  expect(allowed.get('finance')).not.toContain('listStaff')
  expect(allowed.get('catalog')).not.toContain('getAccount')
})

it('the audit log shows the state of a record only to the roles that may read such a record', async () => {
  const { accountId } = await app.seller()
  const account = `/operator/v1/accounts/${accountId}`
  const member = await app.member(accountId)
  const endpoint = { url: 'https://receiver.example/?token=t0k3n', events: ['order.created'] }
  await app.operator.patch(account, { payload: { rating: 4.5 } })
  await app.operator.post(`${account}/invitations`, { payload: { email: 'jessie@x.example' } })
  await member.post('/dashboard/api/webhooks', { payload: endpoint })
  await app.operator.post(`${account}/keys`, { payload: { scopes: ['orders:read'] } })
  await app.anyone.post('/signin', form({ email: 'nobody@x.example', password: 'x' }))
  type Entry = { role: string; record: string | null; after: object | null }
  const kindOf = ({ role, record }: Entry) =>
    role === 'anonymous' ? 'failed sign-in' : record?.split(':')[0]
  const kinds = ['account', 'member', 'endpoint', 'key', 'failed sign-in', 'staff']
  const readable = { admin: kinds, support: kinds.slice(0, -1), finance: ['account'] }
  for (const [role, expected] of Object.entries(readable)) {
    const { body } = await (await hire(role)).get('/operator/v1/audit?per_page=100')
    const entries: Entry[] = body.data
    const shown = kinds.filter(
      (kind) => entries.find((entry) => kindOf(entry) === kind)!.after !== null,
    )
    expect(shown, role).toEqual(expected)
  }
})

it('an operation that the table of roles leaves out fails the start', () => {
  const route = { method: 'GET', url: '/everything', schema: { operationId: 'getEverything' } }
  expect(() => requireRole({ ...route, handler: () => '' } as never)).toThrow(
    'GET /everything declares no roles',
  )
})

it('a repeated addition of a staff member has the first token', async () => {
  const payload = { name: 'Once', role: 'support' }
  const headers = { 'idempotency-key': 'one person' }
  const { body } = await app.operator.post('/operator/v1/staff', { payload, headers })
  expect((await app.operator.post('/operator/v1/staff', { payload, headers })).body).toEqual(body)
  const listed = (await app.operator.get('/operator/v1/staff')).body.data as { name: string }[]
  expect(listed.filter(({ name }) => name === 'Once')).toHaveLength(1)
})

it('a staff token is shown once, and works in no process after its revocation', async () => {
  const other = await startTestApp({ databaseUrl: app.databaseUrl })
  const { id, token, ...anna } = await hire('support')
  expect(token).toMatch(/^svc_staff_[A-Za-z0-9]{40}$/)
  expect((await anna.get('/operator/v1/accounts')).status).toBe(200)
  expect((await other.withKey(token).get('/operator/v1/accounts')).status).toBe(200)
  const listed = await app.operator.get('/operator/v1/staff')
  expect(listed.text).not.toContain(token)
  expect(listed.body.data.at(-1)).toMatchObject({
    id,
    name: 'The support',
    role: 'support',
    last_used_at: expect.any(String),
    revoked_at: null,
  })

  expect((await app.operator.delete(`/operator/v1/staff/${id}`)).status).toBe(204)
  for (const client of [anna, other.withKey(token)]) {
    expect((await client.get('/operator/v1/accounts')).status).toBe(401)
  }
  const { data } = (await app.operator.get('/operator/v1/staff')).body
  expect(data.at(-1)).toMatchObject({ id, revoked_at: expect.any(String) })
  expect((await app.operator.delete('/operator/v1/staff/999999')).status).toBe(404)
})

it('metrics need the operator token, because programs read them and staff do not', async () => {
  const { token } = await hire('admin')
  expect((await app.withKey(token).get('/metrics')).status).toBe(401)
  expect((await app.operator.get('/metrics')).status).toBe(200)
})
