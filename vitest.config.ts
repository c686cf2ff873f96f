import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['server/**/*.test.ts', 'scripts/**/*.test.ts', 'bench/**/*.test.ts'],
    globalSetup: ['server/test/global-setup.ts'],
    setupFiles: ['server/test/setup.ts'],
    // A worker evaluates the product once and runs many files: evaluating it for each file took a third of the time.
    isolate: false,
    // Much of the time goes into waiting for other processes: more workers than cores pay.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
})
