import { createECDH, hash } from 'node:crypto'
import type { Config } from '../config.ts'
import { deriveKey } from '../crypto/derived-key.ts'

/** The public half of an ES256 key as a JSON Web Key. */
export type PublicKey = Record<'kty' | 'crv' | 'alg' | 'use' | 'kid' | 'x' | 'y', string>

const COORDINATE_BYTES = 32

/** The key derived from SECRET_KEY, the same in every process. Tokens are opaque, so nothing is signed with it yet. */
export function publicKey(config: Pick<Config, 'secretKey'>): PublicKey {
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(deriveKey('oauth signatures', config))
  const point = pair.getPublicKey()
  const [x, y] = [point.subarray(1, 1 + COORDINATE_BYTES), point.subarray(1 + COORDINATE_BYTES)]
  const curve = { crv: 'P-256', kty: 'EC', x: x.toString('base64url'), y: y.toString('base64url') }
  // RFC 7638
  const kid = hash('sha256', JSON.stringify(curve), 'base64url')
  return { ...curve, alg: 'ES256', use: 'sig', kid }
}
