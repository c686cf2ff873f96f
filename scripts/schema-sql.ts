import type { Db } from '../server/database/sql.ts'

const HEADER = `-- The schema after all migrations, for reading. Written by "npm run generate"; never executed.
`

type Table = {
  name: string
  partitionedBy: string | null
  columns: string[]
  constraints: string[]
  triggers: string[]
}

/**
 * The database's tables, with their constraints, indexes and triggers, its sequences, views and functions as text in a
 * stable order. Partitions are left out.
 */
export async function schemaSql(db: Db): Promise<string> {
  const tables = await db<Table[]>`
    select
      c.relname as name,
      pg_get_partkeydef(c.oid) as "partitionedBy",
      (
        select array_agg(
          a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
            || coalesce(' collate "' || nullif(col.collname, 'default') || '"', '')
            || case a.attidentity when 'a' then ' generated always as identity' else '' end
            || coalesce(
              case a.attgenerated
                when 's' then ' generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') stored'
                else ' default ' || pg_get_expr(d.adbin, d.adrelid)
              end,
              ''
            )
            || case when a.attnotnull then ' not null' else '' end
          order by a.attnum
        )
        from pg_attribute a
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        left join pg_collation col on col.oid = a.attcollation
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      ) as columns,
      (
        select coalesce(
          array_agg(
            'constraint ' || k.conname || ' ' || pg_get_constraintdef(k.oid, true)
            order by k.contype = 'p' desc, k.conname
          ),
          '{}'
        )
        from pg_constraint k
        where k.conrelid = c.oid and k.contype in ('p', 'u', 'c', 'f', 'x')
      ) as constraints,
      (
        select coalesce(
          array_agg(
            pg_get_triggerdef(t.oid, true) || ';'
              || case t.tgenabled
                when 'A' then
                  E'\\nALTER TABLE ' || c.relname || ' ENABLE ALWAYS TRIGGER ' || t.tgname || ';'
                else ''
              end
            order by t.tgname
          ),
          '{}'
        )
        from pg_trigger t
        where t.tgrelid = c.oid and not t.tgisinternal
      ) as triggers
    from pg_class c
    where
      c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname
  `
  const indexes = await db<{ table: string; definition: string }[]>`
    select c.relname as table, pg_get_indexdef(i.indexrelid) as definition
    from pg_index i
    join pg_class c on c.oid = i.indrelid
    where
      c.relnamespace = 'public'::regnamespace
      and not c.relispartition
      and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
    order by 1, 2
  `
  // Sequences of identity columns are left out.
  const others = await db<{ definition: string }[]>`
    (
      select 'CREATE SEQUENCE ' || c.relname || ';' as definition
      from pg_class c
      where
        c.relnamespace = 'public'::regnamespace
        and c.relkind = 'S'
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')
      order by c.relname
    )
    union all
    (
      select 'CREATE VIEW ' || c.relname || E' AS\\n' || pg_get_viewdef(c.oid, true)
      from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'v'
      order by c.relname
    )
    union all
    (
      select rtrim(pg_get_functiondef(p.oid), E'\\n') || ';'
      from pg_proc p
      where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'
      order by p.proname, p.oid::regprocedure::text
    )
  `
  const parts = tables.map(({ name, partitionedBy, columns, constraints, triggers }) => {
    const lines = [...columns, ...constraints].map((line) => `  ${line}`).join(',\n')
    const own = indexes.filter(({ table }) => table === name).map((i) => `${i.definition};`)
    const partitioned = partitionedBy ? ` partition by ${partitionedBy}` : ''
    return [`create table ${name} (\n${lines}\n)${partitioned};`, ...own, ...triggers].join('\n')
  })
  return `${HEADER}\n${[...parts, ...others.map((other) => other.definition)].join('\n\n')}\n`
}
