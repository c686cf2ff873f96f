/**
 * Requests that are as expensive as their limits allow: the largest, deepest and most repetitive form of every body and
 * query. They are generated from the published descriptions, which covers new operations automatically. A test limits
 * the work that they cause; `npm run hostile` measures their CPU time.
 */
export type HostileRequest = {
  name: string
  method: string
  /** The path differs for each repetition, so that no response comes from a cache. */
  path: (repetition: number) => string
  payload?: string
  /** JSON by default. */
  type?: string
}

/** Ids of existing records, for path parameters. */
export type Records = {
  account: number
  listing: number
  order: number
  slice: string
  endpoint: number
  card: string
  set: string
  product: string
}

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document, walked freely
type Document = any

const BODY_BYTES = 256 * 1024
const BULK_BYTES = 4 * 1024 * 1024
/** Operations with bodies of up to BULK_BYTES. */
const BULK = [
  'POST /v1/listings',
  'POST /tools/v1/listings',
  'POST /tools/v1/listings/changes',
  'POST /tools/v1/listings/deletions',
]
/** Slightly below the limit for values in a body, so that the body is not rejected early. */
const VALUES = 19_000
const QUERY_BYTES = 14_000

/** @param share fraction of the maximum body size; a test sends smaller bodies */
export function hostileRequests(
  document: Document,
  prefix: string,
  records: Records,
  share = 1,
): HostileRequest[] {
  const requests: HostileRequest[] = []
  for (const [template, item] of Object.entries<Document>(document.paths)) {
    // A stream doesn't end. DELETE /key would revoke the key of all further requests, and POST /key needs an access token.
    if (template.endsWith('/stream') || template === '/key') continue
    for (const [method, operation] of Object.entries<Document>(item)) {
      const path = prefix + filledIn(template, method, records)
      const name = `${method.toUpperCase()} ${prefix}${template}`
      if (method === 'get') {
        for (const [what, query] of queries(document, operation)) {
          requests.push({ name: `${name}: ${what}`, method, path: (n) => `${path}?${query(n)}` })
        }
      } else {
        const bulk = BULK.includes(name)
        const room = Math.floor((bulk ? BULK_BYTES : BODY_BYTES) * share) - 1_000
        const schema = operation.requestBody?.content['application/json']?.schema
        const bodies = [...bodiesFor(resolved(document, schema), document, room)]
        if (name.endsWith(' /v1/listings')) bodies.push(...bulkBodies(records))
        for (const [what, payload] of bodies) {
          requests.push({ name: `${name}: ${what}`, method, path: () => path, payload })
        }
      }
    }
  }
  return requests
}

const OAUTH_ENDPOINTS = ['token', 'revoke', 'device', 'register']
/** Slightly below the limit of their bodies. */
const OAUTH_BYTES = 32 * 1024 - 200

/** The most expensive requests of programs that sign in: no published description has them. */
export function hostileOAuthRequests(): HostileRequest[] {
  const bytes = OAUTH_BYTES
  const forms: Record<string, string> = {
    'many parameters': Array.from({ length: bytes / 8 }, (_, i) => `${i}=1`).join('&'),
    'one parameter many times': 'token=1&'.repeat(bytes / 8),
    'empty parameters': '&'.repeat(bytes - 1),
    'a long value': `grant_type=refresh_token&client_id=x&refresh_token=${'x'.repeat(bytes - 100)}`,
    'a long escaped value': `grant_type=authorization_code&code=${'%ff'.repeat(bytes / 3 - 100)}`,
    'many scopes': `client_id=cardstall-cli&scope=${'orders:read+'.repeat(bytes / 12 - 10)}`,
  }
  const uris = Array.from({ length: bytes / 40 }, (_, i) => `https://program.example/${i}`)
  const metadata: Record<string, string> = {
    'deep nesting': '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
    'deep metadata': `${'{"a":'.repeat(bytes / 8)}1${'}'.repeat(bytes / 8)}`,
    'many fields': `{${Array.from({ length: bytes / 12 }, (_, i) => `"${i}":1`).join(',')}}`,
    'many redirect URIs': JSON.stringify({ redirect_uris: uris }),
    'a long name': JSON.stringify({ client_name: 'x'.repeat(bytes - 200), redirect_uris: uris[0] }),
  }
  return OAUTH_ENDPOINTS.flatMap((endpoint) =>
    [
      ...Object.entries(forms).map(([what, payload]) => ({
        what,
        payload,
        type: 'application/x-www-form-urlencoded',
      })),
      ...Object.entries(metadata).map(([what, payload]) => ({
        what,
        payload,
        type: 'application/json',
      })),
    ].map(({ what, payload, type }) => ({
      name: `POST /oauth/${endpoint}: ${what}`,
      method: 'post',
      path: () => `/oauth/${endpoint}`,
      payload,
      type,
    })),
  )
}

/** A tool as `tools/list` shows it. */
type ListedTool = { name: string; inputSchema: object }

/** The most expensive calls of the tools of a tool server. */
export function hostileToolCalls(
  path: string,
  tools: ListedTool[],
  records: Records,
  share = 1,
): HostileRequest[] {
  return tools.flatMap(({ name, inputSchema }) => {
    const requestBody = { content: { 'application/json': { schema: inputSchema } } }
    const document = { paths: { [path]: { post: { requestBody } } } }
    return hostileRequests(document, '', records, share).map((request) => ({
      ...request,
      name: `${request.name.replace(path, `${path} ${name}`)}`,
      payload: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${request.payload}}}`,
    }))
  })
}

function filledIn(template: string, method: string, records: Records): string {
  const id = method === 'delete' || template.endsWith('/rotate') ? 999_999 : undefined
  const of = (collection: string, name: string) => {
    if (name === 'endpoint') return records.endpoint
    if (name === 'key') return 999_999
    const byCollection: Record<string, string | number> = {
      accounts: records.account,
      listings: id ?? records.listing,
      orders: records.order,
      slices: records.slice,
      cards: records.card,
      sets: records.set,
      products: records.product,
    }
    return byCollection[collection] ?? id ?? 1
  }
  return template.replace(
    /(\w+)\/\{(\w+)\}/g,
    (_, collection: string, name: string) => `${collection}/${of(collection, name)}`,
  )
}

type Schema = { properties?: Record<string, Schema>; items?: Schema; maxItems?: number }

/** Resolves the references of a schema, and merges the properties of its alternatives. */
function resolved(document: Document, schema: Document): Schema {
  if (!schema) return {}
  if (schema.$ref)
    return resolved(document, document.components.schemas[schema.$ref.split('/').at(-1)])
  const alternatives = schema.oneOf?.map((one: Document) => resolved(document, one).properties)
  const properties = alternatives ? Object.assign({}, ...alternatives) : schema.properties
  return { properties, items: schema.items, maxItems: schema.maxItems }
}

/** JSON of about this many bytes with at most this many values. */
type Poison = (room: number, values: number) => string

const whole = (count: number) => Math.max(0, Math.floor(count))
const repeated = (text: string, room: number) => text.repeat(whole(room / text.length))
const list = (entry: string, room: number, values: number) =>
  `[${Array(whole(Math.min(room / (Buffer.byteLength(entry) + 1), values))).fill(entry)}]`
const object = (key: (i: number) => string, room: number, values: number) => {
  const length = whole(Math.min(room / (key(values).length + 5), values))
  return `{${Array.from({ length }, (_, i) => `"${key(i)}":0`)}}`
}
const ideographs = (length: number) =>
  Array.from({ length: whole(length) }, (_, i) =>
    String.fromCodePoint(0x4e00 + ((i * 7919) % 20_000)),
  ).join('')

const POISONS: Record<string, Poison> = {
  'long texts': (room) => `"${repeated('a', room)}"`,
  'escaped texts': (room) => `"${repeated('\\u00e9', room)}"`,
  'URLs with long hosts': (room) => `"http://${ideographs(room / 3)}/"`,
  'URLs with many @ and ../': (room) =>
    `"http://${repeated('@', room / 2)}a/${repeated('../', room / 2)}"`,
  'almost e-mail addresses': (room) => `"${repeated('a-', room)}@"`,
  'long integers': (room) => repeated('1', Math.max(room, 1)),
  'long fractions': (room) => `0.${repeated('0', room)}1`,
  'infinite numbers': () => '1e400',
  'lists of numbers': (room, values) => list('0', room, values),
  'lists of empty objects': (room, values) => list('{}', room, values / 2),
  'many fields': (room, values) => object((i) => `field${i}`, room, values),
  'numeric field names': (room, values) => object((i) => `${i * 65_537}`, room, values),
  'one field repeated': (room, values) => object(() => 'field', room, values),
  prototypes: (room, values) => list('{"__proto__":{"price":1}}', room, values / 4),
  'nested lists': () => '['.repeat(20) + ']'.repeat(20),
}

function* bodiesFor(schema: Schema, document: Document, room: number): Generator<[string, string]> {
  yield ['too deep', `{"x":${'['.repeat(room)}`]
  yield ['too many values', `{"x":[${repeated('[],', room)}[]]}`]
  yield [
    'unknown fields with long names',
    object((i) => `${i}`.padEnd(room / VALUES - 6, 'é'), room / 2, VALUES),
  ]
  for (const [what, poison] of Object.entries(POISONS)) {
    yield [`unknown ${what}`, `{"x":${poison(room, VALUES)}}`]
    if (!schema.properties) continue
    yield [`${what} in every field`, filled(schema, document, poison, room, VALUES, false)]
  }
  if (!schema.properties) return
  for (const entry of ['0', '{}', '"x"']) {
    yield [`lists too long, of ${entry}`, filled(schema, document, () => entry, room, VALUES, true)]
  }
}

function filled(
  schema: Schema,
  document: Document,
  poison: Poison,
  room: number,
  values: number,
  tooLong: boolean,
): string {
  const { properties, items, maxItems = 1 } = schema
  if (properties) {
    const names = Object.keys(properties)
    const [part, count] = [room / names.length - 30, Math.floor(values / names.length)]
    const fields = names.map((name) => {
      const inner = resolved(document, properties[name])
      return `${JSON.stringify(name)}:${filled(inner, document, poison, part, count, tooLong)}`
    })
    return `{${fields}}`
  }
  if (!items) return poison(room, values)
  if (tooLong) return list(poison(room, values), room, values / 2)
  const entry = filled(
    resolved(document, items),
    document,
    poison,
    room / maxItems,
    values / maxItems,
    false,
  )
  return list(entry, Math.max(room, entry.length + 1), Math.min(maxItems, values))
}

/** Items that pass all early checks and are as expensive as possible. */
function bulkBodies({ card }: Records): [string, string][] {
  const labels = [ideographs(63), ideographs(126).slice(63)]
  const urls = Array(10).fill(`http://${labels.join('.')}/${'../'.repeat(500)}`)
  const item = { card, condition: 'NM', language: 'EN', price: 1, quantity: 1 }
  const items = (more: object) => JSON.stringify({ items: Array(100).fill({ ...item, ...more }) })
  return [
    ['photo URLs that take long to parse', items({ photo_urls: urls, price: 0 })],
    ['private photo URLs', items({ photo_urls: Array(10).fill('http://0x7f.1/') })],
    [
      'every field invalid',
      items({ card: 'x', price: 0, quantity: 0, photo_urls: Array(10).fill(0) }),
    ],
    ['every field valid', items({ description: '€'.repeat(1_000) })],
  ]
}

type Query = [what: string, text: (repetition: number) => string]

function queries(document: Document, operation: Document): Query[] {
  const parameters: string[] = (operation.parameters ?? [])
    .map((one: Document) =>
      one.$ref ? document.components.parameters[one.$ref.split('/').at(-1)] : one,
    )
    .filter((one: Document) => one.in === 'query')
    .map((one: Document) => one.name)
  const many = (pair: (i: number) => string, bytes = QUERY_BYTES) => {
    let text = ''
    for (let i = 0; text.length < bytes; i++) text += `&${pair(i)}`
    return text
  }
  const all: Query[] = [
    ['many unknown parameters', (n) => `n=${n}${many((i) => `${i.toString(36)}=1`)}`],
    ['percent-encoded unknown parameters', (n) => `n=${n}${many((i) => `%FF${i}=%22`)}`],
    ['many empty parameters', (n) => `n=${n}${many(() => '')}`],
  ]
  const long = QUERY_BYTES / Math.max(1, parameters.length)
  for (const [what, value] of [
    ['long values', 'a'],
    ['long values with escapes', '%E2%82%AC'],
    ['long numbers', '9'],
    ['many commas', ','],
  ] as const) {
    if (parameters.length === 0) continue
    const text = parameters.map((name) => `${name}=${repeated(value, long - 20)}`).join('&')
    all.push([what, (n) => `${text}&n=${n}`])
  }
  // A regular expression that can match the beginning in many ways tries all of them before the last letter.
  for (const name of parameters) {
    for (const value of ['9', '+']) {
      const text = `${name}=${repeated(value, QUERY_BYTES)}x`
      all.push([`${name} with a long beginning of ${value}`, (n) => `${text}&n=${n}`])
    }
  }
  if (parameters.length > 0) {
    all.push([
      'repeated parameters',
      (n) => `n=${n}${many((i) => `${parameters[i % parameters.length]}=${i}`)}`,
    ])
  }
  if (parameters.includes('q')) {
    for (const q of SEARCHES) {
      all.push([
        `search ${JSON.stringify(q.slice(0, 20))}`,
        (n) =>
          `per_page=100&n=${n}&rarity=${n}&category=${n}&language=${n}&q=${encodeURIComponent(q)}`,
      ])
    }
  }
  if (parameters.includes('include')) {
    all.push(['everything included', (n) => `include=cards,products,listings&n=${n}`])
  }
  return all
}

const SEARCHES = [
  'e',
  'ex',
  '?',
  'a'.repeat(100),
  'ab'.repeat(50),
  'a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9 aa bb cc dd ee ff gg hh',
  'pikachuu charizardd blastoisee venusaurr mewtwoo snorlaxx gengarr eeveee dragonitee gyaradoss',
  'energyy energyyy energi enerrgy enregy eenergy nergy energe eneergy enery energty enerhy energu',
  ideographs(100),
  'é'.repeat(100),
  "'".repeat(100),
  'e\u0301\u0316\u0301\u0316'.repeat(20),
  'ﷺ'.repeat(100),
]

/** Creates the records that the requests need, through the operator API and the seller's. */
export async function hostileRecords(
  post: (path: string, body: object) => Promise<Document>,
  account: number,
  catalog: Pick<Records, 'card' | 'set' | 'product'>,
): Promise<Records> {
  const { card } = catalog
  const items = [{ card, condition: 'NM', language: 'EN', price: 5, quantity: 9 }]
  const listing = (await post('/v1/listings', { items })).results[0].listing.id
  const { data } = await post('/operator/v1/checkouts', {
    buyer: { name: 'Misty', email: 'misty@mail.example' },
    lines: [{ listing_id: listing, quantity: 1 }],
  })
  const [{ slice_key: slice, order_ids }] = data.slices
  const hook = { url: 'https://shop.example/hooks', events: ['listing.sold'] }
  const endpoint = (await post('/v1/webhooks', hook)).data.id
  return { account, listing, order: order_ids[0], slice, endpoint, ...catalog }
}
