import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { detailsOf, keyOf, langOf, nameOf } from '../listings/api.ts'
import { buyerName } from '../orders/words.ts'
import type { SearchProps } from '../shell/search-button.tsx'
import { formatDateTime, formatMoney } from '../ui/format.ts'
import { type EntryGroup, matching, Palette } from '../ui/palette.tsx'
import { useSettled } from '../ui/use-settled.ts'
import { type Found, searchFor } from './api.ts'
import { places } from './places.ts'

/** The search over everything in the dashboard. */
export default function Search({ typed, onClose }: SearchProps) {
  const [text, setText] = useState(typed)
  const wanted = text.trim()
  const q = useSettled(wanted)
  const query = useQuery({
    queryKey: ['search', q],
    queryFn: ({ signal }) => searchFor(q, signal),
    enabled: q !== '',
    select: ({ data }) => data,
  })
  // Enter must not open a result of another text.
  const found = wanted === q ? query.data : undefined
  return (
    <Palette
      label="Page, order, buyer, listing or card"
      text={text}
      onChange={setText}
      groups={[
        { title: 'Go to', entries: matching(places(wanted), wanted) },
        ...(found ? recordsOf(found, q) : []),
      ]}
      empty={wanted !== q || query.isPending ? 'Searching…' : query.error?.message}
      onClose={onClose}
    />
  )
}

const recordsOf = ({ orders, listings, items }: Found, q: string): EntryGroup[] => [
  {
    title: 'Orders',
    entries: orders.map(({ order_id: id, buyer, item, created_at: at }) => ({
      label: `${id} · ${buyerName(buyer)}`,
      detail: `${item.name ?? 'Item'}, ${formatDateTime(at, 'date')}`,
      icon: 'orders',
      href: `/orders/${id}`,
    })),
  },
  {
    title: 'Your listings',
    entries: listings.map((listing) => ({
      label: nameOf(listing),
      lang: langOf(listing.item),
      detail: [
        listing.item?.details,
        listing.graded?.label ?? listing.condition,
        formatMoney(listing.price),
        listing.reference,
      ]
        .filter(Boolean)
        .join(' · '),
      icon: 'listings',
      href: `/listings?listing=${listing.id}`,
    })),
  },
  {
    title: 'Sell a card or product',
    entries: items.map((item) => ({
      label: item.name,
      lang: langOf(item),
      detail: detailsOf(item, items),
      icon: 'plus',
      // The page searches again. An item’s whole name may find nothing, because the catalog limits the words of a query.
      href: `/listings/new?${new URLSearchParams({ q, item: keyOf(item) })}`,
    })),
  },
]
