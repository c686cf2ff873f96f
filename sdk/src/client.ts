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
  type Transport,
} from './transport.ts'
import type { Account, CreateWebhookBody, WebhookEndpoint } from './types.ts'

/** A client of the seller API, and of the tools API as `tools`. */
export class Cardstall {
  readonly #send: Transport
  // The constructor assigns these four together, which saves the bundle some bytes of its limit (package.test.ts).
  declare readonly series: ReturnType<typeof catalog>['series']
  declare readonly sets: ReturnType<typeof catalog>['sets']
  declare readonly cards: ReturnType<typeof catalog>['cards']
  declare readonly products: ReturnType<typeof catalog>['products']
  readonly listings: ReturnType<typeof listings>
  readonly orders: ReturnType<typeof orders>
  readonly webhooks: ReturnType<typeof webhooks>
  readonly tools: ReturnType<typeof tools>

  /** @throws TypeError without a key and an address */
  constructor(options: ClientOptions = {}) {
    this.#send = openTransport(options)
    Object.assign(this, catalog(this.#send))
    this.listings = listings(this.#send)
    this.orders = orders(this.#send)
    this.webhooks = webhooks(this.#send)
    this.tools = tools(this.#send)
  }

  /** The account and the key in use. */
  me(options: Options = {}): Promise<Account> {
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
  list: (options: Options = {}) =>
    requestData<WebhookEndpoint[]>(send, 'GET', '/webhooks', options),

  /** Returns the endpoint and its secret, which is shown only once. */
  async create(
    input: CreateWebhookBody,
    options: Options = {},
  ): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
    const { body } = await send<{ data: WebhookEndpoint; secret: string }>('POST', '/webhooks', {
      ...options,
      body: input,
    })
    return { endpoint: body.data, secret: body.secret }
  },

  async delete(id: number, options: Options = {}): Promise<void> {
    await send('DELETE', `/webhooks/${id}`, options)
  },
})
