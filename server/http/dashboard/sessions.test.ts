import { beforeAll, describe, expect, it } from 'vitest'
import { startSession } from '../../members/sessions.ts'
import { startTestApp, type TestApp } from '../../test/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

const start = (id: number, browser: object) =>
  startSession(app.ctx, { id, passwordHash: null }, browser)

const SESSIONS = '/dashboard/api/sessions'

describe('the sessions of a member', () => {
  it('a member sees their own sessions with browser and address, and which one is theirs', async () => {
    const member = await app.member()
    await app.member(member.accountId)
    const browser = { userAgent: 'Mozilla/5.0\ud800 <b>', address: '2001:db8::1' }
    await start(member.memberId, browser)
    const { body } = await member.get(SESSIONS)
    expect(body.data).toEqual([
      {
        id: expect.any(Number),
        current: false,
        user_agent: 'Mozilla/5.0\ufffd <b>',
        address: '2001:db8::1',
        created_at: expect.any(String),
        last_used_at: expect.any(String),
      },
      expect.objectContaining({ current: true, user_agent: null }),
    ])
  })

  it('a member ends one session, or all but the current one', async () => {
    const member = await app.member()
    for (let i = 0; i < 3; i++) await start(member.memberId, {})
    const [first] = (await member.get(SESSIONS)).body.data
    expect((await member.delete(`${SESSIONS}/${first.id}`)).status).toBe(204)
    expect((await member.get(SESSIONS)).body.data).toHaveLength(3)
    expect((await member.delete(SESSIONS)).status).toBe(204)
    expect((await member.get(SESSIONS)).body.data).toEqual([
      expect.objectContaining({ current: true }),
    ])
  })

  it('another member’s session is 404, even of the same shop, and stays', async () => {
    const member = await app.member()
    for (const other of [await app.member(member.accountId), await app.member()]) {
      const [session] = (await other.get(SESSIONS)).body.data
      expect((await member.delete(`${SESSIONS}/${session.id}`)).status).toBe(404)
      expect((await other.get(SESSIONS)).status).toBe(200)
    }
  })

  it('a member has at most 50 sessions; the oldest ends first', async () => {
    const member = await app.member()
    await Promise.all(Array.from({ length: 50 }, () => start(member.memberId, {})))
    expect((await member.get(SESSIONS)).status).toBe(401)
    const [{ count }] = await app.ctx.db`
      select count(*)::int from member_sessions where member_id = ${member.memberId}
    `.then((rows) => rows as unknown as [{ count: number }])
    expect(count).toBe(50)
  })
})
