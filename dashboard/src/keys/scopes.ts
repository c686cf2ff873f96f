import type { Scope } from '../../../server/keys/scopes.ts'

/** Each permission of a key in plain words. */
const WORDS: Record<Scope, { label: string; help?: string }> = {
  'catalog:read': { label: 'Read the catalog', help: 'Cards, sets and sealed products' },
  'listings:read': { label: 'Read listings' },
  'listings:write': {
    label: 'Change listings',
    help: 'Create, price, hide and delete them. Also shipping options and holidays',
  },
  'orders:read': {
    label: 'Read orders',
    help: 'Includes buyers’ names and addresses. Also disputes, reviews and payouts',
  },
  'orders:write': {
    label: 'Ship orders',
    help: 'Includes buyers’ names and addresses. Also cancellations with a refund, labels, which cost money, and answers to disputes and reviews',
  },
  'webhooks:manage': {
    label: 'Manage webhooks',
    help: 'Includes buyers’ names and addresses, which webhooks receive',
  },
}

export const SCOPES = Object.entries(WORDS).map(([value, words]) => ({ value, ...words }))

export const labelOf = (scope: string) =>
  SCOPES.find(({ value }) => value === scope)?.label ?? scope
