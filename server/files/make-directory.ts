import { lstat, mkdir, stat } from 'node:fs/promises'
import path from 'node:path'

/**
 * Makes a directory and the missing ones above it. `mkdir` with `recursive` would do the same, but never returns
 * where a file system refuses with ENOENT, as /proc does.
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
      // Another process was quicker.
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
