import { readFile } from 'node:fs/promises'
import { MAX_BYTES } from '../../sdk/src/csv.ts'
import { reasonOf } from './files.ts'
import { CommandError, EXIT } from './session.ts'

/** The name of a file that is stdin or stdout instead. */
export const STDIO = '-'

/** @throws CommandError (exit code 2) for a file that cannot be read */
export async function readInput(file: string): Promise<Uint8Array> {
  if (file === STDIO) return readStdin()
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    const reasons: Record<string, string> = {
      ENOENT: `There is no file ${file}.`,
      EISDIR: `${file} is a directory.`,
    }
    const message = reasons[error.code!] ?? `${file} cannot be read: ${reasonOf(error)}.`
    throw new CommandError(message, EXIT.usage)
  })
}

/** Ends soon after the limit of a CSV file, because stdin can have no end. */
async function readStdin(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of process.stdin as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_BYTES) break
  }
  return Buffer.concat(chunks)
}
