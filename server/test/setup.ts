import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll } from 'vitest'
import { cleanUpFile } from './when-file-ends.ts'

const MAX_CHECKS = 1_000

// Vitest runs this module before each test file, and its hook after the hooks of the file.
afterAll(async () => {
  await cleanUpFile()
  await expectIdle()
})

/**
 * Fails if a test left a loop of immediates behind: the worker runs other files afterwards, and the loop would take its
 * core until the end of the run.
 */
async function expectIdle(): Promise<void> {
  for (let checks = 0; process.getActiveResourcesInfo().includes('Immediate'); checks++) {
    if (checks === MAX_CHECKS) throw new Error('A test left a loop of immediates behind.')
    await sleep(1)
  }
}
