import { randomBytes } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { lockExclusive } from '../files/lock.ts'
import { makeDataDir, makeDirectory } from '../files/make-directory.ts'
import { StartError } from '../start-error.ts'

/** Secrets of the sandbox, each in a file of DATA_DIR that only its owner can read. */
export const SECRET_NAMES = [
  'operator-token',
  'secret-key',
  'demo-key',
  'demo-password',
  'demo-password-proof',
  'listen-secret',
] as const
type SecretName = (typeof SECRET_NAMES)[number]

/**
 * Returns the stored secret, or generates and stores a new one if it is missing or no longer valid. A lock makes two
 * simultaneous first starts use the same secret.
 *
 * @throws StartError if DATA_DIR cannot be used
 */
export async function getOrCreateSecret(
  dataDir: string,
  name: SecretName,
  {
    isValid = () => true,
    generate = () => randomBytes(24).toString('hex'),
  }: {
    isValid?: (secret: string) => boolean | Promise<boolean>
    generate?: () => string | Promise<string>
  } = {},
): Promise<string> {
  const readValid = async () => {
    const secret = await readSecret(dataDir, name)
    return secret && (await isValid(secret)) ? secret : undefined
  }
  return (
    (await readValid()) ??
    withSecretsLock(dataDir, async () => {
      const existing = await readValid()
      if (existing) return existing
      const secret = await generate()
      await writeSecret(dataDir, name, secret)
      return secret
    })
  )
}

/**
 * Reads a secret; undefined if it was never generated.
 *
 * @throws StartError if DATA_DIR cannot be used
 */
export async function readSecret(dataDir: string, name: SecretName): Promise<string | undefined> {
  try {
    return (await readFile(fileOf(dataDir, name), 'utf8')).trim() || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cannotUse(dataDir, error)
  }
}

/** Replaces the file atomically. */
async function writeSecret(dataDir: string, name: SecretName, secret: string): Promise<void> {
  const file = fileOf(dataDir, name)
  try {
    await makeDirectory(path.dirname(file), 0o700)
    await writeFile(`${file}.new`, `${secret}\n`, { mode: 0o600, flush: true })
    await rename(`${file}.new`, file)
  } catch (error) {
    await rm(`${file}.new`, { force: true }).catch(() => {})
    throw cannotUse(dataDir, error)
  }
}

async function withSecretsLock<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  await makeDataDir(dataDir).catch((error) => {
    throw cannotUse(dataDir, error)
  })
  const release = await lockExclusive(path.join(dataDir, 'secrets.lock'))
  if (!release) throw new StartError(`Another process is still generating secrets in ${dataDir}.`)
  try {
    return await work()
  } finally {
    release()
  }
}

const fileOf = (dataDir: string, name: SecretName) => path.join(dataDir, 'secrets', name)

const cannotUse = (dataDir: string, error: unknown) =>
  new StartError(`DATA_DIR ${dataDir} can't be used: ${(error as Error).message}`)
