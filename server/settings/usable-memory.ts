import { totalmem } from 'node:os'

/** Memory of the machine or container. Node returns 0 or more than the machine has if there is no limit. */
export const usableMemory = (): number =>
  Math.min(process.constrainedMemory() || Infinity, totalmem())
