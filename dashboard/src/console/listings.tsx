import { useState } from 'react'
import { LISTING_STATUSES } from '../../../server/enums.ts'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/fields.tsx'
import { Filters, SearchFilter, useFilters } from '../ui/filters.tsx'
import { filterOptions } from '../ui/options.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { ACTIONS_COLUMN, type Column } from '../ui/table.tsx'
import { notify } from '../ui/toast.tsx'
import { DateTime, Money } from '../ui/values.tsx'
import { type Listing, send, useList, useMay } from './api.ts'
import { AuditLink } from './audit-link.tsx'
import { AccountFilter } from './filters.tsx'
import { ReasonDialog } from './reason-dialog.tsx'
import { RecordList } from './record-list.tsx'
import { SELLER } from './seller-link.tsx'
import { ReasonedStatus } from './statuses.tsx'

export default function ListingsPage() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    account_id: '',
    card: '',
    product: '',
    status: '',
    page: '',
  })
  const [takenDown, setTakenDown] = useState<Listing>()
  const isAllowed = useMay()('takeDownListing')
  const query = useList<Listing>('listings', filters)
  return (
    <>
      <PageHeader title="Listings" />
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select
          label="Status"
          options={filterOptions([...LISTING_STATUSES, 'removed'])}
          {...propsOf('status')}
        />
        <AccountFilter {...propsOf('account_id')} />
        <SearchFilter label="Card’s id" {...propsOf('card')} />
        <SearchFilter label="Product’s slug" {...propsOf('product')} />
      </Filters>
      <RecordList
        query={query}
        noun="listings"
        label="Listings"
        columns={isAllowed ? [...COLUMNS, takeDown(setTakenDown)] : COLUMNS}
        isFiltered={isFiltered}
      />
      {takenDown && (
        <ReasonDialog
          title={`Take listing ${takenDown.id} down`}
          confirm="Take down"
          onConfirm={async (reason) => {
            await send(`listings/${takenDown.id}/take-down`, { reason })
            notify(`Listing ${takenDown.id} was taken down.`)
          }}
          onClose={() => setTakenDown(undefined)}
        >
          The listing is removed permanently, and the seller gets an e-mail with the reason. Open
          orders of it stay.
        </ReasonDialog>
      )}
    </>
  )
}

const COLUMNS: Column<Listing>[] = [
  {
    key: 'item',
    header: 'Listing',
    isRowHeader: true,
    cell: ({ id, card, product, condition, language, printing }) => (
      <>
        {card ?? product}
        <p className="help">{[id, condition, language, printing].filter(Boolean).join(' · ')}</p>
      </>
    ),
  },
  SELLER,
  {
    key: 'status',
    header: 'Status',
    cell: ({ id, status, removed_because }) => (
      <>
        <ReasonedStatus status={status} reason={removed_because} />
        <p className="help">
          <AuditLink record={`listing:${id}`} />
        </p>
      </>
    ),
  },
  { key: 'changed', header: 'Changed', cell: ({ updated_at }) => <DateTime at={updated_at} /> },
  { key: 'stock', header: 'Stock', align: 'end', cell: ({ quantity }) => quantity },
  { key: 'price', header: 'Price', align: 'end', cell: ({ price }) => <Money amount={price} /> },
]

const takeDown = (onTakeDown: (listing: Listing) => void): Column<Listing> => ({
  ...ACTIONS_COLUMN,
  cell: (listing) =>
    listing.status !== 'removed' && (
      <Button
        size="small"
        aria-label={`Take down listing ${listing.id}`}
        onPress={() => onTakeDown(listing)}
      >
        Take down
      </Button>
    ),
})
