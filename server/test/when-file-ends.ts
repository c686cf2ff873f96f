const cleanups: (() => unknown)[] = []

/**
 * Registers a clean-up for the end of the running test file; the last one registered runs first. Test helpers use it
 * instead of `afterAll`, which would run for one file alone: a worker loads a helper once and then runs many files.
 */
export function whenFileEnds(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** Runs the registered clean-ups; setup.ts calls it after each file. */
export async function cleanUpFile(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
}
