import { useRef } from 'react'
import { useSearchParams } from 'wouter'
import type { Paginated } from '../api.ts'
import { apiUrl } from '../client.ts'
import { queryClient, readAgain } from '../query-client.ts'
import { HiddenShopNotice } from '../shell/hidden-shop-notice.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { DownloadLink } from '../ui/download-link.tsx'
import { Select } from '../ui/fields.tsx'
import { Filters, SearchFilter, useFilters } from '../ui/filters.tsx'
import { plural } from '../ui/format.ts'
import { readCount, readNumber } from '../ui/numbers.ts'
import { PageHeader } from '../ui/page-header.tsx'
import { Empty } from '../ui/states.tsx'
import { ACTIONS_COLUMN, type Column, LoadedPage, Table, useSelection } from '../ui/table.tsx'
import {
  type Begun,
  changeListing,
  isCut,
  LISTS,
  type Listing,
  langOf,
  nameOf,
  useListings,
} from './api.ts'
import { BulkBar } from './bulk.tsx'
import { EditListing } from './edit.tsx'
import { InlineInput, InlineStatus } from './inline.tsx'
import { Picture } from './picture.tsx'

const STATUSES = [
  { value: '', label: 'Every status' },
  { value: 'active', label: 'Active' },
  { value: 'sold', label: 'Sold out' },
  { value: 'hidden', label: 'Hidden' },
]

/** The seller's listings: find them, change them in place, and change many at once. */
export function ListingsList() {
  const { filters, propsOf, isFiltered, clearFilters } = useFilters({
    q: '',
    status: '',
    page: '1',
  })
  const { q, status, page } = filters
  const query = useListings({ q, status }, page)
  const total = query.data?.meta.total
  const selection = useSelection(query.data?.data.map(({ id }) => id) ?? [])
  const clearSelection = () => selection.onChange(new Set())
  const { opened, open, close } = useOpened()

  const refresh = () => readAgain(LISTS)

  /** Grows when a save begins or ends. */
  const saves = useRef(0)
  /** Shows the saved values at once, on every page that was read before. */
  const save = async (id: number, changes: object, begun?: Begun) => {
    const beginning = ++saves.current
    const { data } = await changeListing(id, changes, begun)
      .catch((error) => {
        // The stock that is shown may be wrong: the change may have been made, or units were sold.
        void refresh()
        throw error
      })
      .finally(() => saves.current++)
    const isOvertaken = saves.current > beginning + 1
    // Another save may have a newer response, also of this row: the other values of this one may be older.
    const saved = Object.entries(data).filter(([name]) => !isOvertaken || name in changes)
    queryClient.setQueriesData<Paginated<Listing>>(
      { queryKey: LISTS },
      (list) =>
        list && {
          ...list,
          data: list.data.map((row) =>
            row.id === id ? { ...row, ...Object.fromEntries(saved) } : row,
          ),
        },
    )
    // The response to a read may be older than this one although it arrives later.
    if (isOvertaken || queryClient.isFetching({ queryKey: LISTS }) > 0) {
      // A search shows the rows of the former one until its first response: the field keeps what was typed.
      await refresh()
    }
  }

  const columns: Column<Listing>[] = [
    {
      key: 'name',
      header: 'Listing',
      isRowHeader: true,
      cell: (listing) => (
        <div className="listing-name">
          <Picture src={listing.item?.image ?? null} name={nameOf(listing)} />
          <div>
            <strong lang={langOf(listing.item)}>{nameOf(listing)}</strong>
            <span className="help">
              {[listing.item?.details, ...traitsOf(listing)].filter(Boolean).join(' · ')}
            </span>
            {listing.reference !== null && <span className="code">{listing.reference}</span>}
            {listing.isKept && <Badge tone="warn">No longer on this page</Badge>}
            {listing.item_hidden && <Badge tone="warn">Hidden by the marketplace</Badge>}
            {listing.photos_failed > 0 && (
              <Badge tone="warn">{plural(listing.photos_failed, 'photo')} failed</Badge>
            )}
          </div>
        </div>
      ),
    },
    {
      key: 'price',
      header: 'Price (€)',
      align: 'end',
      cell: (listing) => (
        <InlineInput
          label={`Price of ${rowName(listing)}`}
          listing={listing.id}
          value={listing.price.toFixed(2)}
          inputMode="decimal"
          onSave={async (text) => save(listing.id, { price: readNumber('price', text) })}
        />
      ),
    },
    {
      key: 'quantity',
      header: 'Stock',
      align: 'end',
      cell: (listing) => (
        <InlineInput
          label={`Stock of ${rowName(listing)}`}
          listing={listing.id}
          value={String(listing.quantity)}
          inputMode="numeric"
          onSave={async (text, begun) =>
            save(listing.id, { quantity: readCount('quantity', text) }, begun)
          }
        />
      ),
    },
    {
      key: 'status',
      header: 'Status',
      cell: (listing) => (
        <InlineStatus
          label={`Status of ${rowName(listing)}`}
          status={listing.status}
          onSave={(status) => save(listing.id, { status })}
        />
      ),
    },
    {
      ...ACTIONS_COLUMN,
      cell: (listing) => (
        <Button
          size="small"
          look="quiet"
          icon="edit"
          aria-label={`Edit ${rowName(listing)}`}
          onPress={() => open(listing.id)}
        >
          Edit
        </Button>
      ),
    },
  ]

  return (
    <>
      <PageHeader
        title="Listings"
        actions={
          <>
            <DownloadLink href={apiUrl('listings/export', { q, status })}>Export</DownloadLink>
            <ButtonLink href="/listings/import" icon="upload">
              Import
            </ButtonLink>
            <ButtonLink href="/listings/new" look="primary" icon="plus">
              Add listing
            </ButtonLink>
          </>
        }
      />
      <HiddenShopNotice />
      <Filters isFiltered={isFiltered} onClear={clearFilters}>
        <SearchFilter label="Card, product or reference" maxLength={100} {...propsOf('q')} />
        <Select label="Status" isLabelHidden options={STATUSES} {...propsOf('status')} />
      </Filters>
      {/* An edit goes on if the list becomes empty or has fewer pages: it is not a part of the list’s page. */}
      <BulkBar
        key={`${status} ${q}`}
        selected={selection.keys}
        search={{ q, status }}
        total={query.isPlaceholderData ? undefined : total}
        onDone={() => {
          clearSelection()
          return refresh()
        }}
        onClear={clearSelection}
      />
      <LoadedPage query={query} noun={isCut({ q, status }, total) ? 'newest listings' : 'listings'}>
        {({ data }) =>
          data.length === 0 ? (
            <NoListings isFiltered={isFiltered} />
          ) : (
            <Table
              label="Listings"
              columns={columns}
              rows={data}
              nameOf={rowName}
              selection={selection}
              isWide
            />
          )
        }
      </LoadedPage>
      {opened !== undefined && (
        <EditListing key={opened} id={opened} save={save} onClose={close} onDeleted={refresh} />
      )}
    </>
  )
}

/** The listing whose dialog is open is in the address, so that a link can lead to it. */
function useOpened() {
  const [search, setSearch] = useSearchParams()
  const opened = search.get('listing') || undefined
  const change = (id: number | undefined, options?: { replace: boolean }) =>
    setSearch((current) => {
      const next = new URLSearchParams(current)
      if (id === undefined) next.delete('listing')
      else next.set('listing', String(id))
      return next
    }, options)
  return {
    opened,
    open: (id: number) => change(id),
    close: () => {
      // A save that ends after Back must not close another listing.
      const shown = new URLSearchParams(window.location.search).get('listing')
      if (shown === opened) change(undefined, { replace: true })
    },
  }
}

const NoListings = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No listing matches" icon="search">
      Names are searched as in the catalog; references must match as a whole.
    </Empty>
  ) : (
    <Empty
      title="Nothing is listed yet"
      icon="listings"
      action={
        <ButtonLink href="/listings/import" icon="upload">
          Import a CSV file
        </ButtonLink>
      }
    >
      Add your first card, or import your whole stock from a file.
    </Empty>
  )

/** Condition, language and printing, as far as they say something. */
const traitsOf = ({ condition, graded, language, printing }: Listing) => [
  graded?.label ?? condition,
  language,
  printing === 'standard' ? undefined : printing.replaceAll('_', ' '),
]

/** The name of a row for screen readers. A card can have several listings, even with the same traits. */
const rowName = (listing: Listing) =>
  [nameOf(listing), ...traitsOf(listing), `listing ${listing.id}`].filter(Boolean).join(', ')
