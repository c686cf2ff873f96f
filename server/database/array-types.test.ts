import { beforeAll, expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import type { Sql } from './sql.ts'

let db: Sql
beforeAll(async () => {
  ;({ db } = await testDatabase())
})

const TEXTS = ['', 'plain', 'null', 'a,b', '{}', '"', '\\', '\\"', ' space ', 'é', null]

it.each([
  ['text[]', TEXTS],
  ['text[]', []],
  [
    'text[]',
    [
      ['a', 'b'],
      ['c', null],
    ],
  ],
  ['integer[]', [1, -2, null]],
  ['bigint[]', [1, 9_007_199_254_740_991]],
  ['float8[]', [1.5, -0.25]],
  ['date[]', ['2026-01-02', null]],
  ['uuid[]', ['00000000-0000-0000-0000-000000000001']],
  ['numeric[]', ['1.005']],
])('an array of type %s comes back as it was sent', async (type, values) => {
  // Twice: the first statement has its parameters' types described, the second is prepared.
  for (let i = 0; i < 2; i++) {
    const [row] = await db`select ${values as string[]}::${db.unsafe(type)} as values`
    expect(row).toEqual({ values })
  }
})

it('arrays of booleans, times, JSON and bytes are parsed', async () => {
  const [row] = await db`
    select
      array[true, null] as flags,
      array['2026-01-02T03:04:05.678Z']::timestamptz[] as times,
      array['{"a": "b\\"c"}']::jsonb[] as json,
      array['\\x00ff']::bytea[] as bytes
  `
  expect(row).toEqual({
    flags: [true, null],
    times: [new Date('2026-01-02T03:04:05.678Z')],
    json: [{ a: 'b"c' }],
    bytes: [Buffer.from([0, 255])],
  })
})
