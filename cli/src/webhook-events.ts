import type { WebhookEvent } from '@cardstall/sdk'

export const EVENTS = [
  'order.created',
  'order.cancelled',
  'order.label_ready',
  'listing.sold',
] as const satisfies WebhookEvent['event'][]
