import { readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { startTestApp } from '../test/app.ts'
import { form } from '../test/fixtures/members.ts'
import { DEMO_EMAIL, demoKey, demoPassword } from './demo-seller.ts'

const app = await startTestApp()

it('every start prints a demo password that works, and keeps one that works already', async () => {
  const { ctx } = app
  await demoKey(ctx)
  const first = await demoPassword(ctx)
  expect(await canSignIn(first)).toBe(true)
  expect(await demoPassword(ctx)).toBe(first)

  const secrets = path.join(ctx.config.dataDir, 'secrets')
  const proof = path.join(secrets, 'demo-password-proof')
  const proven = await readFile(proof, 'utf8')
  await rm(proof)
  expect(await demoPassword(ctx)).toBe(first)
  expect(await readFile(proof, 'utf8')).toBe(proven)

  const { data } = (await app.operator.get(`/operator/v1/accounts?q=${DEMO_EMAIL}`)).body
  await app.operator.patch(`/operator/v1/accounts/${data[0].id}`, {
    payload: { password: 'chosen by the operator' },
  })
  const second = await demoPassword(ctx)
  expect(second).not.toBe(first)
  expect(await canSignIn(second)).toBe(true)
  expect(await readdir(secrets)).toEqual(['demo-key', 'demo-password', 'demo-password-proof'])
})

async function canSignIn(password: string): Promise<boolean> {
  const { status } = await app.anyone.post('/signin', form({ email: DEMO_EMAIL, password }))
  return status === 303
}
