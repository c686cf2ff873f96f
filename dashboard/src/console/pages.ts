import { type Page, page } from '../shell/lazy-page.ts'

type ConsolePage = Page & {
  /** The operation that the page begins with: a role that may not call it doesn't have the page. */
  operation: string
}

/** The table of contents, in the order of the navigation. */
export const PAGES: ConsolePage[] = [
  {
    ...page('/orders', 'Orders', 'orders', () => import('./orders.tsx'), /^[^/]+$/),
    operation: 'listAllOrders',
  },
  {
    ...page('/sellers', 'Sellers', 'person', () => import('./sellers.tsx'), /^[^/]+$/),
    operation: 'listAccounts',
  },
  {
    ...page('/listings', 'Listings', 'listings', () => import('./listings.tsx')),
    operation: 'listAllListings',
  },
  {
    ...page('/reviews', 'Reviews', 'star', () => import('./reviews.tsx')),
    operation: 'listReviews',
  },
  {
    ...page(
      '/payouts',
      'Payouts',
      'payouts',
      () => import('./payouts/page.tsx'),
      /^(runs|ledger)$/,
    ),
    operation: 'listPayouts',
  },
  {
    ...page('/deliveries', 'Deliveries', 'webhooks', () => import('./deliveries.tsx')),
    operation: 'listDeliveries',
  },
  {
    ...page('/audit', 'Audit log', 'log', () => import('./audit.tsx')),
    operation: 'listAudit',
  },
  {
    ...page('/staff', 'Staff', 'keys', () => import('./staff.tsx')),
    operation: 'listStaff',
  },
]
