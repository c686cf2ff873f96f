import { usableMemory } from '../../settings/usable-memory.ts'

const MIN_MB = 128
const MAX_MB = 2048
/** The service, the operating system's cache of files and other programs need the rest. */
const SHARE = 1 / 8

/**
 * PostgreSQL's own memory for table pages, as a setting: an eighth of this machine's or container's memory, at least 128 MB
 * and at most 2 GB. PostgreSQL takes it as it reads and writes, so a small database needs little of it.
 *
 * @param bytes the memory of the machine or container
 */
export function sharedBuffers(bytes = usableMemory()): string {
  const share = Math.floor((bytes * SHARE) / 2 ** 20)
  return `${Math.min(MAX_MB, Math.max(MIN_MB, share))}MB`
}
