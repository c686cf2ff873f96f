import { type Page, page } from './shell/lazy-page.ts'

/** The table of contents, in the order of the navigation. */
export const PAGES: Page[] = [
  page('/', 'Overview', 'overview', () => import('./overview/page.tsx')),
  page('/orders', 'Orders', 'orders', () => import('./orders/page.tsx')),
  page('/listings', 'Listings', 'listings', () => import('./listings/page.tsx')),
  page('/payouts', 'Payouts', 'payouts', () => import('./payouts/page.tsx')),
  page('/keys', 'Keys', 'keys', () => import('./keys/page.tsx')),
  page('/webhooks', 'Webhooks', 'webhooks', () => import('./webhooks/page.tsx')),
  page('/settings', 'Settings', 'settings', () => import('./settings/page.tsx')),
]
