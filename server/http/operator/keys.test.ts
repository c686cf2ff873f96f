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
  it('makes a key of the documented form and shows it this once', async () => {
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

  it('counts a repeated scope once, and needs no name', async () => {
    const { body } = await create({ scopes: ['orders:read', 'orders:read'] })
    expect(body.data).toMatchObject({ scopes: ['orders:read'], name: null })
  })

  it.each([
    ['no scopes', {}, 'scopes'],
    ['an empty list of scopes', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['catalog:read', 'everything'] }, 'scopes.1'],
  ])('refuses %s with 422', async (_, payload, field) => {
    const { status, body } = await create(payload)
    expect(status).toBe(422)
    expect(Object.keys(body.error.fields)).toEqual([field])
  })

  it('answers 404 for an account that is not there', async () => {
    const payload = { scopes: ['catalog:read'] }
    const answer = await app.operator.post('/operator/v1/accounts/999999/keys', { payload })
    expect(answer.status).toBe(404)
  })
})

describe('GET /operator/v1/accounts/{id}/keys', () => {
  it('lists all keys, oldest first, revoked ones among them, without pages', async () => {
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
  it('keeps the key’s number, name and scopes, and changes prefix and secret', async () => {
    const { body: made } = await create({ scopes: ['orders:read'], name: 'Desk' })
    const { status, body } = await app.operator.post(`${keys}/${made.data.id}/rotate`)
    expect(status).toBe(200)
    expect(body.data).toMatchObject({ id: made.data.id, name: 'Desk', scopes: ['orders:read'] })
    expect(body.key).not.toBe(made.key)
    expect(body.data.prefix).toBe(body.key.slice(0, 13))
  })

  it('refuses to rotate a revoked key with 409; revoking it again changes nothing', async () => {
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

  it('answers 404 for another account’s key', async () => {
    const { keyId } = await app.seller()
    expect((await app.operator.post(`${keys}/${keyId}/rotate`)).status).toBe(404)
    expect((await app.operator.delete(`${keys}/${keyId}`)).status).toBe(404)
    expect((await app.operator.delete(`${keys}/x`)).status).toBe(404)
  })
})
