import { catalog } from './catalog.ts'
import { listings } from './listings.ts'
import { orders } from './orders.ts'
import { tools } from './tools.ts'
import {
  type ClientOptions,
  type Options,
  openTransport,
  type QueryValue,
  requestData,
  secretOnce,
  type Transport,
} from './transport.ts'
import type { Account, CreateWebhookBody, WebhookEndpoint } from './types.ts'

/** A client of the seller API, and of the tools API as `tools`. */
export class Cardstall {
  readonly #send: Transport
  // The constructor assigns these together, which saves the bundle some bytes of its limit (package.test.ts).
  declare readonly series: ReturnType<typeof catalog>['series']
  declare readonly sets: ReturnType<typeof catalog>['sets']
  declare readonly cards: ReturnType<typeof catalog>['cards']
  declare readonly products: ReturnType<typeof catalog>['products']
  declare readonly listings: ReturnType<typeof listings>
  declare readonly orders: ReturnType<typeof orders>
  declare readonly webhooks: ReturnType<typeof webhooks>
  declare readonly tools: ReturnType<typeof tools>

  /** @throws TypeError without a key and an address */
  constructor(options: ClientOptions = {}) {
    const send = openTransport(options)
    this.#send = send
    Object.assign(this, catalog(send), {
      listings: listings(send),
      orders: orders(send),
      webhooks: webhooks(send),
      tools: tools(send),
    })
  }

  /** The account and the key in use. */
  me(options?: Options): Promise<Account> {
    return requestData<Account>(this.#send, 'GET', '/me', options)
  }

  /** Sends a request that has no method yet; `path` is below the seller API's address. */
  async request<T>(
    method: string,
    path: string,
    options: Options & { query?: Record<string, QueryValue>; body?: unknown } = {},
  ): Promise<T> {
    return (await this.#send<T>(method, path, options)).body
  }
}

const webhooks = (send: Transport) => ({
  list: (options?: Options) => requestData<WebhookEndpoint[]>(send, 'GET', '/webhooks', options),

  /** Returns the endpoint and its secret, which is shown only once. */
  create: (input: CreateWebhookBody, options?: Options) =>
    secretOnce(send, '/webhooks', input, options),

  async delete(id: number, options?: Options): Promise<void> {
    await send('DELETE', `/webhooks/${id}`, options)
  },
})
