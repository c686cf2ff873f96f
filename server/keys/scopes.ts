/** Permissions of a key (§2.9, §5.4). A request needs the one scope that its route declares. */
export const SCOPES = [
  'catalog:read',
  'listings:read',
  'listings:write',
  'orders:read',
  'orders:write',
  'webhooks:manage',
] as const

export type Scope = (typeof SCOPES)[number]
