/**
 * The number of edits between two words: a letter changed, added, omitted, or swapped with its neighbor (optimal string
 * alignment). Returns `limit + 1` if it is greater than `limit`.
 *
 * Skips the common prefix, and tries each kind of edit at the first difference. With the limits that search uses (1 to
 * 3) this is a handful of paths and needs no table. Levenshtein packages such as fastest-levenshtein count a swap as two
 * edits and have no limit.
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
