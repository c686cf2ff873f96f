import { configDefaults, defineConfig } from 'vitest/config'

/** Test files that start processes or embedded clusters, or that take long. */
const PROCESSES = [
  'server/serve.test.ts',
  'server/**/crash.test.ts',
  'server/commands/*.test.ts',
  'server/database/embedded/*.test.ts',
  'server/listen/*.test.ts',
  'server/limits/redis-counters.test.ts',
  'server/orders/checkout-concurrency.test.ts',
  'server/test/program/*.test.ts',
  'server/webhooks/receivers.test.ts',
]

export default defineConfig({
  test: {
    globalSetup: ['server/test/global-setup.ts'],
    setupFiles: ['server/test/setup.ts'],
    // A worker loads the product once and runs many files: loading it for each file took a third of the time.
    isolate: false,
    // The tests often wait for other processes: more workers than cores make the run shorter.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['server/**/*.test.ts', 'scripts/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...PROCESSES],
        },
      },
      { extends: true, test: { name: 'processes', include: PROCESSES } },
    ],
  },
})
