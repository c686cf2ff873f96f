import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { connect } from '../../database/connect.ts'
import { newHome } from '../embedded-homes.ts'
import { freePort } from '../free-port.ts'
import { embedded, isOff, runToEnd, startService } from '../process.ts'
import { SMALL_CATALOG_PRELOAD } from '../small-catalog.ts'

const SMALL = { preload: SMALL_CATALOG_PRELOAD }

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
    const service = await (await startService(settings, SMALL)).ready()
    const { pid } = embedded(settings.DATA_DIR)
    expect(await service.stop()).toMatchObject({ code: 0 })
    expect(isOff(settings.DATA_DIR, pid)).toBe(true)
  },
)

const SIZE = 200_000_000

it.skipIf(!mayMount)(
  'a service whose disk is filled by the write-ahead log exits, says why, and starts again once there is space',
  async () => {
    const disk = newDisk(String(SIZE))!
    const settings = {
      PORT: String(await freePort()),
      DATA_DIR: join(disk, 'data'),
      LOG_LEVEL: 'error',
      SANDBOX: 'true',
    }
    const service = await (await startService(settings, SMALL)).ready()
    const { pid, url } = embedded(settings.DATA_DIR)
    const filler = join(disk, 'filler')
    expect(() => writeFileSync(filler, Buffer.alloc(SIZE))).toThrow('ENOSPC')
    const db = connect(url, { max: 1 })
    await expect(
      (async () => {
        for (;;) await db`select pg_logical_emit_message(false, 'test', repeat('x', 1000000))`
      })(),
    ).rejects.toThrow()
    await db.end({ timeout: 1 })
    expect(await service.ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('No space left on device'),
    })
    expect(isOff(settings.DATA_DIR, pid)).toBe(true)
    rmSync(filler)
    const next = await (await startService(settings)).ready()
    expect(await next.stop()).toMatchObject({ code: 0 })
  },
)
