import { type Page, page } from './shell/lazy-page.ts'

/** The table of contents, in the order of the navigation. */
export const PAGES: Page[] = [
  page('/', 'Overview', 'overview', () => import('./overview/page.tsx')),
  page(
    '/orders',
    'Orders',
    'orders',
    () => import('./orders/page.tsx'),
    /^(disputes|reviews|\d{1,15}|slc_[\w-]+)$/,
  ),
  page('/listings', 'Listings', 'listings', () => import('./listings/page.tsx'), /^(new|import)$/),
  page(
    '/payouts',
    'Payouts',
    'payouts',
    () => import('./payouts/page.tsx'),
    /^(statements|setup|\d+)$/,
  ),
  page('/keys', 'Keys', 'keys', () => import('./keys/page.tsx'), /^(new|programs|sessions)$/),
  page(
    '/webhooks',
    'Webhooks',
    'webhooks',
    () => import('./webhooks/page.tsx'),
    /^(deliveries(\/\d+)?|signature)$/,
  ),
  page(
    '/settings',
    'Settings',
    'settings',
    () => import('./settings/page.tsx'),
    /^(shipping|sign-in)$/,
  ),
]
