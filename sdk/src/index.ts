export { Cardstall } from './client.ts'
export {
  AmbiguousIdentifierError,
  AuthenticationError,
  CardstallError,
  ConflictError,
  ConnectionError,
  NotFoundError,
  PermissionError,
  ProviderError,
  RateLimitError,
  ServerError,
  TimeoutError,
  ValidationError,
} from './errors.ts'
export type { EventFeed, EventOptions } from './events.ts'
export type { List, Page } from './list.ts'
export type { BulkResult, ListingChanges, Progress } from './listings.ts'
export type { ChangeFeed, ChangesPage, PackingPage } from './tools.ts'
export type { ClientOptions, Options, RequestEvent } from './transport.ts'
export type * from './types.ts'
export { SignatureError, sign, verify, type WebhookEvent } from './webhooks.ts'
