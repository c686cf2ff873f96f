import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'

let app: TestApp
let keys: string
beforeAll(async () => {
  app = await startTestApp()
  const { accountId } = await app.seller()
  keys = `/operator/v1/accounts/${accountId}/keys`
})

const create = (payload: object) => app.operator.post(keys, { payload })

describe('POST /operator/v1/accounts/{id}/keys', () => {
  it('POST /operator/v1/accounts/{id}/keys creates a key of the documented format and shows it once', async () => {
    const { status, body } = await create({ scopes: ['catalog:read'], name: 'Till' })
    expect(status).toBe(201)
    expect(body).toEqual({
      data: {
        id: expect.any(Number),
        name: 'Till',
        prefix: body.key.slice(0, 13),
        scopes: ['catalog:read'],
        created_at: expect.any(String),
        last_used_at: null,
        revoked_at: null,
      },
      key: expect.stringMatching(/^svc_live_[A-Za-z0-9]{40}$/),
    })
    expect((await app.operator.get(keys)).text).not.toContain(body.key)
  })

  it('POST /operator/v1/accounts/{id}/keys drops repeated scopes and needs no name', async () => {
    const { body } = await create({ scopes: ['orders:read', 'orders:read'] })
    expect(body.data).toMatchObject({ scopes: ['orders:read'], name: null })
  })

  it.each([
    ['no scopes', {}, 'scopes'],
    ['an empty list of scopes', { scopes: [] }, 'scopes'],
    ['a name of blanks', { scopes: ['catalog:read'], name: ' ' }, 'name'],
    ['an invisible name', { scopes: ['catalog:read'], name: '\u2060' }, 'name'],
    ['a name of two lines', { scopes: ['catalog:read'], name: 'A\n\nB' }, 'name'],
    ['an unknown scope', { scopes: ['catalog:read', 'everything'] }, 'scopes.1'],
  ])('POST /operator/v1/accounts/{id}/keys gets a 422 for %s', async (_, payload, field) => {
    const { status, body } = await create(payload)
    expect(status).toBe(422)
    expect(Object.keys(body.error.fields)).toEqual([field])
  })

  it('POST /operator/v1/accounts/{id}/keys returns 404 for an unknown account', async () => {
    const payload = { scopes: ['catalog:read'] }
    const { status } = await app.operator.post('/operator/v1/accounts/999999/keys', { payload })
    expect(status).toBe(404)
  })
})

it('a repeated creation and rotation of a key have their first responses', async () => {
  const headers = { 'idempotency-key': 'one dialog of the console' }
  const payload = { scopes: ['catalog:read'], name: 'Once' }
  const created = await app.operator.post(keys, { payload, headers })
  expect((await app.operator.post(keys, { payload, headers })).body).toEqual(created.body)
  const rotation = `${keys}/${created.body.data.id}/rotate`
  const rotated = await app.operator.post(rotation, { headers })
  expect((await app.operator.post(rotation, { headers })).body).toEqual(rotated.body)
  expect((await app.withKey(created.body.key).get('/v1/me')).status).toBe(200)
})

describe('GET /operator/v1/accounts/{id}/keys', () => {
  it('GET /operator/v1/accounts/{id}/keys lists all keys, oldest first, including revoked ones', async () => {
    const { body } = await create({ scopes: ['catalog:read'] })
    await app.operator.delete(`${keys}/${body.data.id}`)
    const listed = (await app.operator.get(keys)).body
    expect(Object.keys(listed)).toEqual(['data'])
    const ids = listed.data.map(({ id }: { id: number }) => id)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    expect(listed.data.at(-1)).toMatchObject({
      id: body.data.id,
      revoked_at: expect.stringMatching(/Z$/),
    })
  })
})

describe('rotating and revoking', () => {
  it('rotating a key keeps its id, name and scopes and changes prefix and secret', async () => {
    const { body: made } = await create({ scopes: ['orders:read'], name: 'Desk' })
    const { status, body } = await app.operator.post(`${keys}/${made.data.id}/rotate`)
    expect(status).toBe(200)
    expect(body.data).toMatchObject({ id: made.data.id, name: 'Desk', scopes: ['orders:read'] })
    expect(body.key).not.toBe(made.key)
    expect(body.data.prefix).toBe(body.key.slice(0, 13))
  })

  it('rotating a revoked key gets a 409; revoking it again changes nothing', async () => {
    const { body } = await create({ scopes: ['orders:read'] })
    const key = `${keys}/${body.data.id}`
    expect((await app.operator.delete(key)).status).toBe(204)
    const revokedAt = async () => {
      const [row] = await app.ctx.db`select revoked_at from api_keys where id = ${body.data.id}`
      return row?.revoked_at
    }
    const first = await revokedAt()
    const refused = await app.operator.post(`${key}/rotate`)
    expect(refused.status).toBe(409)
    expect(refused.body.error.type).toBe('conflict')
    expect((await app.operator.delete(key)).status).toBe(204)
    expect(await revokedAt()).toEqual(first)
  })

  it('rotating or revoking another account’s key returns 404', async () => {
    const { keyId } = await app.seller()
    expect((await app.operator.post(`${keys}/${keyId}/rotate`)).status).toBe(404)
    expect((await app.operator.delete(`${keys}/${keyId}`)).status).toBe(404)
    expect((await app.operator.delete(`${keys}/x`)).status).toBe(404)
  })
})
