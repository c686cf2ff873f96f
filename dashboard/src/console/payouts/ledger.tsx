import { Link } from 'wouter'
import { POSTING_KINDS } from '../../../../server/enums.ts'
import { Select } from '../../ui/fields.tsx'
import { Filters, PeriodFilter, SearchFilter, useFilters } from '../../ui/filters.tsx'
import { filterOptions } from '../../ui/options.ts'
import type { Column } from '../../ui/table.tsx'
import { DateTime, Missing, Money } from '../../ui/values.tsx'
import { type LedgerEntry, useList } from '../api.ts'
import { timesOf } from '../days.ts'
import { AccountFilter } from '../filters.tsx'
import { RecordList } from '../record-list.tsx'
import { LedgerAccount } from '../seller-link.tsx'

/** Every movement of money, as the ledger has it. */
export function Ledger() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    kind: '',
    account_id: '',
    slice_key: '',
    from: '',
    to: '',
    page: '',
  })
  const query = useList<LedgerEntry>('ledger', { ...filters, ...timesOf(filters) })
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select label="Kind" options={filterOptions(POSTING_KINDS)} {...propsOf('kind')} />
        <PeriodFilter from={propsOf('from')} to={propsOf('to')} />
        <AccountFilter {...propsOf('account_id')} />
        <SearchFilter label="Slice key" {...propsOf('slice_key')} />
      </Filters>
      <RecordList
        query={query}
        noun="entries"
        label="Ledger"
        columns={COLUMNS}
        isFiltered={isFiltered}
      />
    </>
  )
}

/** The columns of an entry after its kind. */
export const ENTRY_COLUMNS: Column<LedgerEntry>[] = [
  {
    key: 'account',
    header: 'Account',
    cell: ({ account }) => <LedgerAccount account={account} />,
  },
  { key: 'order', header: 'Order row', cell: ({ order_id }) => order_id ?? <Missing /> },
  { key: 'at', header: 'Time', cell: ({ created_at }) => <DateTime at={created_at} /> },
  {
    key: 'amount',
    header: 'Amount',
    align: 'end',
    cell: ({ amount }) => <Money amount={amount} />,
  },
]

const COLUMNS: Column<LedgerEntry>[] = [
  {
    key: 'kind',
    header: 'Kind',
    isRowHeader: true,
    cell: ({ kind, slice_key }) => <Link href={`/orders/${slice_key}`}>{kind}</Link>,
  },
  ...ENTRY_COLUMNS,
]
