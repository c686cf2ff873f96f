import { DELIVERY_STATUSES } from '../../../server/enums.ts'
import { Select } from '../ui/fields.tsx'
import { Filters, useFilters } from '../ui/filters.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Empty } from '../ui/states.tsx'
import { LoadedPage } from '../ui/table.tsx'
import { type Delivery, useList } from './api.ts'
import { DeliveryTable } from './delivery-table.tsx'
import { AccountFilter, NumberFilter } from './filters.tsx'
import { optionsOf } from './statuses.tsx'

export default function DeliveriesPage() {
  const { filters, setFilters, isFiltered, clearFilters } = useFilters({
    account_id: '',
    endpoint_id: '',
    status: '',
    page: '',
  })
  const query = useList<Delivery>('deliveries', filters)
  return (
    <>
      <PageHeader title="Deliveries" />
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select
          label="Status"
          options={optionsOf(DELIVERY_STATUSES)}
          value={filters.status}
          onChange={(status) => setFilters({ status })}
        />
        <AccountFilter
          value={filters.account_id}
          onChange={(account_id) => setFilters({ account_id }, { replace: true })}
        />
        <NumberFilter
          label="Endpoint’s number"
          value={filters.endpoint_id}
          onChange={(endpoint_id) => setFilters({ endpoint_id }, { replace: true })}
        />
      </Filters>
      <LoadedPage query={query} noun="deliveries">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={isFiltered ? 'No delivery matches these filters' : 'No deliveries yet'} />
          ) : (
            <DeliveryTable deliveries={data} />
          )
        }
      </LoadedPage>
    </>
  )
}
