import { PAGES } from '../pages.ts'
import type { Entry } from '../ui/palette.tsx'

/** A page or action of the dashboard that people look for by its name, or by other words. */
export type Place = Entry & { words?: string }

const pages: Place[] = PAGES.map(({ title, icon, path }) => ({ label: title, icon, href: path }))

const parts: Place[] = [
  { label: 'Orders to ship', icon: 'orders', href: '/orders?status=pending', words: 'pending' },
  { label: 'Disputes', icon: 'warning', href: '/orders/disputes', words: 'complaints answer' },
  { label: 'Reviews', icon: 'star', href: '/orders/reviews', words: 'ratings stars reply' },
  { label: 'Add listing', icon: 'plus', href: '/listings/new', words: 'new sell card' },
  { label: 'Import listings', icon: 'upload', href: '/listings/import', words: 'csv file upload' },
  {
    label: 'Monthly statement',
    icon: 'payouts',
    href: '/payouts/statements',
    words: 'invoice fees',
  },
  { label: 'Payout setup', icon: 'payouts', href: '/payouts/setup', words: 'bank account iban' },
  { label: 'Create a key', icon: 'keys', href: '/keys/new', words: 'api token new' },
  { label: 'Connected programs', icon: 'keys', href: '/keys/programs', words: 'apps agents oauth' },
  { label: 'Sessions', icon: 'keys', href: '/keys/sessions', words: 'sign out devices' },
  {
    label: 'Shipping options',
    icon: 'settings',
    href: '/settings/shipping',
    words: 'postage price',
  },
  { label: 'Holiday mode', icon: 'settings', href: '/settings', words: 'vacation shop time zone' },
  { label: 'E-mail and password', icon: 'settings', href: '/settings/sign-in', words: 'account' },
  {
    label: 'Deliveries',
    icon: 'webhooks',
    href: '/webhooks/deliveries',
    words: 'webhook log events',
  },
  {
    label: 'Signature checker',
    icon: 'webhooks',
    href: '/webhooks/signature',
    words: 'webhook secret',
  },
]

/** Without a text the palette shows the pages alone. */
export const places = (text: string): Place[] => (text === '' ? pages : [...pages, ...parts])
