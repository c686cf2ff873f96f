/**
 * How many letters have to be changed, added, left out or swapped with their neighbour to make one
 * word of the other. Gives up beyond `limit` and then answers `limit + 1`.
 *
 * Equal letters at the front are free, and at the first difference each kind of slip is tried with
 * one slip less to spend. With the limits that search has (1 or 2) that is a handful of paths, and
 * no table to fill.
 */
export function editDistance(a: string, b: string, limit: number, i = 0, j = 0): number {
  while (i < a.length && a.charCodeAt(i) === b.charCodeAt(j)) {
    i++
    j++
  }
  const left = Math.max(a.length - i, b.length - j)
  if (left === 0) return 0
  if (Math.abs(a.length - i - (b.length - j)) > limit) return limit + 1
  if (left <= 1 || limit === 0) return 1

  const rest = limit - 1
  let best = editDistance(a, b, rest, i + 1, j + 1)
  best = Math.min(best, editDistance(a, b, rest, i + 1, j))
  best = Math.min(best, editDistance(a, b, rest, i, j + 1))
  if (a.charCodeAt(i) === b.charCodeAt(j + 1) && a.charCodeAt(i + 1) === b.charCodeAt(j)) {
    best = Math.min(best, editDistance(a, b, rest, i + 2, j + 2))
  }
  return best + 1
}
