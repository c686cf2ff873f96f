import type { Request } from './request.ts'

/** Limits the number of smaller requests sent. */
const MAX_ATTEMPTS = 200

/**
 * Finds a small request that still fails, by repeatedly leaving out one part.
 *
 * @param fails sends a request on a connection of its own
 */
export async function shrink(
  request: Request,
  fails: (request: Request) => Promise<boolean>,
): Promise<Request> {
  let smallest = request
  let attempts = 0
  for (let found = true; found; ) {
    found = false
    for (const smaller of smallerThan(smallest)) {
      if (++attempts > MAX_ATTEMPTS) return smallest
      if (!(await fails(smaller))) continue
      smallest = smaller
      found = true
      break
    }
  }
  return smallest
}

function* smallerThan(request: Request): Generator<Request> {
  const { headers, target, body } = request
  const [path = '', query] = target.split(/\?(.*)/s)
  if (query !== undefined) {
    yield { ...request, target: path }
    const pairs = query.split('&')
    if (pairs.length > 1) {
      for (const half of [pairs.slice(0, pairs.length / 2), pairs.slice(pairs.length / 2)]) {
        yield { ...request, target: `${path}?${half.join('&')}` }
      }
    }
  }
  for (const index of headers.keys()) yield { ...request, headers: headers.toSpliced(index, 1) }
  if (!body) return
  yield { ...request, body: undefined as never }
  for (const text of smallerTexts(body.toString('utf8')))
    yield { ...request, body: Buffer.from(text) }
}

/** JSON without one of its parts; other text in halves. */
function* smallerTexts(text: string): Generator<string> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    if (text.length > 1) {
      yield text.slice(0, text.length / 2)
      yield text.slice(text.length / 2)
    }
    return
  }
  // Normalised JSON fails as well, unless a duplicate key or an unusual number notation is the cause.
  if (JSON.stringify(value) !== text) yield JSON.stringify(value)
  for (const smaller of smallerValues(value)) yield JSON.stringify(smaller)
}

function* smallerValues(value: unknown): Generator<unknown> {
  if (typeof value === 'string' && value.length > 20) yield value.slice(0, value.length / 2)
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (value.length > 2) yield value.slice(0, value.length / 2)
    for (const [i, entry] of value.entries()) {
      yield value.toSpliced(i, 1)
      for (const smaller of smallerValues(entry)) yield value.with(i, smaller)
    }
    return
  }
  for (const [key, inner] of Object.entries(value)) {
    const { [key]: _, ...rest } = value as Record<string, unknown>
    yield rest
    for (const smaller of smallerValues(inner)) yield { ...value, [key]: smaller }
  }
}
