import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { exists } from './disk.ts'

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
  if (!(await stat(directory)).isDirectory()) throw new Error(`${directory} is not a directory`)
}
