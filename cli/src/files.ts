import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** Node's messages are such as `ENOSPC: no space left on device, write`. */
export const reasonOf = ({ message }: Error): string => /^\w+: (.*?),/.exec(message)?.[1] ?? message

/** Creates a directory and its parents. Node's own recursive creation never ends below a parent such as `/proc`. */
export async function makeDirectory(directory: string, mode?: number): Promise<void> {
  try {
    await mkdir(directory, { mode })
  } catch (error) {
    // Whatever the code is: Windows says EPERM for the root of a drive, and some network drives for every directory.
    if ((await stat(directory).catch(() => undefined))?.isDirectory()) return
    const { code } = error as NodeJS.ErrnoException
    const parent = path.dirname(path.resolve(directory))
    if (code !== 'ENOENT' || (await stat(parent).catch(() => undefined))) throw error
    await makeDirectory(parent, mode)
    await makeDirectory(directory, mode)
  }
}

/** Replaces a file as a whole, readable by its owner only: a full disk or a crash leaves the former one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await makeDirectory(path.dirname(file), 0o700)
  // Its own name for each process: two of them may replace the file at the same time.
  const next = `${file}.${process.pid}.new`
  try {
    // Flushed, because some file systems write the new name before the content.
    await writeFile(next, text, { mode: 0o600, flush: true })
    await rename(next, file)
  } catch (error) {
    await rm(next, { force: true })
    throw error
  }
}
