import type { Config } from '../config.ts'
import { randomText } from '../crypto/random-text.ts'
import { sealText, unsealText } from '../crypto/sealed.ts'

/** Signing secrets of endpoints. Signing needs the plain secret, so they are encrypted at rest instead of hashed. */

/** Generates a secret in the format of §4.16. */
export const generateSecret = () => `svc_whsec_${randomText(40)}`

/** Encrypts an endpoint's secret for the database; `unseal` needs the same account. */
export const seal = (config: Pick<Config, 'secretKey'>, accountId: number, secret: string) =>
  sealText(config, 'webhook secrets', accountId, secret)

/** @throws Error if it was sealed with another SECRET_KEY or for another account, or was modified */
export const unseal = (
  config: Pick<Config, 'secretKey'>,
  accountId: number,
  sealed: Uint8Array,
): string => unsealText(config, 'webhook secrets', accountId, sealed)
