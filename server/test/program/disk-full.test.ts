import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { newHome } from '../embedded-homes.ts'
import { freePort } from '../free-port.ts'
import { embedded, isOff, runToEnd, startService } from '../process.ts'

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

it.skipIf(!mayMount)(
  'a full disk ends a start with one line, before the database exists and while the catalog is imported; the next start with space succeeds',
  async () => {
    const disk = newDisk('20m')!
    const settings = {
      PORT: String(await freePort()),
      DATA_DIR: join(disk, 'data'),
      LOG_LEVEL: 'silent',
    }
    const resize = (size: string) =>
      expect(spawnSync('mount', ['-o', `remount,size=${size}`, disk]).status).toBe(0)
    const fails = async () => {
      const ended = await runToEnd(['serve'], settings)
      expect(ended).toMatchObject({ code: 1, signal: null })
      expect(ended.stderr).toMatch(/^.*No space left on device\n$/)
      const left = readdirSync(settings.DATA_DIR)
      expect(left.filter((name) => name.includes('.new'))).toEqual([])
      return ended
    }
    expect((await fails()).stdout).toBe('')
    resize('55m')
    expect((await fails()).stdout).toContain('Importing the bundled catalog')
    resize('300m')
    const service = await (await startService(settings)).ready()
    const { pid } = embedded(settings.DATA_DIR)
    expect(await service.stop()).toMatchObject({ code: 0 })
    expect(isOff(settings.DATA_DIR, pid)).toBe(true)
  },
)
