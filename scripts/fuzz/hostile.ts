import type { Random } from '../random.ts'

/**
 * Bytes that no well-behaved client sends. The service may respond with an error or close the connection; it must not
 * fail.
 */
export type Attack = {
  name: string
  /** Sent in sequence, as separate writes. */
  parts: Buffer[]
  /** The client disconnects right after the last part, without reading. */
  disconnects?: boolean
}

/** Credentials of both APIs, for attacks that pass authentication. */
export type Keys = { seller: string; operator: string }

/** Makes a random attack. One in five is cut off. */
export function attack(random: Random, keys: Keys): Attack {
  const [name, make] = random.pick(Object.entries(ATTACKS))
  const made = make(random, keys)
  const parts = (Array.isArray(made) ? made : [made]).map((text) => Buffer.from(text, 'latin1'))
  if (!random.chance(0.2)) return { name, parts }
  // The client disconnects in the middle of a request.
  const all = Buffer.concat(parts)
  return { name, parts: [all.subarray(0, random.integer(1, all.length))], disconnects: true }
}

const HEAD = 'Host: localhost\r\n'
const get = (target: string, headers = '') => `GET ${target} HTTP/1.1\r\n${HEAD}${headers}\r\n`
const post = ({ seller }: Keys, headers: string, body: string, target = '/v1/listings') =>
  `POST ${target} HTTP/1.1\r\n${HEAD}Authorization: Bearer ${seller}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`
const long = (random: Random) => 'a'.repeat(random.pick([5_000, 9_000, 17_000, 70_000]))

const LIVE = '/health/live'
/** An address of each API and kind of page, without its first slash. */
const PATHS = [
  ...['', 'health', 'v1/me', 'v1/cards', 'operator/v1/accounts', 'tools/v1/orders', 'mcp'],
  ...['search?q=x', 'sets', 'cards/x', 'shops/x', 'sitemap.xml', 'photos/x', 'labels/x'],
  ...['docs', 'docs/guides', 'signin', 'device', 'oauth/authorize?x', 'console', 'nothing'],
  ...['dashboard/x', 'dashboard/api/me', 'dashboard/assets/x', '.well-known/security.txt'],
]
const SMALL = '{"items":[]}'
const SMUGGLED = 'GET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n'

const ATTACKS: Record<string, (random: Random, keys: Keys) => string | string[]> = {
  'not HTTP': (random) =>
    random.pick([
      '\0',
      'hello\r\n\r\n',
      '\r\n\r\n',
      '\x16\x03\x01\x02\x00',
      '{"a":1}',
      'GET\r\n\r\n',
    ]),
  'random bytes': (random) =>
    String.fromCharCode(...Array.from({ length: 300 }, () => random.integer(0, 255))),
  'odd version': (random) =>
    `GET ${LIVE} ${random.pick(['HTTP/2.0', 'HTTP/0.9', 'HTTP/1.2', 'HTTP/9', 'HTTP', ''])}\r\n${HEAD}\r\n`,
  'HTTP/1.0': (random) =>
    `GET ${random.pick([LIVE, '/v1/me'])} HTTP/1.0\r\n${random.pick(['', 'Connection: keep-alive\r\n'])}\r\n`,
  'preface of HTTP/2': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'odd method': (random) =>
    `${random.pick(['get', 'Get', 'FOO', 'G@T', 'A'.repeat(3_000), 'QUERY', 'CONNECT', ''])} ${LIVE} HTTP/1.1\r\n${HEAD}\r\n`,
  CONNECT: () => 'CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n',
  upgrade: (random) =>
    get(LIVE, `Connection: Upgrade\r\nUpgrade: ${random.pick(['websocket', 'h2c', 'x', ''])}\r\n`),
  'odd target': (random) =>
    get(
      random.pick([
        ...[
          '*',
          'x',
          '//',
          '//x/v1/me',
          'http://localhost/v1/me',
          'http://[/v1/me',
          'http://',
          '?',
        ],
        ...[
          '/v1/../health/live',
          '/%2e%2e/v1/me',
          '/v1/me#x',
          '/v1\\me',
          '/\x80',
          '/v1/me\tx',
          '/%',
          '/;',
        ],
        ...[
          '/v1/sets/%E0%A4%A',
          `/${'%00'.repeat(50)}`,
          '/\x7f',
          'file:///etc/passwd',
          '/:80',
          '/|',
        ],
      ]),
    ),
  'target without a slash': (random) => {
    const start = random.pick(['*', '*', 'http://x/', 'HTTPS://x:1//', 'ftp://x/'])
    return get(start + random.pick(PATHS), 'Accept: text/html\r\n')
  },
  'long target': (random) => get(`/v1/sets/${long(random)}`),
  'many slashes': () => get('/'.repeat(5_000)),
  'no Host': () => `GET ${LIVE} HTTP/1.1\r\n\r\n`,
  'several Hosts': () => `GET ${LIVE} HTTP/1.1\r\n${HEAD}Host: other\r\n\r\n`,
  'large header': (random) => get(LIVE, `X-A: ${long(random)}\r\n`),
  'many headers': () => get(LIVE, 'X-A: 1\r\n'.repeat(1_500)),
  'odd header': (random) =>
    get(
      LIVE,
      random.pick([
        ...[
          ': x\r\n',
          'X A: 1\r\n',
          'X\0A: 1\r\n',
          'X-A: \0\r\n',
          'X-A: 1\n',
          ' X-A: 1\r\n',
          'X-A\r\n',
        ],
        ...[
          'X-A: 1\r\n folded\r\n',
          'X-A: \x80\xff\r\n',
          'X-A : 1\r\n',
          'X-A: 1\rX-B: 2\r\n',
          '\r\nX: 1\r\n',
        ],
      ]),
    ),
  'header injection': () => get('/v1/sets?q=a%0d%0aX-Injected:%201'),
  'odd Expect': (random, keys) =>
    post(
      keys,
      `Expect: ${random.pick(['x', '', '200-ok', '100-continue, x'])}\r\nContent-Length: 12\r\n`,
      SMALL,
    ),
  'body after 100-continue': (_random, keys) => [
    post(keys, 'Expect: 100-continue\r\nContent-Length: 12\r\n', ''),
    SMALL,
  ],
  'wrong Content-Length': (random, keys) =>
    post(
      keys,
      `Content-Length: ${random.pick(['3', '13', '-1', '+12', '12, 12', '0x0c', '1e1', '9'.repeat(30), ''])}\r\n`,
      SMALL,
    ),
  'two Content-Lengths': (_random, keys) =>
    post(keys, 'Content-Length: 12\r\nContent-Length: 0\r\n', SMALL + SMUGGLED),
  'Content-Length and chunks': (_random, keys) =>
    post(keys, 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  'small chunks': (random, keys) =>
    post(
      keys,
      'Transfer-Encoding: chunked\r\n',
      `c\r\n${SMALL}\r\n${'1\r\n \r\n'.repeat(random.integer(4_000, 20_000))}0\r\n\r\n`,
      random.pick(['/v1/listings', '/mcp', '/signin', '/nothing']),
    ),
  chunks: (random, keys) =>
    post(
      keys,
      'Transfer-Encoding: chunked\r\n',
      random.pick([
        ...[
          `c\r\n${SMALL}\r\n0\r\n\r\n`,
          'zz\r\nx\r\n',
          '5\r\nab',
          '-1\r\n\r\n',
          '\r\n',
          `c;x=y\r\n${SMALL}\r\n0\r\n\r\n`,
        ],
        ...[
          `${'f'.repeat(20)}\r\n`,
          `c\r\n${SMALL}0\r\n\r\n`,
          `c\r\n${SMALL}\r\n0\r\nX: y\r\n\r\n`,
          '1;\0\r\na\r\n',
        ],
      ]),
    ),
  'odd Transfer-Encoding': (random, keys) =>
    post(
      keys,
      `Transfer-Encoding: ${random.pick(['identity', 'gzip', 'chunked, chunked', 'xchunked', 'gzip, chunked', ' chunked', '\x0bchunked'])}\r\n`,
      `0\r\n\r\n${SMUGGLED}`,
    ),
  pipelining: (random, keys) =>
    get('/v1/me', `Authorization: Bearer ${keys.seller}\r\n`).repeat(random.integer(2, 30)),
  'pipelining after an error': (_random, keys) =>
    get('/nothing') + post(keys, 'Content-Length: 1\r\n', '{') + get(LIVE) + get('/%') + get(LIVE),
  'body of a GET': (_random, { seller }) =>
    get('/v1/me', `Authorization: Bearer ${seller}\r\nContent-Length: 28\r\n`) +
    SMUGGLED.slice(0, 28),
  'compressed import that is not gzip': (random, { operator }) =>
    `POST /operator/v1/catalog/import HTTP/1.1\r\n${HEAD}Authorization: Bearer ${operator}\r\nContent-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\n${random.pick(['\x1f\x8b\x08\0\0\0\0\0\0\x03ab', 'x'.repeat(12)])}`,
  'chunked import': (random, { operator }) =>
    `POST /operator/v1/catalog/import HTTP/1.1\r\n${HEAD}Authorization: Bearer ${operator}\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n${random.pick(['5\r\n{"typ\r\n', '3\r\n{}\n\r\n0\r\n\r\n', `4e20\r\n${'['.repeat(20_000)}\r\n0\r\n\r\n`, 'zz\r\n'])}`,
  'body over the limit': (random, keys) => {
    const target = random.pick(['/v1/listings', '/v1/webhooks', '/v1/orders/1/label'])
    const length = target === '/v1/listings' ? 4_200_000 : 270_000
    return post(keys, `Content-Length: ${length}\r\n`, 'x'.repeat(length), target)
  },
  'body announced over the limit': (_random, keys) =>
    post(keys, `Content-Length: 99999999999\r\n`, '{"items":'),
  'deep nesting': (_random, keys) => {
    const body = '['.repeat(250_000)
    return post(keys, `Content-Length: ${body.length}\r\n`, body)
  },
}
