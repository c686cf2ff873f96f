import type { Chance } from '../random.ts'
import type { Memory } from './memory.ts'
import { TWISTED_HEADERS, TWISTED_METHODS, TWISTED_PARTS, TWISTED_QUERIES } from './mutations.ts'
import { idsIn, type Operation, type Parameter } from './operations.ts'
import type { Request } from './request.ts'
import { jsonFor, type Known, nearlyJsonFor } from './values.ts'

/** Makes requests for an operation: valid by its description, or wrong in one place. */
export type Generator = {
  valid(operation: Operation, options?: Options): Request
  nearlyValid(operation: Operation): Request
}

export type Options = {
  /** Path ids by collection; remembered ids fill the rest. */
  ids?: Record<string, string>
  /** The shop that sends the request; any shop by default. */
  accountId?: number | undefined
  /** Fixed values for fields of the body. */
  fields?: Record<string, unknown>
}

export type Credentials = { operatorToken: string; receiverUrl: string }

export function createGenerator(
  memory: Memory,
  chance: Chance,
  { operatorToken, receiverUrl }: Credentials,
): Generator {
  const build = (
    operation: Operation,
    body: (known: Known) => string | undefined,
    { ids: given = {}, accountId: wanted, fields = {} }: Options = {},
  ): Request => {
    const { ids, accountId: owner } = idsFor(operation, memory, chance, given)
    const seller = sellerFor(memory, chance, wanted ?? owner)
    const known = knownValues(memory, receiverUrl, fields)
    const key = operation.api === 'operator' ? operatorToken : (seller?.key ?? 'svc_live_none')
    const text = body(known)
    const headers: Request['headers'] = [['Authorization', `Bearer ${key}`]]
    if (text !== undefined) headers.push(['Content-Type', operation.body?.type ?? JSON_TYPE])
    for (const { name, schema } of withPlace(operation, 'header')) {
      if (chance.is(0.2))
        headers.push([
          name,
          printable(
            JSON.parse(jsonFor(schema, { chance, known: (_, chance) => known(name, chance) })),
          ),
        ])
    }
    return {
      method: operation.method,
      target: pathWith(operation.path, ids) + queryFor(operation, known, chance),
      headers,
      ...(text === undefined ? {} : { body: Buffer.from(text) }),
      operation,
      ids,
      ...(operation.api === 'seller' && seller
        ? { accountId: seller.accountId, sellerKey: seller.key }
        : {}),
      hasGoodKey: operation.api === 'operator' || seller !== undefined,
    }
  }

  const validBody = ({ body }: Operation, fields: object = {}) => {
    return (known: Known) => {
      if (!body || (!body.isRequired && chance.is(0.1))) return undefined
      if (body.type !== JSON_TYPE) return String(body.example)
      return jsonFor(body.schema, { chance, known, always: Object.keys(fields) })
    }
  }

  return {
    valid: (operation, options) => build(operation, validBody(operation, options?.fields), options),
    nearlyValid(operation) {
      if (operation.body && chance.is(0.6)) {
        return build(operation, (known) => wrongBody(operation.body!, chance, known))
      }
      return twist(build(operation, validBody(operation)), chance)
    },
  }
}

const JSON_TYPE = 'application/json'

const withPlace = ({ parameters }: Operation, place: Parameter['in']) =>
  parameters.filter((parameter) => parameter.in === place)

/** Picks path ids, mostly of existing records inside their real parents. */
function idsFor(
  { path }: Operation,
  memory: Memory,
  chance: Chance,
  given: Record<string, string>,
): { ids: Record<string, string>; accountId?: number | undefined } {
  const ids: Record<string, string> = {}
  let accountId: number | undefined
  // The innermost record determines its parents.
  for (const { collection } of idsIn(path).reverse()) {
    const record = given[collection] ? undefined : memory.pick(collection, chance)
    const outer =
      collection === 'accounts' && accountId !== undefined ? String(accountId) : undefined
    ids[collection] ??= given[collection] ?? outer ?? record?.id ?? String(chance.whole(1, 9))
    accountId ??= record?.accountId
    for (const [name, id] of Object.entries(record?.within ?? {})) ids[name] ??= id
  }
  return { ids, accountId }
}

const pathWith = (path: string, ids: Record<string, string>) => {
  let filled = path
  for (const { name, collection } of idsIn(path)) {
    filled = filled.replace(`{${name}}`, encodeURIComponent(ids[collection]!))
  }
  return filled
}

/** Picks the owner of the record nine times out of ten. */
function sellerFor(memory: Memory, chance: Chance, accountId: number | undefined) {
  if (memory.sellers.length === 0) return undefined
  const own = memory.sellers.filter((seller) => seller.accountId === accountId)
  return chance.oneOf(own.length > 0 && chance.is(0.9) ? own : memory.sellers)
}

function queryFor(operation: Operation, known: Known, chance: Chance): string {
  const pairs = withPlace(operation, 'query').flatMap(({ name, schema }) => {
    if (!chance.is(0.3)) return []
    const value = JSON.parse(jsonFor(schema, { chance, known: (_, chance) => known(name, chance) }))
    return [`${name}=${encodeURIComponent(String(value))}`]
  })
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

/** Replaces characters that a header value cannot hold. */
const printable = (value: unknown) => String(value).replace(/[^\x20-\x7e]/g, '?')

/** Generates values for fields by their names. */
function knownValues(memory: Memory, receiverUrl: string, fields: Record<string, unknown>): Known {
  const id = (collection: string) => (chance: Chance) => {
    const found = memory.pick(collection, chance)
    return found && Number(found.id)
  }
  const text = (collection: string) => (chance: Chance) => memory.pick(collection, chance)?.id
  const generators: Record<string, (chance: Chance) => unknown> = {
    listing_id: id('listings'),
    account_id: (chance) => chance.oneOf(memory.sellers)?.accountId,
    endpoint_id: id('webhooks'),
    card: text('cards'),
    product: text('products'),
    set: text('sets'),
    cart_id: (chance) => (chance.is(0.5) ? `cart-${chance.whole(1, 20)}` : undefined),
    // Deliveries and photo fetches stay on this machine.
    url: (chance) => `${receiverUrl}/hook-${chance.whole(1, 99)}`,
    photo_urls: (chance) => `${receiverUrl}/photo-${chance.whole(1, 99)}.jpg`,
    option: (chance) => chance.oneOf(['parcel', 'letter']),
    email: (chance) => `${chance.whole(1, 1e9)}@fuzz.example`,
    slug: (chance) => `shop-${chance.whole(1, 1e9)}`,
    code: (chance) => chance.oneOf(['parcel', 'letter', `way-${chance.whole(1, 9)}`]),
    include: (chance) => chance.oneOf(['listings', 'listings,sets', 'x']),
    q: (chance) => chance.oneOf(['charizard', 'pikchu', 'é', "farfetch'd", '♀', 'a b c']),
    advance_seconds: (chance) => chance.oneOf([0, 1, 60, 3_600, 86_400, 15 * 86_400]),
    from: () => '2000-01-01',
    to: () => '2999-01-01T00:00:00Z',
    // Few keys, to provoke repeats.
    'idempotency-key': (chance) => `key-${chance.whole(1, 30)}`,
  }
  return (field, chance) => {
    if (field in fields) return fields[field]
    // One value in twenty follows the schema alone.
    return chance.is(0.95) ? generators[field]?.(chance) : undefined
  }
}

/** Makes a body that is wrong in one place, or not JSON at all. */
function wrongBody(body: NonNullable<Operation['body']>, chance: Chance, known: Known): string {
  if (body.type !== JSON_TYPE) return wrongLines(String(body.example), chance)
  if (chance.is(0.8)) return nearlyJsonFor(body.schema, { chance, known })
  const right = jsonFor(body.schema, { chance, known })
  return chance.oneOf([
    () => right.slice(0, chance.whole(0, right.length - 1)),
    () => `${right},`,
    () => `\ufeff${right}`,
    () => `[${right}]`,
    () => JSON.stringify(right),
    () => right.replaceAll('"', "'"),
    () => 'null',
    () => '[['.repeat(20_000),
    () => `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
    () => `{${Array.from({ length: 5_000 }, (_, i) => `"${i}":1`).join(',')}}`,
    () => `${' '.repeat(10_000)}${right}`,
    () => `{"x":"${'y'.repeat(270_000)}"}`,
  ])()
}

/** Makes one line of an import wrong. */
function wrongLines(text: string, chance: Chance): string {
  const lines = text.trim().split('\n')
  const line = chance.whole(0, lines.length - 1)
  const record = JSON.parse(lines[line]!)
  const field = chance.oneOf(Object.keys(record))
  record[field] = chance.oneOf([null, 1, -1, true, '', 'x'.repeat(300), '\u0000', '\ud800', [], {}])
  lines[line] = chance.oneOf([
    JSON.stringify(record),
    lines[line]!.slice(1),
    `"${'x'.repeat(70_000)}"`,
    'null',
  ])
  return `${lines.join('\n')}\n`
}

/** Changes one thing about a request's method, target, headers or body. */
function twist(request: Request, chance: Chance): Request {
  const change = chance.oneOf(['path', 'query', 'header', 'method', 'body', 'credentials'] as const)
  const path = request.target.split('?')[0]!
  switch (change) {
    case 'path': {
      const parts = path.split('/')
      parts[chance.whole(1, parts.length - 1)] = chance.oneOf(TWISTED_PARTS)
      return { ...request, target: chance.is(0.1) ? `${path}/` : parts.join('/') }
    }
    case 'query':
      return { ...request, target: path + chance.oneOf(TWISTED_QUERIES) }
    case 'header': {
      const [name, value] = chance.oneOf(TWISTED_HEADERS)
      const others = request.headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase())
      return {
        ...request,
        headers: [...others, [name, value]],
        ...(name === 'Authorization' ? NO_KEY : {}),
      }
    }
    case 'method':
      return { ...request, method: chance.oneOf(TWISTED_METHODS) }
    case 'body':
      return {
        ...request,
        headers: [...request.headers.filter(([name]) => name !== 'Content-Type'), CONTENT_TYPE],
        body: Buffer.from(chance.oneOf(['{}', '[]', '', '{', 'null', '{"a":1}', '\u0000'])),
      }
    case 'credentials':
      return {
        ...request,
        headers: request.headers.filter(([name]) => name !== 'Authorization'),
        ...NO_KEY,
      }
  }
}

const CONTENT_TYPE: [string, string] = ['Content-Type', JSON_TYPE]
const NO_KEY = { sellerKey: undefined, hasGoodKey: false } as const
