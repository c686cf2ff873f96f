const cleanups: (() => unknown)[] = []

/**
 * Registers a clean-up for the end of the running test file; the last one registered runs first. Test helpers use it
 * instead of `afterAll`, which would run for one file alone: a worker loads a helper once and then runs many files.
 */
export function whenFileEnds(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** Runs all registered clean-ups, then throws the first error; setup.ts calls it after each file. */
export async function cleanUpFile(): Promise<void> {
  const errors: unknown[] = []
  for (const cleanup of cleanups.splice(0).reverse()) {
    try {
      await cleanup()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
