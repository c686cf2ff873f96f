import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { getOrCreateSecret } from './own-secrets.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'cardstall-secrets-'))
})
afterEach(() => rm(dataDir, { recursive: true }))

describe('a secret of the sandbox', () => {
  it('is made once, long and random, and kept', async () => {
    const secret = await getOrCreateSecret(dataDir, 'operator-token')
    expect(secret).toMatch(/^[0-9a-f]{48}$/)
    expect(await getOrCreateSecret(dataDir, 'operator-token')).toBe(secret)
    expect(await getOrCreateSecret(dataDir, 'secret-key')).not.toBe(secret)
  })

  it('is the same for all that ask for it at once', async () => {
    const all = Array.from({ length: 10 }, () => getOrCreateSecret(dataDir, 'secret-key'))
    expect(new Set(await Promise.all(all)).size).toBe(1)
  })

  it('gives way to a new one when it does not serve any more', async () => {
    await getOrCreateSecret(dataDir, 'demo-key', { generate: () => 'revoked' })
    const renewed = { isValid: (key: string) => key !== 'revoked', generate: () => 'renewed' }
    expect(await getOrCreateSecret(dataDir, 'demo-key', renewed)).toBe('renewed')
    expect(await getOrCreateSecret(dataDir, 'demo-key')).toBe('renewed')
  })

  it('is made anew when its file is empty', async () => {
    const secret = await getOrCreateSecret(dataDir, 'operator-token')
    await writeFile(path.join(dataDir, 'secrets/operator-token'), '')
    expect(await getOrCreateSecret(dataDir, 'operator-token')).not.toBe(secret)
  })
})
