import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** Replaces a file as a whole, readable by its owner only: a full disk or a crash leaves the former one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  // Its own name for each process: two of them may replace the file at the same time.
  const next = `${file}.${process.pid}.new`
  try {
    await writeFile(next, text, { mode: 0o600 })
    await rename(next, file)
  } catch (error) {
    await rm(next, { force: true })
    throw error
  }
}
