import fc from 'fast-check'

const SURROGATES = { first: 0xd800, count: 0x800 }
const MAX_CODE_POINT = 0x10ffff

/**
 * Any code point, as the unit of `fc.string`. Its own unit `binary` is the same, but fills a map of all 1.1 million code
 * points, which takes more than a second and 100 MB in each worker.
 */
export const codePoint = fc.integer({ min: 0, max: MAX_CODE_POINT - SURROGATES.count }).map(
  (n) => String.fromCodePoint(n < SURROGATES.first ? n : n + SURROGATES.count),
  // With the way back, `fc.string` also generates strings like `__proto__`.
  (text) => {
    const point = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1
    if (point < 0 || String.fromCodePoint(point) !== text) throw new Error('Not a code point')
    const isBefore = point < SURROGATES.first
    if (!isBefore && point < SURROGATES.first + SURROGATES.count) throw new Error('A surrogate')
    return isBefore ? point : point - SURROGATES.count
  },
)
