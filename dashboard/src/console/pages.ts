import { type Page, page } from '../shell/lazy-page.ts'

/** The table of contents, with the operation that a page begins with: a role that may not call it has no such page. */
export const PAGES: (Page & { operation: string })[] = [
  {
    ...page('/orders', 'Orders', 'orders', () => import('./orders.tsx')),
    operation: 'listAllOrders',
  },
]
