import { copyFile, type FileHandle, open, rename, rm, stat, truncate } from 'node:fs/promises'

const LOG_LIMIT_BYTES = 4 * 1024 * 1024
const ONE_START_BYTES = 256 * 1024

/** Errors of clients that connected at the wrong moment: never the reason for a failed start. */
const CLIENT_ERRORS =
  /FATAL: +(the database system is|password authentication failed|terminating connection)/

/** Opens the log for appending. A large log becomes `.1`, and a new one starts. */
export async function openLog(path: string): Promise<FileHandle> {
  if ((await sizeOf(path)) > LOG_LIMIT_BYTES) await rename(path, `${path}.1`)
  return open(path, 'a+', 0o600)
}

const ROTATION_INTERVAL_MS = 60_000

/**
 * Rotates the log of a running server when it is large, until the returned function is called.
 *
 * @param lock acquires the lock of a rotation; undefined if another process holds it
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
  // Best effort: the next interval retries.
  const timer = setInterval(() => rotate().catch(() => {}), ROTATION_INTERVAL_MS).unref()
  return () => clearInterval(timer)
}

/**
 * Copies a large log to `.1` and truncates it, because the server keeps the file open and appends to it. The few lines
 * written in between are lost.
 */
export async function rotateLog(path: string): Promise<void> {
  if ((await sizeOf(path)) <= LOG_LIMIT_BYTES) return
  // On a full disk, free space is worth more than the old lines.
  await copyFile(path, `${path}.1`).catch(() => rm(`${path}.1`, { force: true }))
  await truncate(path)
}

/** In bytes; 0 without a log. */
export const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    (file) => file.size,
    () => 0,
  )

/** Like `logSince`, for a log that isn't open; empty if it cannot be read. */
export async function readSince(path: string, position: number): Promise<string> {
  const log = await open(path, 'r').catch(() => undefined)
  if (!log) return ''
  try {
    return await logSince(log, position)
  } finally {
    await log.close()
  }
}

/** The log's text from the position on. */
export async function logSince(log: FileHandle, position: number): Promise<string> {
  const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(ONE_START_BYTES), position })
  return buffer.toString('utf8', 0, bytesRead)
}

/** Remedies for lines in which PostgreSQL names none. */
const REMEDIES: [RegExp, string][] = [
  [
    /shared memory segment .*No space left on device/,
    'make /dev/shm larger (docker run --shm-size=64m)',
  ],
  [/^data directory .* has invalid permissions/, 'close it to other users with chmod 700'],
]

/**
 * The reason for PostgreSQL's exit, with its remedy: the first fatal line, because later ones follow from it; else the last
 * line.
 */
export function failureLine(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => line.trim() && !CLIENT_ERRORS.test(line))
  const fatal = lines.find((line) => /\b(FATAL|PANIC|error):/.test(line))
  const reason = (fatal ?? lines.at(-1))?.replace(/^.*?\b(FATAL|PANIC|error): +/, '').trim()
  const remedy = REMEDIES.find(([line]) => reason && line.test(reason))?.[1]
  return remedy ? `${reason}; ${remedy}` : reason
}

/** The last line about a full disk. */
export function diskFullLine(text: string): string | undefined {
  const lines = text
    .split('\n')
    .filter((line) => /No space left on device|Disk quota exceeded/.test(line))
  return lines
    .at(-1)
    ?.replace(/^.*?\b(FATAL|PANIC|ERROR|LOG): +/, '')
    .trim()
}
