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

/** Visits the numbers of a list. Making an array of them takes longer than most lists. */
export function visitList(
  { starts, numbers }: Lists,
  list: number,
  visit: (number: number) => void,
): void {
  const end = starts[list + 1]!
  for (let i = starts[list]!; i < end; i++) visit(numbers[i]!)
}

/** Visits the numbers of an ascending list from `first` up to, and without, `end`. */
export function visitBetween(
  { starts, numbers }: Lists,
  list: number,
  first: number,
  end: number,
  visit: (number: number) => void,
): void {
  let low = starts[list]!
  const listEnd = starts[list + 1]!
  let high = listEnd
  while (low < high) {
    const middle = (low + high) >> 1
    if (numbers[middle]! >= first) high = middle
    else low = middle + 1
  }
  for (let i = low; i < listEnd && numbers[i]! < end; i++) visit(numbers[i]!)
}

/** The number of numbers in a list. */
export const lengthOf = ({ starts }: Lists, list: number): number =>
  starts[list + 1]! - starts[list]!
