import { type ComponentType, lazy } from 'react'
import type { IconName } from './ui/icons.tsx'

/** A page of the navigation. It serves its path and everything below. */
export type Page = {
  path: string
  title: string
  icon: IconName
  Page: ComponentType
}

/** The table of contents, in the order of the navigation. Each page is a chunk of its own, loaded at its first visit. */
export const PAGES: Page[] = [
  page('/', 'Overview', 'overview', () => import('./overview/page.tsx')),
  page('/orders', 'Orders', 'orders', () => import('./orders/page.tsx')),
  page('/listings', 'Listings', 'listings', () => import('./listings/page.tsx')),
  page('/payouts', 'Payouts', 'payouts', () => import('./payouts/page.tsx')),
  page('/keys', 'Keys', 'keys', () => import('./keys/page.tsx')),
  page('/webhooks', 'Webhooks', 'webhooks', () => import('./webhooks/page.tsx')),
  page('/settings', 'Settings', 'settings', () => import('./settings/page.tsx')),
]

function page(
  path: string,
  title: string,
  icon: IconName,
  load: () => Promise<{ default: ComponentType }>,
): Page {
  return { path, title, icon, Page: lazy(load) }
}
