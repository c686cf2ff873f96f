import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Account } from '../../accounts/account.ts'
import { changeAccount, createAccount, getAccount, listAccounts } from '../../accounts/accounts.ts'
import { closeAccount } from '../../back-office/close-account.ts'
import { passwordChanged } from '../../back-office/password-changed.ts'
import { inTransaction } from '../../database/in-transaction.ts'
import { conflict } from '../../errors.ts'
import { listMembers } from '../../members/members.ts'
import { hashPassword } from '../../members/password.ts'
import { setPayoutVerified } from '../../money/payout-setup.ts'
import type { Service } from '../../service.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { parseDateTime } from '../date-time.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, repeatable } from '../idempotency-key.ts'
import { pageExample, pageParameters, paginated } from '../paginate.ts'
import { idList } from '../query.ts'
import type { App } from '../schema.ts'
import { Data, Paginated, PathId, SearchText, Text } from '../schema.ts'
import {
  AccountInput,
  AccountPatch,
  AccountSchema,
  accountChanges,
  accountJson,
  exampleAccount,
  exampleChangedAccount,
} from '../shapes/account.ts'
import { accountExists } from './must-exist.ts'

/** As many as the longest page of another list. */
const MAX_IDS = 100

const params = Type.Object({ id: PathId('The account') })

declare module 'fastify' {
  interface FastifyRequest {
    /** The stored form of the password in the body; null if it is null. */
    passwordHash: string | null | undefined
  }
}

/** Derives the key of a password before the audit log begins the transaction of the request. */
async function derivePassword(request: FastifyRequest): Promise<void> {
  const { password } = request.body as { password?: string | null }
  request.passwordHash = password && (await hashPassword(password))
}

/** The audit log says that a password was set or removed: no account shows it. */
const passwordSet = ({ password }: { password?: string | null }) =>
  password === undefined ? {} : { password_set: password !== null }

export function accountRoutes(app: App, ctx: Service): void {
  app.decorateRequest('passwordHash')
  app.post(
    '/accounts',
    {
      config: { auditAlso: passwordSet },
      preHandler: derivePassword,
      schema: {
        operationId: 'createAccount',
        summary: 'Open an account',
        description:
          'Without `slug`, the service derives one from the shop’s name. With an `Idempotency-Key` you can safely repeat the request for 24 hours: the same key and body return the first response; the same key with another body is refused.',
        tags: ['Accounts'],
        headers: idempotencyKeyHeader,
        body: AccountInput,
        response: { 201: Data(AccountSchema, 'The new account') },
        'x-errors': ['validation_error'],
        'x-example': { data: exampleAccount },
      },
    },
    async (request, reply) => {
      const { passwordHash } = request
      const changes = { ...accountChanges(request.body), passwordHash }
      const { shop_name: shopName, email } = request.body
      const identity = repeatable(request, 'operator', 'createAccount')
      return sendOnce(ctx, reply, identity, async (ctx) => {
        const account = await createAccount(ctx, { ...changes, shopName, email })
        return { status: 201, body: { data: accountJson(account) } }
      })
    },
  )

  app.get(
    '/accounts',
    {
      schema: {
        operationId: 'listAccounts',
        summary: 'List accounts',
        description: 'Returns accounts, newest first.',
        tags: ['Accounts'],
        querystring: Type.Object({
          q: Type.Optional(
            SearchText({
              description:
                'The id, or a part of the shop’s name, slug or e-mail address in any casing',
            }),
          ),
          ids: Type.Optional(
            Text({
              maxLength: 1_000,
              description: `At most ${MAX_IDS} ids, separated by commas`,
            }),
          ),
          ...pageParameters,
        }),
        response: { 200: Paginated(AccountSchema, 'A page of accounts') },
        'x-errors': ['validation_error'],
        'x-example': pageExample('/operator/v1/accounts', [exampleAccount]),
      },
    },
    (request) => {
      const { q: text, ids: list } = request.query
      const ids = list === undefined ? undefined : idList('ids', list, MAX_IDS)
      return paginated(ctx, request, (page) => listAccounts(ctx, { text, ids }, page), accountJson)
    },
  )

  app.get(
    '/accounts/:id',
    {
      schema: {
        operationId: 'getAccount',
        summary: 'Read an account',
        tags: ['Accounts'],
        params,
        response: { 200: Data(AccountSchema, 'The account') },
        'x-example': { data: exampleAccount },
      },
    },
    async ({ params }) => ({ data: accountJson(await getAccount(ctx, params.id)) }),
  )

  app.patch(
    '/accounts/:id',
    {
      config: { auditAlso: passwordSet },
      preValidation: accountExists(ctx),
      preHandler: derivePassword,
      schema: {
        operationId: 'changeAccount',
        summary: 'Change an account',
        description:
          'Send only the fields that change. A change of API access or payout verification applies from the seller’s next request.',
        tags: ['Accounts'],
        params,
        body: AccountPatch,
        response: { 200: Data(AccountSchema, 'The account after the change') },
        'x-errors': ['conflict', 'validation_error'],
        'x-example': { data: exampleChangedAccount },
      },
    },
    async ({ params: { id }, body, passwordHash }) => {
      const { payoutVerified, ...changes } = { ...accountChanges(body), passwordHash }
      const { closed_at: text } = body
      const seen = typeof text === 'string' ? timestamp(parseDateTime('closed_at', text)) : text
      const check = ({ closedAt }: Account) => {
        const now = timestampOrNull(closedAt)
        if (seen !== undefined && seen !== now) {
          throw conflict(`The account was ${now ? 'closed' : 'opened'} meanwhile.`)
        }
      }
      const account =
        payoutVerified === undefined && passwordHash === undefined
          ? await changeAccount(ctx, id, changes, check)
          : await inTransaction(ctx, async (tx) => {
              const former = passwordHash === undefined ? undefined : await listMembers(tx, id)
              // The change locks the account first, as strongly as it has to.
              await changeAccount(tx, id, changes, check)
              if (former) await passwordChanged(tx, id, former)
              if (payoutVerified !== undefined) await setPayoutVerified(tx, id, payoutVerified)
              return getAccount(tx, id)
            })
      return { data: accountJson(account) }
    },
  )

  app.post(
    '/accounts/:id/close',
    {
      // A large shop's listings are removed in many transactions.
      config: { audit: 'begun and ended', isLong: true },
      schema: {
        operationId: 'closeAccount',
        summary: 'Close an account',
        description:
          'Removes the account’s listings, revokes its keys, deletes its webhook endpoints and its members, and disables its API access; a suspended account stays suspended. Orders, payouts, statements and the ledger stay. The account opens again, without its listings, when its API access is enabled or it has a new member. Responds with 409, and removes nothing, while orders are open, payouts are not paid, or the seller owes money after a refund. If the account is opened again before all listings are removed, the closing ends with 409. After an interruption, repeat the request: until then, nobody can order the listings that are left.',
        tags: ['Accounts'],
        params,
        response: { 200: Data(AccountSchema, 'The closed account') },
        'x-errors': ['conflict'],
        'x-example': {
          data: { ...exampleAccount, api_access: 'disabled', closed_at: '2026-03-31T10:00:00Z' },
        },
      },
    },
    async ({ params }) => ({ data: accountJson(await closeAccount(ctx, params.id)) }),
  )
}
