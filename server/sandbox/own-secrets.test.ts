import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { newDirectory } from '../test/new-directory.ts'
import { getOrCreateSecret } from './own-secrets.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await newDirectory()
})

describe('a secret of the sandbox', () => {
  it('a sandbox secret is generated once, long and random, and stored', async () => {
    const secret = await getOrCreateSecret(dataDir, 'operator-token')
    expect(secret).toMatch(/^[0-9a-f]{48}$/)
    expect(await getOrCreateSecret(dataDir, 'operator-token')).toBe(secret)
    expect(await getOrCreateSecret(dataDir, 'secret-key')).not.toBe(secret)
  })

  it('concurrent callers get the same sandbox secret', async () => {
    const all = Array.from({ length: 10 }, () => getOrCreateSecret(dataDir, 'secret-key'))
    expect(new Set(await Promise.all(all)).size).toBe(1)
  })

  it('an invalid sandbox secret is replaced', async () => {
    await getOrCreateSecret(dataDir, 'demo-key', { generate: () => 'revoked' })
    const renewed = { isValid: (key: string) => key !== 'revoked', generate: () => 'renewed' }
    expect(await getOrCreateSecret(dataDir, 'demo-key', renewed)).toBe('renewed')
    expect(await getOrCreateSecret(dataDir, 'demo-key')).toBe('renewed')
  })

  it('a sandbox secret with an empty file is generated again', async () => {
    const secret = await getOrCreateSecret(dataDir, 'operator-token')
    await writeFile(path.join(dataDir, 'secrets/operator-token'), '')
    expect(await getOrCreateSecret(dataDir, 'operator-token')).not.toBe(secret)
  })
})
