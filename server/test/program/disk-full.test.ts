import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { newHome } from '../embedded-homes.ts'
import { freePort } from '../free-port.ts'
import { embedded, isOff, runToEnd, startService } from '../process.ts'

// These tests make first starts, possibly on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

const mounted: string[] = []
afterEach(() => {
  for (const disk of mounted.splice(0)) spawnSync('umount', ['--lazy', disk])
})

/** Mounts a disk of this size; undefined if this user may not mount one. */
function newDisk(size: string): string | undefined {
  const disk = join(newHome(), 'disk')
  mkdirSync(disk)
  const options = ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', disk]
  if (spawnSync('mount', options).status !== 0) return undefined
  mounted.push(disk)
  return disk
}

const mayMount = newDisk('1m') !== undefined
if (!mayMount) console.warn('SKIPPED: starts on a full disk. Mounting a small one takes root.')

it.skipIf(!mayMount).each([
  ['the database can be created', '20m'],
  ['the catalog is imported', '55m'],
])(
  'a disk that is full before %s ends the start with one line, and the next start with space succeeds',
  async (_, size) => {
    const disk = newDisk(size)!
    const settings = {
      PORT: String(await freePort()),
      DATA_DIR: join(disk, 'data'),
      LOG_LEVEL: 'silent',
    }
    const ended = await runToEnd(['serve'], settings)
    expect(ended).toMatchObject({ code: 1, signal: null })
    expect(ended.stderr).toMatch(/^.*No space left on device\n$/)
    const left = readdirSync(settings.DATA_DIR)
    expect(left.filter((name) => name.includes('.new'))).toEqual([])

    expect(spawnSync('mount', ['-o', 'remount,size=300m', disk]).status).toBe(0)
    const service = await (await startService(settings)).ready()
    const { pid } = embedded(settings.DATA_DIR)
    expect(await service.stop()).toMatchObject({ code: 0 })
    expect(isOff(settings.DATA_DIR, pid)).toBe(true)
  },
)
