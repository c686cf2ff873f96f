import { expect, it } from 'vitest'
import { startTestApp } from '../test/app.ts'
import { subscribe } from '../test/fakes/receiver.ts'
import { requireSecretKey } from './require-secret-key.ts'

it('a service does not start with a SECRET_KEY that cannot read the stored endpoint secrets', async () => {
  const app = await startTestApp()
  const other = await startTestApp({
    databaseUrl: app.databaseUrl,
    settings: { SECRET_KEY: 'another-key' },
  })
  // Without endpoints there is nothing to sign, so any key will do.
  await requireSecretKey(other.ctx)
  await subscribe(await app.seller(), 'https://shop.example/hooks')
  await requireSecretKey(app.ctx)
  await expect(requireSecretKey(other.ctx)).rejects.toThrow(/^SECRET_KEY is not the key/)
})
