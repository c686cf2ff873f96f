import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { replaceFile } from './files.ts'
import { afterOutages } from './outages.ts'
import { FOLDER } from './profiles.ts'
import type { Session } from './session.ts'

/** A position in a feed that survives the program. */
export type SavedPosition = {
  position: string | undefined
  save(position: string): Promise<void>
}

/**
 * Opens the position in a feed. Each marketplace, shop and `reader` has its own, so that two runs with different tasks
 * don't skip each other's events.
 *
 * @param onWait called before the first wait for a service that is away; without it, an outage is an error
 */
export async function openPosition(
  { client, profile }: Session,
  feed: 'events' | 'changes',
  reader: unknown,
  onWait?: () => void,
): Promise<SavedPosition> {
  const { id } = await (onWait ? afterOutages(() => client.me(), onWait) : client.me())
  const name = createHash('sha256')
    .update(JSON.stringify([profile.url, id, reader]))
    .digest('hex')
    .slice(0, 16)
  return openPositionIn(path.join(FOLDER, 'positions', `${feed}-${name}`))
}

export async function openPositionIn(file: string): Promise<SavedPosition> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  let saved = text.trim()
  return {
    position: saved || undefined,
    async save(position) {
      if (position === saved) return
      await replaceFile(file, `${position}\n`)
      saved = position
    },
  }
}
