import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { valuesIn } from './record-text.ts'

const TEXTS = [
  'plain',
  null,
  '',
  ' ',
  'NULL',
  'a,b',
  '(a)(b)',
  '"',
  '""',
  'say "hi", \\o/',
  '\\',
  '\\"',
  'line\nbreak\tand\u0001',
  'ピカチュウ é 🃏',
  '{a,b}',
]

it('records that PostgreSQL has joined to one text give the values of its rows', async () => {
  const { db } = await testDatabase('empty')
  // Each text in the first, middle and last place.
  const rows = TEXTS.map((_, i) => [0, 1, 2].map((k) => TEXTS[(i + k * 4) % TEXTS.length]!))
  const column = (k: number) => rows.map((row) => row[k]!)
  const [{ records } = { records: '' }] = await db<{ records: string }[]>`
    select string_agg(record::text, '') as records
    from (
      select * from unnest(${column(0)}::text[], ${column(1)}::text[], ${column(2)}::text[])
    ) record
  `
  expect(valuesIn(records)).toEqual(rows.flat())
  expect(valuesIn('')).toEqual([])
})
