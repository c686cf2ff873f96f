import { copyFile, type FileHandle, open, rename, rm, stat, truncate } from 'node:fs/promises'

const LOG_LIMIT_BYTES = 4 * 1024 * 1024
const ONE_START_BYTES = 256 * 1024

/** What a visitor at the wrong moment is told is no reason for anything. */
const TURNED_AWAY =
  /FATAL: +(the database system is|password authentication failed|terminating connection)/

/** Opens the log to append to; a big one starts anew, with one old one kept beside it. */
export async function openLog(path: string): Promise<FileHandle> {
  if ((await sizeOf(path)) > LOG_LIMIT_BYTES) await rename(path, `${path}.1`)
  return open(path, 'a+', 0o600)
}

const ROTATE_EVERY_MS = 60_000

/**
 * Keeps the log of a running server small until the returned function is called.
 *
 * @param lock taken for each rotation, by one process at a time; undefined when it isn't free
 */
export function rotateRegularly(
  path: string,
  lock: () => Promise<(() => void) | undefined>,
): () => void {
  const rotate = async () => {
    if ((await sizeOf(path)) <= LOG_LIMIT_BYTES) return
    const release = await lock()
    try {
      if (release) await rotateLog(path)
    } finally {
      release?.()
    }
  }
  // Best effort: what fails now, as on a vanished DATA_DIR, is tried again in a minute.
  const timer = setInterval(() => rotate().catch(() => {}), ROTATE_EVERY_MS).unref()
  return () => clearInterval(timer)
}

/**
 * Moves the text of a log that has become too big to `.1`, in the place of the one before. The server has the file
 * open and appends to it, so the text is copied and the file cut. The few lines written in between are lost.
 */
export async function rotateLog(path: string): Promise<void> {
  if ((await sizeOf(path)) <= LOG_LIMIT_BYTES) return
  // On a full disk the space counts more than the lines.
  await copyFile(path, `${path}.1`).catch(() => rm(`${path}.1`, { force: true }))
  await truncate(path)
}

/** In bytes; 0 without a log. */
export const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    (file) => file.size,
    () => 0,
  )

/** The same as `logSince` for a log that isn't open; empty when it can't be read. */
export async function readSince(path: string, position: number): Promise<string> {
  const log = await open(path, 'r').catch(() => undefined)
  if (!log) return ''
  try {
    return await logSince(log, position)
  } finally {
    await log.close()
  }
}

/** What was written to it from that position on. */
export async function logSince(log: FileHandle, position: number): Promise<string> {
  const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(ONE_START_BYTES), position })
  return buffer.toString('utf8', 0, bytesRead)
}

/** The line that says why PostgreSQL gave up: the first fatal one, which the others follow from, else the last. */
export function tellingLine(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => line.trim() && !TURNED_AWAY.test(line))
  const fatal = lines.find((line) => /\b(FATAL|PANIC|error):/.test(line))
  return (fatal ?? lines.at(-1))?.replace(/^.*?\b(FATAL|PANIC|error): +/, '').trim()
}

/** The last line that says that the disk is full, if there is one. */
export function diskFullLine(text: string): string | undefined {
  const lines = text
    .split('\n')
    .filter((line) => /No space left on device|Disk quota exceeded/.test(line))
  return lines
    .at(-1)
    ?.replace(/^.*?\b(FATAL|PANIC|ERROR|LOG): +/, '')
    .trim()
}
