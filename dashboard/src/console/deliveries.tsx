import { DELIVERY_STATUSES } from '../../../server/enums.ts'
import { Select } from '../ui/fields.tsx'
import { Filters, PeriodFilter, useFilters } from '../ui/filters.tsx'
import { filterOptions } from '../ui/options.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { Empty } from '../ui/states.tsx'
import { LoadedPage } from '../ui/table.tsx'
import { type Delivery, useList } from './api.ts'
import { timesOf } from './days.ts'
import { DeliveryTable } from './delivery-table.tsx'
import { AccountFilter, NumberFilter } from './filters.tsx'

export default function DeliveriesPage() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    account_id: '',
    endpoint_id: '',
    status: '',
    from: '',
    to: '',
    page: '',
  })
  // The service looks for days among the deliveries of a seller or an endpoint alone.
  const hasDays = filters.account_id !== '' || filters.endpoint_id !== ''
  const days = hasDays ? timesOf(filters) : { from: '', to: '' }
  const query = useList<Delivery>('deliveries', { ...filters, ...days })
  return (
    <>
      <PageHeader title="Deliveries" />
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <Select label="Status" options={filterOptions(DELIVERY_STATUSES)} {...propsOf('status')} />
        <AccountFilter {...propsOf('account_id')} />
        <NumberFilter label="Endpoint’s number" {...propsOf('endpoint_id')} />
        {hasDays && <PeriodFilter from={propsOf('from')} to={propsOf('to')} />}
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
