import { parse } from 'postgres-array'
import type { Sql } from './sql.ts'

/** Object ids of built-in types and of their array types. They are the same on every server. */
const ARRAY_OF: Record<number, number> = {
  16: 1000, // boolean
  17: 1001, // bytea
  20: 1016, // bigint
  21: 1005, // smallint
  23: 1007, // integer
  25: 1009, // text
  114: 199, // json
  700: 1021, // real
  701: 1022, // double precision
  1043: 1015, // varchar
  1082: 1182, // date
  1114: 1115, // timestamp
  1184: 1185, // timestamptz
  1700: 1231, // numeric
  2950: 2951, // uuid
  3802: 3807, // jsonb
}

type Codecs = {
  parsers: Record<number, ((text: string) => unknown) | undefined>
  serializers: Record<number, ((value: unknown) => unknown) | undefined>
}

/**
 * Registers array types with a client. The client can fetch them itself (`fetch_types`), but if the connection is lost
 * during that query, an unhandled rejection ends the process.
 */
export function registerArrayTypes<S extends Sql>(sql: S): S {
  const { parsers, serializers } = sql.options as unknown as Codecs
  for (const [element, array] of Object.entries(ARRAY_OF)) {
    const parser = parsers[Number(element)]
    const serializer = serializers[Number(element)]
    parsers[array] = (text) => parse(text, parser ?? String)
    serializers[array] = (value) => (Array.isArray(value) ? literal(value, serializer) : value)
  }
  return sql
}

function literal(values: unknown[], serializer: Codecs['serializers'][number]): string {
  const items = values.map((value) => {
    if (Array.isArray(value)) return literal(value, serializer)
    if (value === null || value === undefined) return 'null'
    if (typeof value === 'number') return String(value)
    const text = String(serializer ? serializer(value) : value)
    return `"${text.replace(/["\\]/g, '\\$&')}"`
  })
  return `{${items.join(',')}}`
}
