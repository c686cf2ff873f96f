import type { Random } from '../random.ts'
import { type Member, PASSWORD } from './dashboard.ts'
import type { Memory } from './memory.ts'
import { INVALID_QUERIES, INVALID_SEGMENTS, UNUSUAL_HEADERS, UNUSUAL_METHODS } from './mutations.ts'
import { idsIn, type Operation, type Parameter, type Schema } from './operations.ts'
import { FORM_TYPE, type Program } from './programs.ts'
import type { Request } from './request.ts'
import { jsonFor, type Known, nearlyJsonFor } from './values.ts'

/** Makes requests for an operation that are valid by its description, or invalid in one place. */
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

export type Credentials = {
  operatorToken: string
  receiverUrl: string
  /** The origin of the dashboard. */
  origin: string
  /** The members who are signed in. */
  members: Member[]
  /** The programs that a member has allowed. */
  programs: Program[]
}

export function createGenerator(
  memory: Memory,
  random: Random,
  { operatorToken, receiverUrl, origin, members, programs }: Credentials,
): Generator {
  const build = (
    operation: Operation,
    body: (known: Known) => string | undefined,
    { ids: given = {}, accountId: requested, fields = {} }: Options = {},
  ): Request => {
    const clients: readonly { accountId: number }[] = {
      ...{ operator: [], none: [], seller: memory.sellers, member: members, program: programs },
    }[operation.credential]
    const owners = new Set(clients.map(({ accountId }) => accountId))
    const { ids, accountId: found } = idsFor(operation, memory, random, given, owners)
    const owner =
      requested ?? found ?? (clients.length > 0 ? random.pick(clients).accountId : undefined)
    const seller = ownerAmong(memory.sellers, random, owner)
    const own = new Set(owner === undefined ? [] : [owner])
    const known = knownValues(memory, { receiverUrl, origin, programs }, fields, own)
    const member = ownerAmong(members, random, owner)
    const program = ownerAmong(programs, random, owner)
    const staff = memory.staff.length > 0 && random.chance(0.2) ? random.pick(memory.staff) : null
    const key = {
      operator: staff ?? operatorToken,
      program: program?.token,
      seller: seller?.key,
      member: undefined,
      none: undefined,
    }[operation.credential]
    const text = body(known)
    const headers: Request['headers'] =
      operation.credential === 'none'
        ? []
        : operation.credential === 'member'
          ? [
              ['Cookie', member?.cookie ?? ''],
              ['Origin', origin],
            ]
          : [['Authorization', `Bearer ${key ?? 'svc_live_none'}`]]
    if (text !== undefined) headers.push(['Content-Type', operation.body?.type ?? JSON_TYPE])
    for (const { name, schema } of parametersIn(operation, 'header')) {
      if (random.chance(0.2))
        headers.push([
          name,
          printable(
            JSON.parse(jsonFor(schema, { random, known: (_, random) => known(name, random) })),
          ),
        ])
    }
    return {
      method: operation.method,
      target: pathWith(operation.path, ids) + queryFor(operation, known, random),
      headers,
      ...(text === undefined ? {} : { body: Buffer.from(text) }),
      operation,
      ids,
      ...(operation.credential === 'seller' && seller
        ? { accountId: seller.accountId, sellerKey: seller.key }
        : operation.credential === 'member' && member
          ? { accountId: member.accountId }
          : {}),
      hasValidKey: operation.credential === 'operator' || seller !== undefined,
    }
  }

  const validBody = ({ body }: Operation, fields: object = {}) => {
    return (known: Known) => {
      if (!body || (!body.isRequired && random.chance(0.1))) return undefined
      if (body.type === FORM_TYPE) return formFor(jsonFor(body.schema, { random, known }))
      if (body.type !== JSON_TYPE) return linesFor(String(body.example), random)
      return jsonFor(body.schema, { random, known, always: Object.keys(fields) })
    }
  }

  return {
    valid: (operation, options) => build(operation, validBody(operation, options?.fields), options),
    nearlyValid(operation) {
      if (operation.body && random.chance(0.6)) {
        return build(operation, (known) => invalidBody(operation.body!, random, known))
      }
      return mutate(build(operation, validBody(operation)), random)
    },
  }
}

const JSON_TYPE = 'application/json'

const parametersIn = ({ parameters }: Operation, location: Parameter['in']) =>
  parameters.filter((parameter) => parameter.in === location)

/** Picks path ids, mostly of existing records inside their real parents. */
function idsFor(
  { path }: Operation,
  memory: Memory,
  random: Random,
  given: Record<string, string>,
  owners: ReadonlySet<number>,
): { ids: Record<string, string>; accountId?: number | undefined } {
  const ids: Record<string, string> = {}
  let accountId: number | undefined
  // The innermost record determines its parents.
  for (const { collection } of idsIn(path).reverse()) {
    const record = given[collection] ? undefined : memory.pick(collection, random, owners)
    const outer =
      collection === 'accounts' && accountId !== undefined ? String(accountId) : undefined
    ids[collection] ??= given[collection] ?? outer ?? record?.id ?? String(random.integer(1, 9))
    accountId ??= record?.accountId
    for (const [name, id] of Object.entries(record?.within ?? {})) ids[name] ??= id
  }
  return { ids, accountId }
}

/** The path of an operation with these ids. */
export const pathWith = (path: string, ids: Record<string, string>) => {
  let filled = path
  for (const { name, collection } of idsIn(path)) {
    filled = filled.replace(`{${name}}`, encodeURIComponent(ids[collection]!))
  }
  return filled
}

/** Picks the owner of the record nine times out of ten. */
function ownerAmong<T extends { accountId: number }>(
  clients: readonly T[],
  random: Random,
  accountId: number | undefined,
): T | undefined {
  if (clients.length === 0) return undefined
  const own = clients.filter((client) => client.accountId === accountId)
  return random.pick(own.length > 0 && random.chance(0.9) ? own : clients)
}

function queryFor(operation: Operation, known: Known, random: Random): string {
  const pairs = parametersIn(operation, 'query').flatMap(({ name, schema, isRequired }) => {
    if (!isRequired && !random.chance(0.3)) return []
    const value = JSON.parse(jsonFor(schema, { random, known: (_, random) => known(name, random) }))
    return [`${name}=${encodeURIComponent(String(value))}`]
  })
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

/** Replaces characters that a header value cannot hold. */
const printable = (value: unknown) => String(value).replace(/[^\x20-\x7e]/g, '?')

/** Generates values for fields by their names. */
function knownValues(
  memory: Memory,
  { receiverUrl, origin, programs }: Pick<Credentials, 'receiverUrl' | 'origin' | 'programs'>,
  fields: Record<string, unknown>,
  owners: ReadonlySet<number>,
): Known {
  const id = (collection: string) => (random: Random) => {
    const found = memory.pick(collection, random, owners)
    return found && Number(found.id)
  }
  const several = (collection: string) => (random: Random) => [
    ...new Set(Array.from({ length: random.integer(1, 4) }, () => id(collection)(random) ?? 1)),
  ]
  const text = (collection: string) => (random: Random) =>
    memory.pick(collection, random, owners)?.id
  const generators: Record<string, (random: Random) => unknown> = {
    listing_id: id('listings'),
    order_id: id('orders'),
    order: id('orders'),
    orders: several('orders'),
    ids: several('listings'),
    slice_key: text('slices'),
    cursor: text('cursors'),
    after: text('slices'),
    month: text('statements'),
    iban: () => 'NL02ABNA0123456789',
    password: () => PASSWORD,
    new_password: () => PASSWORD,
    time_zone: (random) => random.pick(['Europe/Amsterdam', 'Asia/Tokyo', 'America/St_Johns']),
    countries: (random) => random.pick([['NL'], ['DE', 'AT'], ['JP']]),
    resource: (random) => origin + random.pick(['/mcp/seller', '/tools/v1']),
    device_code: text('device codes'),
    refresh_token: text('refresh tokens'),
    since: (random) => random.pick(TIMES),
    updated_since: (random) => random.pick(TIMES),
    id: id('listings'),
    // Few references, to provoke conflicts.
    reference: (random) => `SHELF-${random.integer(1, 20)}`,
    account_id: (random) => random.pick(memory.sellers)?.accountId,
    endpoint_id: id('webhooks'),
    card: text('cards'),
    product: text('products'),
    set: text('sets'),
    cart_id: (random) => (random.chance(0.5) ? `cart-${random.integer(1, 20)}` : undefined),
    // Deliveries and photo fetches stay on this machine.
    url: (random) => `${receiverUrl}/hook-${random.integer(1, 99)}`,
    photo_urls: (random) => `${receiverUrl}/photo-${random.integer(1, 99)}.jpg`,
    option: (random) => random.pick(['parcel', 'letter']),
    // Half of them repeat, so that a buyer has several orders.
    email: (random) => `${random.integer(1, random.chance(0.5) ? 20 : 1e9)}@fuzz.example`,
    client_id: (random) => (random.chance(0.5) ? random.pick(programs)?.clientId : undefined),
    user_code: text('user codes'),
    slug: (random) => `shop-${random.integer(1, 1e9)}`,
    code: (random) => random.pick(['parcel', 'letter', `way-${random.integer(1, 9)}`]),
    include: (random) => random.pick(['listings', 'listings,sets', 'x']),
    q: (random) => random.pick(['charizard', 'pikchu', 'é', "farfetch'd", '♀', 'a b c']),
    advance_seconds: (random) => random.pick([0, 1, 60, 3_600, 86_400, 15 * 86_400]),
    from: () => '2000-01-01',
    to: () => '2999-01-01T00:00:00Z',
    // Few keys, to provoke repeats.
    'idempotency-key': (random) => `key-${random.integer(1, 30)}`,
  }
  return (field, random) => {
    if (field in fields) return fields[field]
    // One value in twenty follows the schema alone.
    return random.chance(0.95) ? generators[field]?.(random) : undefined
  }
}

const TIMES = ['2000-01-01', '2026-03-01T09:30:00Z', '2999-01-01']

/** Makes a body that is invalid in one place, or not JSON at all. */
function invalidBody(body: NonNullable<Operation['body']>, random: Random, known: Known): string {
  if (body.type === FORM_TYPE) return invalidForm(body.schema, random, known)
  if (body.type !== JSON_TYPE) return invalidLines(String(body.example), random)
  if (random.chance(0.8)) return nearlyJsonFor(body.schema, { random, known })
  const valid = jsonFor(body.schema, { random, known })
  return random.pick([
    () => valid.slice(0, random.integer(0, valid.length - 1)),
    () => `${valid},`,
    () => `\ufeff${valid}`,
    () => `[${valid}]`,
    () => JSON.stringify(valid),
    () => valid.replaceAll('"', "'"),
    () => 'null',
    () => '[['.repeat(20_000),
    () => `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
    () => `{${Array.from({ length: 5_000 }, (_, i) => `"${i}":1`).join(',')}}`,
    () => `${' '.repeat(10_000)}${valid}`,
    () => `{"x":"${'y'.repeat(270_000)}"}`,
  ])()
}

const formFor = (json: string) =>
  new URLSearchParams(
    Object.entries(JSON.parse(json) as object).map(([name, value]) => [name, String(value)]),
  ).toString()

function invalidForm(schema: Schema, random: Random, known: Known): string {
  const valid = formFor(jsonFor(schema, { random, known }))
  return random.pick([
    () => `${valid}&${valid}`,
    () => valid.replaceAll('=', ''),
    () => `${valid}&client_secret=x`,
    () => `${valid}&token=%00%ff%`,
    () => `${valid}&${'&'.repeat(50_000)}`,
    () => `${valid}&${Array.from({ length: 20_000 }, (_, i) => `${i}=1`).join('&')}`,
    () => `token=${'x'.repeat(200_000)}`,
    () => `${valid}&decision=allow&decision=refuse&orders%3Aread`,
    () => `${valid}&state=%0d%0aX-Injected:1&redirect_uri=https://elsewhere.example/`,
    () => '__proto__=1&constructor=1&grant_type=__proto__',
    () => '{"grant_type":"refresh_token"}',
  ])()
}

/** Varies the set, its language, and whether buyers see it. */
const linesFor = (example: string, random: Random) =>
  example
    .replaceAll('kl1', `kl${random.integer(1, 9)}`)
    .replace('"EN"', `"${random.pick(['EN', 'DE', 'FR', 'JA', 'KO', 'ZH'])}"`)
    .replaceAll('"image_large"', `"visible":${random.chance(0.8)},"image_large"`)

/** Makes one line of an import invalid. */
function invalidLines(text: string, random: Random): string {
  const lines = text.trim().split('\n')
  const line = random.integer(0, lines.length - 1)
  const record = JSON.parse(lines[line]!)
  const field = random.pick(Object.keys(record))
  record[field] = random.pick([null, 1, -1, true, '', 'x'.repeat(300), '\u0000', '\ud800', [], {}])
  lines[line] = random.pick([
    JSON.stringify(record),
    lines[line]!.slice(1),
    `"${'x'.repeat(70_000)}"`,
    'null',
  ])
  return `${lines.join('\n')}\n`
}

/** Changes one thing about a request's method, target, headers or body. */
function mutate(request: Request, random: Random): Request {
  const change = random.pick(['path', 'query', 'header', 'method', 'body', 'credentials'] as const)
  const path = request.target.split('?')[0]!
  switch (change) {
    case 'path': {
      const segments = path.split('/')
      // Other addresses below /dashboard lead to the page, whose files may still be built.
      const first = request.operation.credential === 'member' ? 3 : 1
      const last = segments.length - 1
      segments[random.integer(Math.min(first, last), last)] = random.pick(INVALID_SEGMENTS)
      return { ...request, target: random.chance(0.1) ? `${path}/` : segments.join('/') }
    }
    case 'query':
      return { ...request, target: path + random.pick(INVALID_QUERIES) }
    case 'header': {
      const [name, value] = random.pick(UNUSUAL_HEADERS)
      const rest = request.headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase())
      return {
        ...request,
        headers: [...rest, [name, value]],
        ...(name === 'Authorization' ? NO_KEY : {}),
      }
    }
    case 'method':
      return { ...request, method: random.pick(UNUSUAL_METHODS) }
    case 'body':
      return {
        ...request,
        headers: [...request.headers.filter(([name]) => name !== 'Content-Type'), CONTENT_TYPE],
        body: Buffer.from(random.pick(['{}', '[]', '', '{', 'null', '{"a":1}', '\u0000'])),
      }
    case 'credentials': {
      const left = random.pick(['Cookie', 'Origin'])
      return {
        ...request,
        headers: request.headers.filter(([name]) => name !== left && name !== 'Authorization'),
        ...NO_KEY,
      }
    }
  }
}

const CONTENT_TYPE: [string, string] = ['Content-Type', JSON_TYPE]
const NO_KEY = { sellerKey: undefined, hasValidKey: false } as const
