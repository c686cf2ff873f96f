import { Link } from 'wouter'
import { DISPUTE_STATES } from '../../../server/enums.ts'
import { Select } from '../ui/fields.tsx'
import { Filters, useFilters } from '../ui/filters.tsx'
import { filterOptions } from '../ui/options.ts'
import type { Column } from '../ui/table.tsx'
import { Missing, Money } from '../ui/values.tsx'
import { type Dispute, useList } from './api.ts'
import { AccountFilter } from './filters.tsx'
import { RecordList } from './record-list.tsx'
import { SELLER } from './seller-link.tsx'
import { StatusBadge } from './statuses.tsx'
import { Times } from './times.tsx'

/** The disputes of all sellers. They are resolved on the page of their slice. */
export function Disputes() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    state: '',
    account_id: '',
    page: '',
  })
  const query = useList<Dispute>('disputes', filters)
  return (
    <>
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select label="State" options={filterOptions(DISPUTE_STATES)} {...propsOf('state')} />
        <AccountFilter {...propsOf('account_id')} />
      </Filters>
      <RecordList
        query={query}
        noun="disputes"
        label="Disputes"
        columns={[...DISPUTE_COLUMNS, SELLER]}
        isFiltered={isFiltered}
      />
    </>
  )
}

/** Both sides of a dispute, its state and its times. */
export const DISPUTE_COLUMNS: Column<Dispute>[] = [
  {
    key: 'order',
    header: 'Order row',
    isRowHeader: true,
    cell: ({ order_id, slice_key, item_name, reason }) => (
      <>
        <Link href={`/orders/${slice_key}`}>{item_name ?? 'Item'}</Link>
        <p className="help">
          {order_id} · {reason}
        </p>
      </>
    ),
  },
  {
    key: 'words',
    header: 'Buyer and seller',
    cell: ({ message, answer }) =>
      message || answer ? (
        <div className="review">
          {message && <p className="quotation">{message}</p>}
          {answer && <p className="help">Answer: {answer.message}</p>}
          {answer?.photo_urls.map((url) => (
            <p key={url} className="help">
              <a href={url} target="_blank" rel="noreferrer nofollow">
                {url}
              </a>
            </p>
          ))}
        </div>
      ) : (
        <Missing />
      ),
  },
  {
    key: 'state',
    header: 'State',
    cell: ({ state, resolution, refund }) => (
      <div>
        <StatusBadge status={state} />
        {resolution && (
          <p className="help">
            for the {resolution}
            {refund ? (
              <>
                , <Money amount={refund} /> refunded
              </>
            ) : null}
          </p>
        )}
      </div>
    ),
  },
  {
    key: 'times',
    header: 'Times',
    cell: ({ opened_at, answer_by, answer, resolved_at }) => (
      <Times
        times={[
          ['Opened', opened_at],
          ['Answer by', answer_by],
          ['Answered', answer?.answered_at ?? null],
          ['Resolved', resolved_at],
        ]}
      />
    ),
  },
]
