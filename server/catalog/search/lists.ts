/** Many lists of numbers in two arrays: tens of thousands of small arrays would take several times the memory. */
export type Lists = {
  /** By list: the index of its first number in `numbers`; the last entry is the end of the last list. */
  starts: Uint32Array
  numbers: Uint32Array
}

/** Sorts numbers into lists: `numbers[i]` comes to the list `listOf[i]`. A list keeps the order of its numbers. */
export function listsOf(count: number, listOf: number[], numbers: number[]): Lists {
  const starts = new Uint32Array(count + 1)
  for (const list of listOf) starts[list + 1]!++
  for (let list = 0; list < count; list++) starts[list + 1]! += starts[list]!
  const next = starts.slice()
  const sorted = new Uint32Array(numbers.length)
  for (let i = 0; i < numbers.length; i++) sorted[next[listOf[i]!]!++] = numbers[i]!
  return { starts, numbers: sorted }
}

/** The numbers of a list, which share the memory of all. */
export const listAt = ({ starts, numbers }: Lists, list: number): Uint32Array =>
  numbers.subarray(starts[list], starts[list + 1])

/** The number of numbers in a list, without the object that `listAt` makes. */
export const lengthOf = ({ starts }: Lists, list: number): number =>
  starts[list + 1]! - starts[list]!
