import type { UseQueryResult } from '@tanstack/react-query'
import type { Paginated } from '../api.ts'
import { Empty } from '../ui/states.tsx'
import { type Column, LoadedPage, Table } from '../ui/table.tsx'

/** A page of records in a table, with the links to the other pages. */
export const RecordList = <Row,>({
  query,
  noun,
  label,
  columns,
  keyOf,
  isFiltered,
}: {
  query: Pick<UseQueryResult<Paginated<Row>>, 'data' | 'error' | 'refetch'>
  /** The records in the plural: "payouts". */
  noun: string
  /** Names the table for screen readers. */
  label: string
  columns: Column<Row>[]
  keyOf: (row: Row) => number
  isFiltered: boolean
}) => (
  <LoadedPage query={query} noun={noun}>
    {({ data }) =>
      data.length === 0 ? (
        <Empty title={isFiltered ? `No ${noun} match these filters` : `No ${noun} yet`} />
      ) : (
        <Table label={label} columns={columns} rows={data} keyOf={keyOf} isWide />
      )
    }
  </LoadedPage>
)
