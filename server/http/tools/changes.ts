import Type, { type Static, type TSchema } from 'typebox'
import {
  CHANGE_KINDS,
  type Change,
  type ChangeKind,
  type ChangesPage,
  cursorText,
  readChanges,
  readCursor,
  startFollowing,
} from '../../changes/changes.ts'
import { watchChanges } from '../../changes/watch.ts'
import type { Caller } from '../../keys/key-cache.ts'
import { findOwnListings } from '../../listings/own-listings.ts'
import { findOrders } from '../../orders/orders.ts'
import type { Service } from '../../service.ts'
import { refusalMeanwhile } from '../authenticate.ts'
import { closingSignal, goneSignal } from '../closing.ts'
import type { App } from '../schema.ts'
import { component, Discriminated, OneOf, Text } from '../schema.ts'
import { exampleOwnListing, OwnListingSchema, ownListingJson } from '../shapes/own-listing.ts'
import { exampleOwnOrder, OwnOrderSchema, ownOrderJson } from '../shapes/own-order.ts'

const MAX_WAIT_S = 30

const SCOPES = { listing: 'listings:read', order: 'orders:read' } as const

type ChangeOf<Kind extends ChangeKind, RecordJson> = {
  kind: Kind
  id: number
  change: Change['change']
  record: RecordJson | null
}

type ChangeJson =
  | ChangeOf<'listing', Static<typeof OwnListingSchema>>
  | ChangeOf<'order', Static<typeof OwnOrderSchema>>

const changeOf = (name: string, kind: ChangeKind, record: TSchema, noun: string) =>
  component(
    name,
    Type.Object(
      {
        kind: OneOf([kind]),
        id: Type.Integer({ description: `Id of the ${noun}` }),
        change: OneOf(['created', 'updated', 'deleted'] as const),
        record: Type.Unsafe<object | null>({
          anyOf: [record, { type: 'null' }],
          description: `The ${noun} as it is now; null if it has been deleted`,
        }),
      },
      { description: `A change of one of your ${noun}s.` },
    ),
  )

const ChangeSchema = Discriminated<ChangeJson>('kind', {
  listing: changeOf('ListingFeedChange', 'listing', OwnListingSchema, 'listing'),
  order: changeOf('OrderFeedChange', 'order', OwnOrderSchema, 'order row'),
})

const ChangesSchema = Type.Object({
  data: Type.Array(ChangeSchema, { description: 'At most 100 changes, oldest first' }),
  next: Type.String({ description: 'The cursor of the next request' }),
  has_more: Type.Boolean({ description: 'Whether more changes can be read at once' }),
})

/** GET /tools/v1/changes: the change feed (docs/change-feed.md). */
export function changeRoutes(app: App, ctx: Service): void {
  const watch = watchChanges(ctx)
  const closing = closingSignal(app)
  const scope = Object.values(SCOPES)

  app.get(
    '/changes',
    {
      config: { scope, isLong: true },
      // HEAD would wait for changes without sending them.
      exposeHeadRoute: false,
      schema: {
        operationId: 'listChanges',
        summary: 'Follow the changes of your listings and orders',
        description: `Returns the listings and order rows that changed since \`cursor\`, each with its current state. No change is missed, whatever runs at the same time. Without \`cursor\`, the response has no changes, and its \`next\` is a cursor that every later change follows: get it first, then list all of your listings and orders, then follow. A cursor is valid for 30 days, and one from a response with \`has_more\` as long as the cursor that it continues; after that, or after the operator has restored a backup, the response is 410.

A key with only one of the two scopes gets the changes of that kind. Units reserved by buyers' carts, photos that could not be fetched, and changes of the shop or the catalog do not count as changes. \`wait\` keeps the request open until there are changes, for at most that many seconds.`,
        tags: ['Changes'],
        querystring: Type.Object({
          cursor: Type.Optional(
            Text({ maxLength: 100, description: '`next` of the previous response' }),
          ),
          wait: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: MAX_WAIT_S,
              default: 0,
              description: 'Seconds to wait for changes if there are none',
            }),
          ),
        }),
        response: { 200: { description: 'Changes', ...ChangesSchema } },
        'x-errors': ['cursor_expired', 'validation_error'],
        'x-example': {
          data: [
            { kind: 'listing', id: 1204, change: 'updated', record: exampleOwnListing },
            { kind: 'order', id: 501, change: 'created', record: exampleOwnOrder },
            { kind: 'listing', id: 1198, change: 'deleted', record: null },
          ],
          next: '3-81723-4410-1772359800-1772359798412036',
          has_more: false,
        },
      },
    },
    async (request, reply) => {
      const { caller, query } = request
      const { account } = caller
      if (query.cursor === undefined) {
        const next = await startFollowing(ctx, account.id)
        return { data: [], next: cursorText(next), has_more: false }
      }
      const kinds = CHANGE_KINDS.filter((kind) => caller.scopes.includes(SCOPES[kind]))
      const ended = AbortSignal.any([
        closing,
        goneSignal(reply),
        AbortSignal.timeout(1000 * (query.wait ?? 0)),
      ])
      let page = await readChanges(ctx, account.id, readCursor(query.cursor), kinds)
      while (page.changes.length === 0 && query.wait && !ended.aborted) {
        await watch.changeAfter(account.id, page.next, ended)
        const refusal = await refusalMeanwhile(ctx, request, scope)
        if (refusal) throw refusal
        page = await readChanges(ctx, account.id, page.next, kinds)
      }
      return changesJson(ctx, caller, page)
    },
  )
}

async function changesJson(
  ctx: Service,
  { account }: Caller,
  { changes, next, hasMore }: ChangesPage,
) {
  const idsOf = (kind: ChangeKind) =>
    changes.filter((change) => change.kind === kind).map(({ recordId }) => recordId)
  const listings = await findOwnListings(ctx, account.id, idsOf('listing'))
  // The client gets each change once, so a listing without its item would stay so.
  await ctx.catalog.include(listings)
  const orders = await findOrders(ctx, account.id, idsOf('order'))
  const records = {
    listing: new Map(
      listings.map((listing) => [
        listing.id,
        ownListingJson(listing, account, ctx.catalog.current, ctx.config),
      ]),
    ),
    order: new Map(orders.map((order) => [order.id, ownOrderJson(order)])),
  }
  const data = changes.map(
    (change): ChangeJson =>
      change.kind === 'listing'
        ? changeJson('listing', change, records.listing)
        : changeJson('order', change, records.order),
  )
  return { data, next: cursorText(next), has_more: hasMore }
}

function changeJson<Kind extends ChangeKind, RecordJson>(
  kind: Kind,
  { recordId: id, change }: Change,
  records: Map<number, RecordJson>,
): ChangeOf<Kind, RecordJson> {
  const record = records.get(id) ?? null
  return { kind, id, change: record ? change : 'deleted', record }
}
