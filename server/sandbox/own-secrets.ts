import { randomBytes } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { lockExclusive } from '../files/lock.ts'
import { makeDirectory } from '../files/make-directory.ts'
import { StartError } from '../start-error.ts'

/** Secrets the sandbox makes for itself, each a file in DATA_DIR that only its owner can read. */
export const SECRET_NAMES = ['operator-token', 'secret-key', 'demo-key', 'listen-secret'] as const
export type SecretName = (typeof SECRET_NAMES)[number]

/**
 * The secret kept under this name, as long as it isValid; else a new one takes its place. One process at a time makes
 * them: of two first starts at once, both must go on with the same.
 *
 * @throws StartError when DATA_DIR can't be used
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
  const kept = async () => {
    const secret = await readSecret(dataDir, name)
    return secret && (await isValid(secret)) ? secret : undefined
  }
  return (
    (await kept()) ??
    withSecretsLock(dataDir, async () => {
      const madeMeanwhile = await kept()
      if (madeMeanwhile) return madeMeanwhile
      const secret = await generate()
      await writeSecret(dataDir, name, secret)
      return secret
    })
  )
}

/**
 * What is kept under this name, if anything.
 *
 * @throws StartError when DATA_DIR can't be used
 */
export async function readSecret(dataDir: string, name: SecretName): Promise<string | undefined> {
  try {
    return (await readFile(fileOf(dataDir, name), 'utf8')).trim() || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cannotUse(dataDir, error)
  }
}

/** A kill in between leaves what was there before, or all of the new one. */
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
  await makeDirectory(dataDir).catch((error) => {
    throw cannotUse(dataDir, error)
  })
  const release = await lockExclusive(path.join(dataDir, 'secrets.lock'))
  if (!release) throw new StartError(`Another process is still making its secrets in ${dataDir}.`)
  try {
    return await work()
  } finally {
    release()
  }
}

const fileOf = (dataDir: string, name: SecretName) => path.join(dataDir, 'secrets', name)

const cannotUse = (dataDir: string, error: unknown) =>
  new StartError(`DATA_DIR ${dataDir} can't be used: ${(error as Error).message}`)
