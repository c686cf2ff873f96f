import { lstat, mkdir, stat } from 'node:fs/promises'
import path from 'node:path'

/**
 * Creates a directory and its missing parents. `mkdir` with `recursive` never returns on a file system that refuses
 * with ENOENT, such as /proc.
 *
 * @throws the file system's error
 */
export async function makeDirectory(directory: string, mode?: number): Promise<void> {
  const missing: string[] = []
  for (let at = path.resolve(directory); !(await exists(at)); at = path.dirname(at)) {
    missing.unshift(at)
  }
  for (const at of missing) {
    await mkdir(at, { mode }).catch((error) => {
      // Another process has created it.
      if (error.code !== 'EEXIST') throw error
    })
  }
  if (!(await stat(directory)).isDirectory()) throw new Error(`${directory} is not a directory`)
}

const exists = (at: string) =>
  lstat(at).then(
    () => true,
    () => at === path.dirname(at),
  )
