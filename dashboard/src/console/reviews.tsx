import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../ui/button.tsx'
import { Select } from '../ui/fields.tsx'
import { Filters, useFilters } from '../ui/filters.tsx'
import { filterOptions } from '../ui/options.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { ACTIONS_COLUMN, type Column } from '../ui/table.tsx'
import { notify } from '../ui/toast.tsx'
import { DateTime } from '../ui/values.tsx'
import { type Review, sendDelete, useList, useMay } from './api.ts'
import { AccountFilter, NumberFilter } from './filters.tsx'
import { ReasonDialog } from './reason-dialog.tsx'
import { RecordList } from './record-list.tsx'
import { SELLER } from './seller-link.tsx'

export default function ReviewsPage() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    stars: '',
    account_id: '',
    order_id: '',
    page: '',
  })
  const [removed, setRemoved] = useState<Review>()
  const isAllowed = useMay()('removeReview')
  const query = useList<Review>('reviews', filters)
  return (
    <>
      <PageHeader title="Reviews" />
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select
          label="Stars"
          options={filterOptions(['1', '2', '3', '4', '5'])}
          {...propsOf('stars')}
        />
        <AccountFilter {...propsOf('account_id')} />
        <NumberFilter label="Order’s number" {...propsOf('order_id')} />
      </Filters>
      <RecordList
        query={query}
        noun="reviews"
        label="Reviews"
        columns={isAllowed ? [...COLUMNS, removal(setRemoved)] : COLUMNS}
        isFiltered={isFiltered}
      />
      {removed && (
        <ReasonDialog
          title={`Remove review ${removed.id}`}
          confirm="Remove review"
          onConfirm={async (reason) => {
            await sendDelete(`orders/${removed.order_id}/review`, { reason })
            notify(`Review ${removed.id} was removed.`)
          }}
          onClose={() => setRemoved(undefined)}
        >
          The review is no longer shown or counted in the seller’s rating, and the buyer can’t write
          another one about this sale. This can’t be undone.
        </ReasonDialog>
      )}
    </>
  )
}

const COLUMNS: Column<Review>[] = [
  {
    key: 'review',
    header: 'Review',
    isRowHeader: true,
    cell: ({ id, stars, text, reply }) => (
      <div className="review">
        {stars} of 5 stars
        {text && <p className="quotation">{text}</p>}
        {reply && <p className="help">Reply: {reply.text}</p>}
        <p className="help">{id}</p>
      </div>
    ),
  },
  {
    key: 'order',
    header: 'Order',
    cell: ({ order_id, slice_key }) => <Link href={`/orders/${slice_key}`}>{order_id}</Link>,
  },
  SELLER,
  { key: 'written', header: 'Written', cell: ({ created_at }) => <DateTime at={created_at} /> },
  {
    key: 'removed',
    header: 'Removed',
    cell: ({ removed }) =>
      removed ? (
        <div>
          <DateTime at={removed.removed_at} />
          <p className="help">{removed.reason}</p>
        </div>
      ) : (
        'no'
      ),
  },
]

const removal = (onRemove: (review: Review) => void): Column<Review> => ({
  ...ACTIONS_COLUMN,
  cell: (review) =>
    !review.removed && (
      <Button
        size="small"
        aria-label={`Remove review ${review.id}`}
        onPress={() => onRemove(review)}
      >
        Remove
      </Button>
    ),
})
