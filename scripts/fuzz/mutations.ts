import type { Random } from '../random.ts'
import type { Schema } from './operations.ts'

/** Invalid and unusual values for every part of a request. */

/** JSON values as text, because JavaScript cannot represent some of them. */
export const INVALID_TOKENS = [
  ...['null', 'true', '0', '-0', '-1', '1.5', '1.0', '1e3', '0.1e1', '1e400', '-1e400', '1e-400'],
  ...['9007199254740993', '2147483648', '99999999999999999999', '0.30000000000000004'],
  ...['""', '" "', '"1"', '"null"', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\ufeff"'],
  ...['"\\u202e"', '"e\\u0301"', '"😀"', '"%s%n"', '"\'; --"', '"<script>"', '"../../etc/passwd"'],
  ...['[]', '{}', '[[]]', '[null]', '{"length":1}', '{"__proto__":{"x":1}}'],
  ...['"javascript:alert(1)"', '"http://localhost:1/\\u0000"', '"http://[::1"', '"http://127.1/"'],
  `"${'x'.repeat(5_000)}"`,
  `"${'😀'.repeat(2_000)}"`,
  '['.repeat(200) + ']'.repeat(200),
]

/** A string at the limits of its schema: barely valid or barely invalid. */
export function boundaryString({ maxLength = 100 }: Schema, right: string, random: Random): string {
  return random.pick([
    () => JSON.stringify(right.padEnd(maxLength, 'x')),
    () => JSON.stringify(right.padEnd(maxLength + 1, 'x')),
    () => JSON.stringify('😀'.repeat(maxLength)),
    () => JSON.stringify('😀'.repeat(maxLength + 1)),
    () => JSON.stringify(right === right.toUpperCase() ? right.toLowerCase() : right.toUpperCase()),
    () => JSON.stringify(` ${right} `),
    () => JSON.stringify(`${right}\n`),
    () => `"${right.replaceAll(/["\\\n]/g, '')}\\u0000"`,
    () => `"\\ud83d${right.replaceAll(/["\\\n]/g, '')}"`,
    () => '""',
  ])()
}

/** Path segments that name no record. */
export const INVALID_SEGMENTS = [
  ...['0', '-1', '1.5', 'x', '01', '+1', '1e3', '0x1', '9007199254740992', '99999999999999999999'],
  ...[
    '%00',
    '%ff',
    '%c0%af',
    '%',
    '%2',
    '%zz',
    '%2e%2e',
    '..',
    '.',
    '%2f',
    'a%2fb',
    '%20',
    '%0d%0a',
  ],
  ...[
    '%F0%9F%98%80',
    '%ED%A0%80',
    '%EF%BC%91',
    '*',
    '{id}',
    ':id',
    ';',
    '1;2',
    '1,2',
    '%3f',
    'null',
  ],
  ...['__proto__', 'constructor', 'swsh9', 'brs', 'brs_18', 'cel_15', '~', "'", '(', ''],
  'a'.repeat(150),
  'a'.repeat(5_000),
  '%F0%9F%98%80'.repeat(500),
]

/** Query strings with invalid, repeated or oversized parameters. */
export const INVALID_QUERIES = [
  ...['?', '??', '?&', '?=', '?%', '?%zz=1', '?a=%ff', '?q=%00', '?q=%ED%A0%80', '?q=\u00e9'],
  ...['?page=0', '?page=-1', '?page=1e9', '?page=1000000001', '?page=1.5', '?page=', '?page=١'],
  ...['?per_page=0', '?per_page=101', '?per_page=x', '?page=1&page=2', '?page[]=1', '?page[a]=1'],
  ...[
    '?__proto__=1',
    '?__proto__[x]=1',
    '?constructor=1',
    '?hasOwnProperty=1',
    '?include=,,listings',
  ],
  ...['?updated_since=9999-99-99', '?updated_since=0000-01-01', '?updated_since=2026-02-30'],
  ...[
    '?since=%2B275760-09-13',
    '?since=-000001-01-01',
    '?since=1e400',
    '?status=ACTIVE',
    '?status=',
  ],
  ...['?q=%25', "?q='%20or%201=1", '?q=*', '?set=%', '?card=brs', '?product=%F0%9F%98%80'],
  ...['?account_id=0', '?account_id=9007199254740993', '?endpoint_id=-1', '?after=', '?after=1-1'],
  `?q=${'a'.repeat(7_000)}`,
  `?${'a=1&'.repeat(2_000)}`,
  `?${'&'.repeat(5_000)}`,
]

/** Headers that contradict or burden an ordinary request. */
export const UNUSUAL_HEADERS: [name: string, value: string][] = [
  ['Authorization', 'Bearer svc_live_0000000000000000000000000000000000000000'],
  ['Authorization', 'Bearer'],
  ['Authorization', 'Basic YTpi'],
  ['Authorization', `Bearer ${'x'.repeat(4_000)}`],
  ['Authorization', 'Bearer \u00e9'],
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', 'application/json;'],
  ['Content-Type', ';'],
  ['Content-Type', 'multipart/form-data; boundary=x'],
  ['Content-Type', 'application/x-ndjson'],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'identity'],
  ['Content-Encoding', 'nonsense'],
  ['Idempotency-Key', ''],
  ['Idempotency-Key', 'x'.repeat(256)],
  ['Idempotency-Key', 'the same again'],
  ['Accept', 'text/html'],
  ['Accept-Encoding', 'gzip, br;q=0'],
  ['Expect', '100-continue'],
  ['If-None-Match', '*'],
  ['If-None-Match', '"x", W/"y"'],
  ['Range', 'bytes=0-0'],
  ['Connection', 'close'],
  ['Last-Event-ID', '-1'],
  ['Host', ''],
  ['Origin', 'null'],
  ['X-Forwarded-For', '"'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Cookie', `a=${'b'.repeat(3_000)}`],
]

/** Methods that most operations do not have. */
export const UNUSUAL_METHODS = [
  ...['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'POST', 'TRACE', 'PROPFIND', 'QUERY', 'LOCK'],
  ...['SEARCH', 'MKCOL', 'REPORT', 'PURGE', 'M-SEARCH', 'SOURCE'],
]
