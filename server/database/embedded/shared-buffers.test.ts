import { expect, test } from 'vitest'
import { sharedBuffers } from './shared-buffers.ts'

const GB = 2 ** 30

test('PostgreSQL’s buffers are an eighth of the memory, from 128 MB to 2 GB', () => {
  const settings = [0.25 * GB, GB, 2 * GB, 4.1 * GB, 8 * GB, 64 * GB].map(sharedBuffers)
  expect(settings).toEqual(['128MB', '128MB', '256MB', '524MB', '1024MB', '2048MB'])
})
