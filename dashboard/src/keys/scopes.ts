/** The permissions of a key in plain words. */
export const SCOPES = [
  { value: 'catalog:read', label: 'Read the catalog', help: 'Cards, sets and sealed products' },
  { value: 'listings:read', label: 'Read listings' },
  {
    value: 'listings:write',
    label: 'Change listings',
    help: 'Create, price, hide and delete them. Also shipping options and holidays',
  },
  {
    value: 'orders:read',
    label: 'Read orders',
    help: 'Includes buyers’ names and addresses. Also disputes, reviews and payouts',
  },
  {
    value: 'orders:write',
    label: 'Ship orders',
    help: 'Includes buyers’ names and addresses. Also cancellations with a refund, labels, which cost money, and answers to disputes and reviews',
  },
  {
    value: 'webhooks:manage',
    label: 'Manage webhooks',
    help: 'Includes buyers’ names and addresses, which webhooks receive',
  },
] as const

export const labelOf = (scope: string) =>
  SCOPES.find(({ value }) => value === scope)?.label ?? scope
