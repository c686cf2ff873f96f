/** Blocks this thread, like a paused machine. */
export const standStill = (ms: number) =>
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
