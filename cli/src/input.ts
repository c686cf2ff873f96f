import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { reasonOf } from './files.ts'
import { CommandError, EXIT } from './session.ts'

/** The name of a file that is stdin or stdout instead. */
export const STDIO = '-'

/** @throws CommandError (exit code 2) for a file that cannot be read */
export async function readInput(file: string): Promise<Uint8Array> {
  if (file === STDIO) return buffer(process.stdin)
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    const reasons: Record<string, string> = {
      ENOENT: `There is no file ${file}.`,
      EISDIR: `${file} is a directory.`,
    }
    const message = reasons[error.code!] ?? `${file} cannot be read: ${reasonOf(error)}.`
    throw new CommandError(message, EXIT.usage)
  })
}
