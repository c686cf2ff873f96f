import { describe, expect, it } from 'vitest'
import { generateSecret, seal, unseal } from './secret.ts'

const config = { secretKey: 'one key' }
const SECRET = `svc_whsec_${'a1B2'.repeat(10)}`

describe('a signing secret', () => {
  it('signing secrets have forty random characters after their prefix', () => {
    const secrets = Array.from({ length: 100 }, generateSecret)
    for (const secret of secrets) expect(secret).toMatch(/^svc_whsec_[0-9A-Za-z]{40}$/)
    expect(new Set(secrets).size).toBe(100)
  })

  it('unseal returns the sealed secret', () => {
    expect(unseal(config, 7, seal(config, 7, SECRET))).toBe(SECRET)
  })

  it('sealed secrets do not show their text, or that two are the same', () => {
    const [one, other] = [seal(config, 7, SECRET), seal(config, 7, SECRET)]
    expect(one.includes(SECRET.slice(0, 14))).toBe(false)
    expect(one.equals(other)).toBe(false)
    // Neither the nonces nor the ciphertexts are equal.
    expect(one.subarray(0, 12).equals(other.subarray(0, 12))).toBe(false)
    expect(one.subarray(12, -16).equals(other.subarray(12, -16))).toBe(false)
  })

  it('a sealed secret cannot be read with another SECRET_KEY', () => {
    const sealed = seal(config, 7, SECRET)
    expect(() => unseal({ secretKey: 'another key' }, 7, sealed)).toThrow()
  })

  it('a sealed secret cannot be read for another account', () => {
    const sealed = seal(config, 7, SECRET)
    expect(() => unseal(config, 8, sealed)).toThrow()
  })

  it('a sealed secret with a changed or missing byte cannot be read', () => {
    const sealed = seal(config, 7, SECRET)
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed)
      changed[i]! ^= 1
      expect(() => unseal(config, 7, changed)).toThrow()
    }
    for (const part of [sealed.subarray(1), sealed.subarray(0, -1), sealed.subarray(0, 12)]) {
      expect(() => unseal(config, 7, part)).toThrow()
    }
    expect(() => unseal(config, 7, Buffer.alloc(0))).toThrow()
  })
})
