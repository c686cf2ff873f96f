import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import { newDirectory } from './new-directory.ts'

/** A key and its self-signed certificate; undefined without openssl. */
export async function selfSigned(
  name: string,
  address: string,
): Promise<SecureContextOptions | undefined> {
  const directory = await newDirectory()
  const [key, cert] = ['key.pem', 'cert.pem'].map((file) => path.join(directory, file))
  const { status } = spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-keyout', key!, '-out', cert!, '-days', '2', '-subj', `/CN=${name}`],
    ...['-addext', `subjectAltName=DNS:${name},IP:${address}`],
  ])
  if (status === 0) return { key: readFileSync(key!), cert: readFileSync(cert!) }
  console.warn('SKIPPED: secure connections. There is no openssl.')
  return undefined
}
