/** What a key may do (§2.9, §5.4). A call needs exactly the one scope its route declares. */
export const SCOPES = [
  'catalog:read',
  'listings:read',
  'listings:write',
  'orders:read',
  'orders:write',
  'webhooks:manage',
] as const

export type Scope = (typeof SCOPES)[number]
