import { lstat, open } from 'node:fs/promises'

/** Flushes a file's bytes, or a directory's entries, to disk. */
export async function syncToDisk(path: string): Promise<void> {
  const file = await open(path)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Whether the path exists, also as a broken link. */
export function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
