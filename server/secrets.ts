import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { StartError } from './start-error.ts'

/** Secrets the sandbox makes for itself, each a file in DATA_DIR that only its owner can read. */
export type SecretName = 'operator-token' | 'secret-key' | 'demo-key'

/** The secret kept under this name, if there is one. */
export async function readSecret(dataDir: string, name: SecretName): Promise<string | undefined> {
  try {
    return (await readFile(fileOf(dataDir, name), 'utf8')).trim() || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cannotUse(dataDir, error)
  }
}

/** Keeps a secret under this name, in place of any before it; a kill in between leaves the one or the other. */
export async function keepSecret(dataDir: string, name: SecretName, secret: string): Promise<void> {
  const file = fileOf(dataDir, name)
  const draft = `${file}.${process.pid}`
  try {
    await mkdir(dataDir, { recursive: true })
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(draft, `${secret}\n`, { mode: 0o600 })
    await rename(draft, file)
  } catch (error) {
    throw cannotUse(dataDir, error)
  }
}

/** The secret kept under this name; made and kept when there is none. */
export async function ownSecret(dataDir: string, name: SecretName): Promise<string> {
  const kept = await readSecret(dataDir, name)
  if (kept) return kept
  await keepSecret(dataDir, name, randomBytes(24).toString('hex'))
  // Read back: of two first starts at once, both must go on with the one that stayed.
  return (await readSecret(dataDir, name)) ?? ''
}

const fileOf = (dataDir: string, name: SecretName) => path.join(dataDir, 'secrets', name)

const cannotUse = (dataDir: string, error: unknown) =>
  new StartError(`DATA_DIR ${dataDir} can't be used: ${(error as Error).message}`)
