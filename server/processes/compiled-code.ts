import { statSync } from 'node:fs'
import { flushCompileCache, getCompileCacheDir } from 'node:module'

/** Set for a process that has been restarted. */
const RESTARTED = 'COMPILED_BY_CARDSTALL'

/**
 * Restarts this process, with the same id, if Node had to compile a part of the program: after an installation or an
 * update. The compiled code is in Node's cache then, and the compiler is not in memory any more, which saves 11 MB. Call it
 * when all code of the start is loaded and before it runs.
 */
export function restartIfCompiled(): void {
  const isRestarted = process.env[RESTARTED] !== undefined
  delete process.env[RESTARTED]
  const directory = getCompileCacheDir()
  if (isRestarted || !directory || !process.execve) return
  const before = statSync(directory).mtimeMs
  flushCompileCache()
  if (statSync(directory).mtimeMs === before) return
  const parameters = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, parameters, { ...process.env, [RESTARTED]: '1' })
}
