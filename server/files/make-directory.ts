import { mkdir, readlink, stat } from 'node:fs/promises'
import path from 'node:path'
import { exists } from './disk.ts'

/**
 * Creates DATA_DIR, for its owner only, and its parents if they are missing. Under root, PostgreSQL runs as another user, who
 * has to pass through it.
 *
 * @throws the file system's error
 */
export async function makeDataDir(dataDir: string): Promise<void> {
  await makeDirectory(path.dirname(path.resolve(dataDir)))
  await makeDirectory(dataDir, process.geteuid?.() === 0 ? 0o711 : 0o700)
}

/**
 * Creates a directory and its missing parents. `mkdir` with `recursive` never returns on a file system that refuses
 * with ENOENT, such as /proc.
 *
 * @throws the file system's error
 */
export async function makeDirectory(directory: string, mode?: number): Promise<void> {
  const missing: string[] = []
  let at = path.resolve(directory)
  while (at !== path.dirname(at) && !(await exists(at))) {
    missing.unshift(at)
    at = path.dirname(at)
  }
  for (const one of missing) {
    await mkdir(one, { mode }).catch((error) => {
      // Another process has created it.
      if (error.code !== 'EEXIST') throw error
    })
  }
  const made = await stat(directory).catch(async (error) => {
    const target = await readlink(directory).catch(() => undefined)
    if (error.code !== 'ENOENT' || target === undefined) throw error
    throw new Error(`${directory} is a link to ${target}, which does not exist`)
  })
  if (!made.isDirectory()) throw new Error(`${directory} is not a directory`)
}
