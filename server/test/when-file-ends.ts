const cleanups: (() => unknown)[] = []

/**
 * Undoes something once the running test file is done; the latest is undone first. Test helpers call it wherever they
 * open something. An `afterAll` of their own would run for one file alone: workers evaluate a helper once and then run
 * many files.
 */
export function whenFileEnds(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** Runs what `whenFileEnds` collected; setup.ts registers it for each file. */
export async function cleanUpFile(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
}
