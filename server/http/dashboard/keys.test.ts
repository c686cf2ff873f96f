import { beforeAll, describe, expect, it } from 'vitest'
import { PUBLIC_URL, startTestApp, type TestApp } from '../../test/app.ts'
import { mailsTo } from '../../test/fixtures/members.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

const KEYS = '/dashboard/api/keys'

/** A member, whose shop has one e-mail address of its own. */
async function newMember() {
  const member = await app.member()
  const { body } = await app.operator.get(`/operator/v1/accounts/${member.accountId}`)
  return { ...member, shopEmail: body.data.email as string }
}

describe('the keys of the member’s shop', () => {
  it('a member creates, rotates and revokes a key that works, and the shop gets an e-mail each time', async () => {
    const member = await newMember()
    const payload = { name: 'Till', scopes: ['catalog:read'] }
    const created = await member.post(KEYS, { payload })
    expect(created.status).toBe(201)
    const { id } = created.body.data
    const works = async (key: string) => (await app.withKey(key).get('/v1/me')).status
    expect(await works(created.body.key)).toBe(200)

    const rotated = await member.post(`${KEYS}/${id}/rotate`)
    expect(await works(rotated.body.key)).toBe(200)
    const [shown] = (await member.get(KEYS)).body.data.filter(
      (key: { id: number }) => key.id === id,
    )
    expect(shown).toMatchObject({
      name: 'Till',
      prefix: rotated.body.key.slice(0, 13),
      grace_ends_at: expect.stringMatching(/Z$/),
      revoked_at: null,
    })

    for (let i = 0; i < 2; i++) expect((await member.delete(`${KEYS}/${id}`)).status).toBe(204)
    expect(await works(rotated.body.key)).toBe(401)
    const mails = await mailsTo(app, member.shopEmail)
    expect(mails.map(({ subject }) => subject)).toEqual([
      'An API key was revoked',
      'An API key was rotated',
      'A new API key',
    ])
    for (const { text } of mails) {
      expect(text).toContain(`${PUBLIC_URL}/dashboard/keys`)
      expect(text).not.toMatch(/svc_live_\w{5}/)
    }
  })

  it('a shop has at most 100 keys that are not revoked, and a list at most 100 revoked ones', async () => {
    const member = await newMember()
    const payload = { scopes: ['catalog:read'] }
    const create = async () => (await member.post(KEYS, { payload })).status
    const insert = (count: number, revokedAt: Date | null) => app.ctx.db`
      insert into api_keys (account_id, prefix, hash, scopes, created_at, revoked_at)
      select
        ${member.accountId},
        'svc_live_x',
        sha256(concat(random(), i)::bytea),
        '{catalog:read}',
        ${app.ctx.now()},
        ${revokedAt}
      from generate_series(1, ${count}) i
    `
    const idsOf = async () => {
      const { data } = (await member.get(KEYS)).body
      const keys = data as { id: number; revoked_at: string | null }[]
      const ids = (isRevoked: boolean) =>
        keys.filter((key) => (key.revoked_at !== null) === isRevoked).map(({ id }) => id)
      return { active: ids(false), revoked: ids(true) }
    }
    await insert(99 - (await idsOf()).active.length, null)
    const both = await Promise.all([create(), create()])
    expect(both.toSorted()).toEqual([201, 409])
    const { active } = await idsOf()
    expect(active).toHaveLength(100)

    await insert(150, app.ctx.now())
    expect((await member.delete(`${KEYS}/${active.at(-1)}`)).status).toBe(204)
    expect(await create()).toBe(201)
    const listed = await idsOf()
    expect([listed.active.length, listed.revoked.length]).toEqual([100, 100])
    const [{ newest } = { newest: 0 }] = await app.ctx.db<{ newest: number }[]>`
      select max(id) as newest from api_keys where revoked_at is not null
    `
    expect(listed.revoked.at(-1)).toBe(newest)

    // A shop that had more keys before keeps them.
    await insert(5, null)
    expect(await create()).toBe(409)
    expect((await idsOf()).active).toHaveLength(105)
    const forgotten = listed.revoked[0]! - 10
    expect((await member.delete(`${KEYS}/${forgotten}`)).status).toBe(204)
  })

  it('a repeated rotation has the response of the first, so the key in use keeps its 24 hours', async () => {
    const member = await newMember()
    const payload = { name: 'Till', scopes: ['catalog:read'] }
    const headers = { 'idempotency-key': 'one dialog' }
    const created = await member.post(KEYS, { payload, headers })
    expect(await member.post(KEYS, { payload, headers })).toMatchObject({
      status: 201,
      body: created.body,
    })
    const mine = async () => (await member.get(KEYS)).body.data as { name: string }[]
    expect((await mine()).filter(({ name }) => name === 'Till')).toHaveLength(1)

    const rotation = `${KEYS}/${created.body.data.id}/rotate`
    const rotated = await member.post(rotation, { headers })
    expect((await member.post(rotation, { headers })).body).toEqual(rotated.body)
    for (const { key } of [created.body, rotated.body]) {
      expect((await app.withKey(key).get('/v1/me')).status).toBe(200)
    }
    expect(await mailsTo(app, member.shopEmail)).toHaveLength(2)
  })

  it('a stored response with a secret is encrypted, and no other member gets it', async () => {
    const member = await newMember()
    const payload = { name: null, scopes: ['catalog:read'] }
    const headers = { 'idempotency-key': 'kept in secret' }
    const { body } = await member.post(KEYS, { payload, headers })
    const stored = await app.ctx.db<{ answer: string }[]>`
      select answer from idempotency_keys where key = 'kept in secret'
    `
    expect(stored).toHaveLength(1)
    const { answer } = stored[0]!
    for (const text of [answer, Buffer.from(answer, 'base64').toString('latin1')]) {
      expect(text).not.toContain(body.key.slice(0, 13))
    }
    const colleague = await app.member(member.accountId)
    const other = await colleague.post(KEYS, { payload, headers })
    expect(other.body.data.id).not.toBe(body.data.id)
  })

  it('another shop’s key is 404, and stays', async () => {
    const other = await app.seller()
    const member = await app.member()
    expect((await member.post(`${KEYS}/${other.keyId}/rotate`)).status).toBe(404)
    expect((await member.delete(`${KEYS}/${other.keyId}`)).status).toBe(404)
    expect((await other.get('/v1/me')).status).toBe(200)
    const { body } = await member.get(KEYS)
    expect(body.data.map(({ id }: { id: number }) => id)).not.toContain(other.keyId)
  })

  it('a key without scopes is refused at its field', async () => {
    const { status, body } = await (await app.member()).post(KEYS, { payload: { scopes: [] } })
    expect(status).toBe(422)
    expect(Object.keys(body.error.fields)).toEqual(['scopes'])
  })
})
