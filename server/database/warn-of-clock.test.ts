import { expect, it, vi } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { warnOfClock } from './warn-of-clock.ts'

it('a clock that differs from that of the database by more than a minute causes a warning', async () => {
  const { db } = await testDatabase('empty')
  const warnings: unknown[] = []
  const log = { warn: (about: unknown) => void warnings.push(about) } as never
  const start = async (aheadMs: number) => {
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + aheadMs)
    await warnOfClock({ db, log }).finally(() => clock.mockRestore())
  }
  await start(0)
  expect(warnings).toEqual([])
  await start(-3_600_000)
  await start(3_600_000)
  expect(warnings).toEqual([
    { seconds: expect.closeTo(-3_600, -2) },
    { seconds: expect.closeTo(3_600, -2) },
  ])
})
