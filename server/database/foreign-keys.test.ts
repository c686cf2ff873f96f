import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'

/** Rows of these tables are never deleted, so nothing looks for the rows that refer to them. */
const KEPT = ['accounts', 'orders', 'postings']

it('deleting a row finds the rows that refer to it by an index', async () => {
  const { db } = await testDatabase('empty')
  const withoutIndex = await db<{ key: string }[]>`
    select conrelid::regclass || '.' || attname || ' refers to ' || confrelid::regclass as key
    from pg_constraint
    join pg_attribute on attrelid = conrelid and attnum = conkey[1]
    where
      contype = 'f'
      and confrelid::regclass::text <> all(${KEPT})
      and not exists (select from pg_index where indrelid = conrelid and indkey[0] = conkey[1])
    order by key
  `
  expect(withoutIndex.map(({ key }) => key)).toEqual([])
})
