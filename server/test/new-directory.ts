import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { whenFileEnds } from './when-file-ends.ts'

/** A new directory, removed when the test file ends. */
export async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'cardstall-files-'))
  whenFileEnds(() => rm(directory, { recursive: true, force: true }))
  return directory
}
