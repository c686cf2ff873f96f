import { readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { cookieOf, form, mailedToken } from '../test/fixtures/members.ts'
import { type DemoAccess, demoAccess, demoUnlessRefused } from './demo-seller.ts'

let app: TestApp
beforeEach(async () => {
  app = await startTestApp()
})

it('every start prints a demo password that works, and keeps one that works already', async () => {
  const { ctx } = app
  const first = await demoAccess(ctx)
  expect((await signIn(first)).status).toBe(303)
  expect(await demoAccess(ctx)).toEqual(first)

  const secrets = path.join(ctx.config.dataDir, 'secrets')
  const proof = path.join(secrets, 'demo-password-proof')
  const proven = await readFile(proof, 'utf8')
  await rm(proof)
  expect(await demoAccess(ctx)).toEqual(first)
  expect(await readFile(proof, 'utf8')).toBe(proven)

  await choosePassword(first)
  const second = await demoAccess(ctx)
  expect(second).toEqual({ ...first, password: expect.not.stringMatching(first.password) })
  expect((await signIn(second)).status).toBe(303)
  expect(await readdir(secrets)).toEqual(['demo-key', 'demo-password', 'demo-password-proof'])
})

it('every start prints the demo seller’s present address, whether or not the password was changed as well', async () => {
  const first = await demoAccess(app.ctx)
  const headers = { cookie: cookieOf(await signIn(first)), origin: app.ctx.config.publicUrl }
  const email = 'collector@cards.example'
  await app.anyone.put('/dashboard/api/settings/email', {
    payload: { email, password: first.password },
    headers,
  })
  await app.anyone.post('/email', form({ token: await mailedToken(app, email) }))
  const second = await demoAccess(app.ctx)
  expect(second).toEqual({ ...first, email })

  await choosePassword(second)
  const third = await demoAccess(app.ctx)
  expect(third).toMatchObject({ key: first.key, email })
  expect((await signIn(third)).status).toBe(303)
})

it('a start goes on without the login of a demo seller whose address another shop has', async () => {
  await demoAccess(app.ctx)
  const [account] = (await app.operator.get('/operator/v1/accounts')).body.data
  const path = `/operator/v1/accounts/${account.id}`
  await app.operator.patch(path, { payload: { email: 'shop@shops.example' } })
  const [key] = (await app.operator.get(`${path}/keys`)).body.data
  await app.operator.delete(`${path}/keys/${key.id}`)
  expect(await demoUnlessRefused(app.ctx)).toBeUndefined()
  const err = expect.objectContaining({ status: 422 })
  expect(app.logged).toContainEqual(expect.objectContaining({ level: 'warn', err }))
})

const signIn = ({ email, password }: DemoAccess) =>
  app.anyone.post('/signin', form({ email, password }))

/** Changes the demo seller's password as the operator. */
async function choosePassword({ email }: DemoAccess) {
  const { data } = (await app.operator.get(`/operator/v1/accounts?q=${email}`)).body
  await app.operator.patch(`/operator/v1/accounts/${data[0].id}`, {
    payload: { password: 'chosen by the operator' },
  })
}
