import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { wholeRows } from './whole-rows.ts'

it('whole rows have the names, values and order of the columns that the client reads', async () => {
  const { db } = await testDatabase()
  const manyColumns = (count: number) => db<Record<string, unknown>[]>`
    select
      number as id, null::text as nothing, 'it''s "quoted" and ピカチュウ' as "a ""text""",
      ${count}::int as c1, 2 as c2, 3 as c3, 4 as c4, 5 as c5, 6 as c6, 7 as c7, 8 as c8,
      true as yes, array['a', null] as texts, '{"b": [1]}'::jsonb as object,
      '2026-03-01T09:30:00.123Z'::timestamptz as "createdAt", 4.5::float8 as ratio,
      9007199254740991::bigint as large
    from generate_series(1, ${count}::int) number
  `
  for (const count of [2, 0, 3]) {
    const rows = await manyColumns(count)
    const whole = await wholeRows(manyColumns(count))
    expect(whole).toEqual([...rows])
    expect(whole.map((row) => Object.keys(row))).toEqual(rows.map((row) => Object.keys(row)))
  }
})
