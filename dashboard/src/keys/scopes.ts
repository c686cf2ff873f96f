/** The permissions of a key in plain words. */
export const SCOPES = [
  { value: 'catalog:read', label: 'Read the catalog', help: 'Cards, sets and sealed products' },
  { value: 'listings:read', label: 'Read listings' },
  {
    value: 'listings:write',
    label: 'Change listings',
    help: 'Create, price, hide and delete them',
  },
  {
    value: 'orders:read',
    label: 'Read orders',
    help: 'Includes buyers’ names and addresses',
  },
  {
    value: 'orders:write',
    label: 'Ship orders',
    help: 'Includes buying labels, which cost money',
  },
  { value: 'webhooks:manage', label: 'Manage webhooks' },
] as const

export const labelOf = (scope: string) =>
  SCOPES.find(({ value }) => value === scope)?.label ?? scope
