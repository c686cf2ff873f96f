import type { WebhookEvent } from '@cardstall/sdk'

/** All events. The type names one that is missing. */
export const EVENTS = Object.keys({
  'order.created': true,
  'order.cancelled': true,
  'order.label_ready': true,
  'listing.sold': true,
} satisfies Record<WebhookEvent['event'], true>)
