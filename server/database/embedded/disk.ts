import { lstat, open } from 'node:fs/promises'

/** Makes sure that a file's bytes, or a directory's names, survive a power cut. */
export async function syncToDisk(path: string): Promise<void> {
  const file = await open(path)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Whether something has that name, be it a link that leads nowhere. */
export function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
