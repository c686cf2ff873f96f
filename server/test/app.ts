import type { FastifyInstance, InjectOptions } from 'fastify'
import { createAccount, type NewAccount } from '../accounts/accounts.ts'
import { buildApp } from '../app.ts'
import { readConfig } from '../config.ts'
import { closeServer } from '../http/connections.ts'
import { sessionCookieName } from '../http/session-cookie.ts'
import { createKey } from '../keys/keys.ts'
import { SCOPES, type Scope } from '../keys/scopes.ts'
import { memoryCounters } from '../limits/counters.ts'
import { rateLimiter } from '../limits/rate-limit.ts'
import type { Log } from '../log.ts'
import type { MailerOptions } from '../mail/mail.ts'
import { runDueMail } from '../mail/mail-worker.ts'
import { startSession } from '../members/sessions.ts'
import type { Network } from '../outbound/network.ts'
import { runDuePhotos } from '../photos/photo-worker.ts'
import type { Closers } from '../processes/lifecycle.ts'
import { openService, type Service, unopened } from '../service.ts'
import { runDuePolls } from '../shipping/carrier-poll.ts'
import { runDueDeliveries } from '../webhooks/delivery-worker.ts'
import { type Template, testDatabase } from './database.ts'
import { describedResponses } from './described-responses.ts'
import { newDirectory } from './new-directory.ts'
import { whenFileEnds } from './when-file-ends.ts'

export const PUBLIC_URL = 'https://cards.example'
export const OPERATOR_TOKEN = 'operator-token-for-tests-and-more'

/** A response, with its body parsed. */
export type TestResponse = {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into responses freely; every response is checked against its schema
  body: any
  headers: Record<string, string>
  text: string
}

type Sent = Omit<InjectOptions, 'method' | 'url'>

/** Sends requests with one credential, and checks every response against the published description. */
export type Client = Record<
  'get' | 'head' | 'post' | 'patch' | 'put' | 'delete',
  (url: string, options?: Sent) => Promise<TestResponse>
>

export type TestApp = {
  app: FastifyInstance
  ctx: Service
  /** The log lines of the service so far. */
  logged: Record<string, unknown>[]
  databaseUrl: string
  /** Fetches the photos that are due. */
  runPhotos(): Promise<void>
  /** Sends the e-mails that are due. */
  runMail(options?: MailerOptions): Promise<void>
  /** Attempts the deliveries that are due. */
  runDeliveries(): Promise<void>
  /** Polls the carrier for the shipments that are due. */
  runPolls(): Promise<void>
  /** A client without credentials. */
  anyone: Client
  operator: Client
  withKey(key: string): Client
  /** Creates a seller with API access and a key, and returns a client with that key. */
  seller(options?: { scopes?: readonly Scope[]; account?: Partial<NewAccount> }): Promise<Seller>
  /** Signs a new member in and returns a client of the dashboard's API. Without an account, creates a seller. */
  member(accountId?: number): Promise<SignedInClient>
  /** The member with another session. */
  signInAgain(
    member: Pick<SignedInClient, 'accountId' | 'memberId' | 'email'>,
  ): Promise<SignedInClient>
}

/** A client with the key of a seller. */
export type Seller = Client & { key: string; keyId: number; accountId: number }

/** A client with the cookie of a session, which sends the `Origin` of a browser. */
export type SignedInClient = Client & {
  accountId: number
  memberId: number
  email: string
  cookie: string
}

export type TestAppOptions = {
  template?: Template
  /** Settings in addition to those of every test app. */
  settings?: Record<string, string>
  /** The database of another app of the same test, to share it. */
  databaseUrl?: string
  /** A fake network (fakes/network.ts). */
  network?: Network
  /** The clock of the rate limits in Unix milliseconds, for tests that control when a window ends. */
  rateLimitTime?: () => number
}

/** Starts the whole service on a new database, without a port. Call it in `beforeAll` or in a test. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const databaseUrl = options.databaseUrl ?? (await testDatabase(options.template)).url
  const config = readConfig({
    SANDBOX: 'true',
    PUBLIC_URL,
    OPERATOR_TOKEN,
    SECRET_KEY: 'secret-key-for-tests-of-this-service',
    DATA_DIR: await newDirectory(),
    ...options.settings,
  })
  const { log, logged } = listeningLog()
  const closers: Closers = []
  whenFileEnds(async () => {
    for (const close of closers.reverse()) await close()
  })
  const ctx = unopened(config, log)
  // Before the service is open, as at a start.
  const app = await buildApp(ctx)
  await openService(ctx, databaseUrl, closers, { network: options.network })
  ctx.readiness.ready = true
  const { rateLimitTime } = options
  if (rateLimitTime) ctx.limiter = rateLimiter(memoryCounters(), rateLimitTime)
  await ctx.catalog.refresh()
  closers.push(() => closeServer(app))

  const { publicUrl, sandbox, operatorToken } = config
  const check = describedResponses(async (path) => {
    const response = await app.inject(path)
    return response.statusCode === 200 ? response.json() : undefined
  }, `${publicUrl} ${sandbox} ${operatorToken}`)
  const withToken = (token?: string) =>
    client(app, check, token === undefined ? {} : { authorization: `Bearer ${token}` })
  const seller: TestApp['seller'] = async ({ scopes = SCOPES, account = {} } = {}) => {
    const number = ++sellers
    const { id } = await createAccount(ctx, {
      shopName: `Seller ${number}`,
      email: `seller-${number}@shops.example`,
      payoutVerified: true,
      apiAccess: 'enabled',
      ...account,
    })
    const { key, secret } = await createKey(ctx, id, { scopes }, { isAnnounced: false })
    return { ...withToken(secret), key: secret, keyId: key.id, accountId: id }
  }
  const signIn: TestApp['signInAgain'] = async ({ accountId, memberId, email }) => {
    const secret = await startSession(ctx, { id: memberId, passwordHash: null }, {})
    const cookie = `${sessionCookieName(config)}=${secret}`
    const signedIn = client(app, check, { cookie, origin: new URL(publicUrl).origin })
    return { ...signedIn, accountId, memberId, email, cookie }
  }
  return {
    app,
    ctx,
    logged,
    databaseUrl,
    runPhotos: () => runDuePhotos(ctx),
    runMail: (options) => runDueMail(ctx, options),
    runDeliveries: () => runDueDeliveries(ctx),
    runPolls: () => runDuePolls(ctx),
    anyone: withToken(),
    operator: withToken(OPERATOR_TOKEN),
    withKey: withToken,
    seller,
    async member(accountId) {
      const shop = accountId ?? (await seller()).accountId
      const email = `member-${++members}@shops.example`
      const [row] = await ctx.db<{ id: number }[]>`
        insert into members (account_id, email, created_at)
        values (${shop}, ${email}, ${ctx.now()})
        returning id
      `
      return signIn({ accountId: shop, memberId: row!.id, email })
    },
    signInAgain: signIn,
  }
}

let sellers = 0
let members = 0

function client(
  app: FastifyInstance,
  check: ReturnType<typeof describedResponses>,
  credentials: Record<string, string>,
): Client {
  const send = (method: NonNullable<InjectOptions['method']>) => {
    return async (url: string, { headers, ...options }: Sent = {}): Promise<TestResponse> => {
      const injected = await app.inject({
        method,
        url,
        headers: { ...credentials, ...headers },
        ...options,
      })
      const isJson = String(injected.headers['content-type']).startsWith('application/json')
      const response: TestResponse = {
        status: injected.statusCode,
        body: isJson && injected.payload ? injected.json() : undefined,
        headers: injected.headers as Record<string, string>,
        text: injected.payload,
      }
      await check(method, url, response)
      return response
    }
  }
  return {
    get: send('GET'),
    head: send('HEAD'),
    post: send('POST'),
    patch: send('PATCH'),
    put: send('PUT'),
    delete: send('DELETE'),
  }
}

function listeningLog(): { log: Log; logged: TestApp['logged'] } {
  const logged: TestApp['logged'] = []
  const at = (level: string) => (first: unknown, message?: string) => {
    logged.push({ level, message, ...(typeof first === 'object' ? first : { message: first }) })
  }
  const response = at('info')
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']
  const log = Object.assign(Object.fromEntries(levels.map((level) => [level, at(level)])), {
    level: 'info',
    response,
    silent() {},
    child: () => log,
  }) as never
  return { log, logged }
}
