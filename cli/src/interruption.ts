import { EXIT } from './session.ts'

let finish: (() => void) | undefined
let advice = ''

/** Lets a command finish its work after the first Ctrl-C. A second one ends the program at once. */
export function beforeInterruption(handle: () => void): void {
  finish = handle
}

/** Text that an interrupted command leaves on the terminal. */
export function adviseAfterInterruption(text: string): void {
  advice = text
}

/** Ends the program after Ctrl-C, and after a SIGTERM like after Ctrl-C. */
export function handleInterruptions(): void {
  const handle = () => {
    process.exitCode = EXIT.interrupted
    const begin = finish
    finish = undefined
    if (begin) return begin()
    if (process.stderr.isTTY) process.stderr.write('\n')
    if (advice) process.stderr.write(`${advice}\n`)
    process.exit()
  }
  process.on('SIGINT', handle)
  process.on('SIGTERM', handle)
}
