import type { Paginated } from '../api.ts'
import { Empty, type Loadable } from '../ui/states.tsx'
import { type Column, LoadedPage, Table } from '../ui/table.tsx'

/** A page of records in a table, with the links to the other pages. */
export const RecordList = <Row extends { id: number }>({
  query,
  noun,
  label,
  columns,
  isFiltered,
}: {
  query: Loadable<Paginated<Row>>
  /** The records in the plural: "payouts". */
  noun: string
  /** Names the table for screen readers. */
  label: string
  columns: Column<Row>[]
  isFiltered: boolean
}) => (
  <LoadedPage query={query} noun={noun}>
    {({ data }) =>
      data.length === 0 ? (
        <Empty title={isFiltered ? `No ${noun} match these filters` : `No ${noun} yet`} />
      ) : (
        <Table label={label} columns={columns} rows={data} isWide />
      )
    }
  </LoadedPage>
)
