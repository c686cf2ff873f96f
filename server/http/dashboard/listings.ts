import { Readable } from 'node:stream'
import Type, { type Static } from 'typebox'
import { type Account, ships } from '../../accounts/account.ts'
import { getAccount } from '../../accounts/accounts.ts'
import { browseCards, browseProducts } from '../../catalog/browse.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Context } from '../../context.ts'
import { LISTING_STATUSES } from '../../enums.ts'
import { conflict, validationError } from '../../errors.ts'
import { changeListings, changeOneListing } from '../../listings/change-listings.ts'
import { findOwnListing, type OwnListing } from '../../listings/own-listings.ts'
import { removeListings } from '../../listings/remove-listings.ts'
import { type ListingSearch, nextIds, searchListings } from '../../listings/search-listings.ts'
import type { Service } from '../../service.ts'
import { countWrites } from '../authenticate.ts'
import { BULK_LIMIT_BYTES } from '../body.ts'
import { once, sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, repeatable } from '../idempotency-key.ts'
import { sendStored } from '../json.ts'
import { createItems } from '../listings/create-items.ts'
import { withItems } from '../listings/with-items.ts'
import { pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Data, Id, Nullable, OneOf, Paginated, PathId, Text } from '../schema.ts'
import { BulkResultSchema, OwnBulkCreate } from '../shapes/bulk-create.ts'
import { CatalogItem, type CatalogItemRecord, itemOf } from '../shapes/catalog-item.ts'
import { CheckedItem, checkItems, ItemsToCheck } from '../shapes/checked-item.ts'
import { ListingPatch } from '../shapes/listing.ts'
import { requireListingChange } from '../shapes/listing-batch.ts'
import { reference } from '../shapes/listing-item.ts'
import { ownListingFields, ownListingJson } from '../shapes/own-listing.ts'
import { listingsCsv } from './listings-csv.ts'

export type { CatalogItemRecord } from '../shapes/catalog-item.ts'
export type { CheckedItemRecord } from '../shapes/checked-item.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The listings of a bulk edit, and the version of the catalog that chose them. */
    selected?: { ids: number[]; version: number }
  }
}

/** Listings that one call of a bulk edit handles. */
export const MAX_EDITED = 1_000

/** Maximum number of ids in the audit log's entry of a bulk edit. */
const MAX_AUDITED_IDS = 100

/** Version of the catalog in which a search by text has found its listings. */
const catalogVersion = Type.Integer()

/** A listing with its item, as a person recognises it. */
export const DashboardListing = Type.Object({
  ...ownListingFields,
  item: Type.Unsafe<Static<typeof CatalogItem> | null>({
    anyOf: [CatalogItem, { type: 'null' }],
  }),
  /** The marketplace hides the card or product, so that buyers find it nowhere. */
  item_hidden: Type.Boolean(),
})

const searchFields = {
  q: Type.Optional(Text({ maxLength: 100 })),
  status: Type.Optional(OneOf(LISTING_STATUSES)),
}

const ListingsPage = Type.Object(
  {
    ...Paginated(DashboardListing, '').properties,
    catalog_version: catalogVersion,
  },
  { description: 'A page of listings' },
)

const FoundItems = Type.Object(
  { data: Type.Array(CatalogItem), meta: Type.Object({ total: Type.Integer() }) },
  { description: 'The first cards and sealed products, and the number of all' },
)

const BulkEdit = Type.Object({
  /** The listings to edit, unless there is a `search`. */
  ids: Type.Optional(Type.Array(Id(), { minItems: 1, maxItems: MAX_EDITED })),
  /** Edits all that it finds, in calls of MAX_EDITED: `before` is the `next` of the previous call. */
  search: Type.Optional(Type.Object(searchFields)),
  before: Type.Optional(Nullable(Id())),
  /** The one that the search was shown with. */
  catalog_version: Type.Optional(catalogVersion),
  action: OneOf(['price', 'status', 'delete'] as const),
  /** Change of the price: −10 makes everything a tenth cheaper. */
  percent: Type.Optional(Type.Number({ minimum: -90, maximum: 500 })),
  /** The new status. */
  status: Type.Optional(OneOf(['active', 'hidden'] as const)),
})

const BulkEditResult = Type.Object({
  changed: Type.Integer(),
  failed: Type.Integer(),
  /** Messages of the failures, with their numbers. */
  reasons: Type.Array(Type.Object({ message: Type.String(), count: Type.Integer() })),
  /** The id to continue before; null at the end. */
  next: Nullable(Type.Integer()),
})

const PatchBody = Type.Object({
  ...ListingPatch.properties,
  reference: Type.Optional(Nullable(reference)),
  /** The difference between the stock that was typed and the one that was shown. */
  quantity_delta: Type.Optional(Type.Integer()),
})

export type FoundItemsRecord = Static<typeof FoundItems>
export type ListingRecord = Static<typeof DashboardListing>
export type BulkEditBody = Static<typeof BulkEdit>
export type ListingsRecord = Static<typeof ListingsPage>
export type BulkEditRecord = Static<typeof BulkEditResult>
export type BulkCreateRecord = Static<typeof BulkResultSchema>

/** The page Listings: the member's own listings, changes of one or many, and the import and export of files. */
export function listingsApi(app: App, ctx: Service): void {
  app.decorateRequest('selected')
  app.get(
    '/listings',
    {
      schema: {
        querystring: Type.Object({ ...searchFields, ...pageParameters }),
        response: { 200: ListingsPage },
      },
    },
    async (request) => {
      const account = await getAccount(ctx, request.member.accountId)
      const { current } = ctx.catalog
      const search = searchOf(current, request.query)
      const page = await paginated(
        ctx,
        request,
        (page) => withItems(ctx, searchListings(ctx, account.id, search, page)),
        (listing) => dashboardListing(ctx, account, listing),
      )
      return { ...page, catalog_version: current.version }
    },
  )

  app.get(
    '/listings/:id',
    {
      schema: {
        params: Type.Object({ id: PathId('The listing') }),
        response: { 200: Data(DashboardListing, 'The listing') },
      },
    },
    async ({ member: { accountId }, params: { id } }) => {
      return { data: await oneListing(ctx, accountId, id) }
    },
  )

  app.get(
    '/listings/catalog',
    {
      schema: {
        querystring: Type.Object({ q: Text({ minLength: 1, maxLength: 100 }) }),
        response: { 200: FoundItems },
      },
    },
    async ({ query: { q } }) => {
      const { items, total } = catalogItems(ctx.catalog.current, q, { cards: 24, products: 6 })
      return { data: items, meta: { total } }
    },
  )

  app.get(
    '/listings/export',
    // A million listings need more time than other requests have.
    { config: { isLong: true }, schema: { querystring: Type.Object(searchFields) } },
    async ({ id, member, query }, reply) => {
      const search = searchOf(ctx.catalog.current, query)
      // Fastify ends the connection, so that the client notices the missing rest, but logs nothing.
      const file = Readable.from(listingsCsv(ctx, member.accountId, search)).once('error', (err) =>
        ctx.log.error({ err, reqId: id }, 'an export of listings failed'),
      )
      return reply
        .header('content-type', 'text/csv; charset=utf-8')
        .header('content-disposition', 'attachment; filename="listings.csv"')
        .send(file)
    },
  )

  app.post(
    '/listings',
    {
      bodyLimit: BULK_LIMIT_BYTES,
      schema: {
        headers: idempotencyKeyHeader,
        body: OwnBulkCreate,
        response: { 200: BulkResultSchema },
      },
    },
    async (request, reply) => {
      const { accountId } = request.member
      const identity = repeatable(request, `account ${accountId}`, 'dashboard createListings')
      const account = await getAccount(ctx, accountId)
      const seller = { ...account, ships: ships(account) }
      const response = await createItems(ctx, seller, request.body.items, identity)
      return sendStored(reply, response)
    },
  )

  app.post(
    '/listings/check',
    {
      config: { audit: 'never' },
      bodyLimit: BULK_LIMIT_BYTES,
      schema: {
        body: ItemsToCheck,
        response: { 200: Data(Type.Array(CheckedItem), 'One entry per item, in order') },
      },
    },
    async ({ body }) => ({ data: checkItems(ctx.catalog.current, body.items) }),
  )

  app.patch(
    '/listings/:id',
    {
      schema: {
        params: Type.Object({ id: PathId('The listing') }),
        headers: idempotencyKeyHeader,
        body: PatchBody,
        response: { 200: Data(DashboardListing, 'The listing after the change') },
      },
    },
    async (request) => {
      const { accountId } = request.member
      const { id } = request.params
      const { quantity_delta: quantityDelta, ...fields } = request.body
      const change = requireListingChange({ ...fields, id })
      const changes = { ...change.changes, quantityDelta }
      const identity = repeatable(request, `account ${accountId}`, `dashboard changeListing ${id}`)
      // A repetition gets the current listing, not the first response: units may have been sold meanwhile.
      await once(ctx, identity, async (tx) => {
        await changeOneListing(tx, accountId, { ...change, changes })
        return { status: 200, body: null }
      })
      return { data: await oneListing(ctx, accountId, id) }
    },
  )

  app.post(
    '/listings/bulk',
    {
      config: { auditRequest: auditedEdit },
      // Before the request's transaction begins, because both the catalog and the counters can be waited for.
      preHandler: async (request, reply) => {
        const { body, member } = request
        const current = await catalogFor(ctx, body)
        const ids = body.ids ?? (await idsFor(ctx, member.accountId, current, body))
        await countWrites(ctx, reply, `write:member:${member.id}`, Math.ceil(ids.length / 100) - 1)
        request.selected = { ids, version: current.version }
      },
      schema: {
        headers: idempotencyKeyHeader,
        body: BulkEdit,
        response: { 200: Data(BulkEditResult, 'What was done') },
      },
    },
    async (request, reply) => {
      const { body, member } = request
      const { ids, version } = request.selected!
      const identity = repeatable(request, `account ${member.accountId}`, 'dashboard bulk edit')
      return sendOnce(ctx, reply, identity, async (tx) => {
        // Here, because a repeated request has its first response in every catalog.
        requireVersion(version, body)
        const { changed, failed } = await edit(tx, member.accountId, ids, body)
        const isLast = body.ids !== undefined || ids.length < MAX_EDITED
        return {
          status: 200,
          body: {
            data: {
              changed,
              failed: failed.length,
              reasons: [...Map.groupBy(failed, (message) => message)].map(([message, all]) => ({
                message,
                count: all.length,
              })),
              next: isLast ? null : ids.at(-1)!,
            },
          },
        }
      })
    },
  )
}

/** A listing of this account. Its item is null if the catalog in memory does not have it (`CatalogReader.include`). */
export function dashboardListing(
  { catalog: { current }, config }: Service,
  account: Account,
  listing: OwnListing,
): ListingRecord {
  const { cardId, productSlug } = listing
  const { cardsById, productsBySlug } = current.hidden
  const seller = { ...account, rating: account.sellerRating, reviews: account.sellerReviews }
  return {
    ...ownListingJson(listing, seller, current, config),
    item: itemOf(current, listing),
    item_hidden: cardId === null ? productsBySlug.has(productSlug) : cardsById.has(cardId),
  }
}

/** @throws not_found unless the listing is the account's */
async function oneListing(ctx: Service, accountId: number, id: number): Promise<ListingRecord> {
  const listing = await findOwnListing(ctx, accountId, id)
  await ctx.catalog.include([listing])
  return dashboardListing(ctx, await getAccount(ctx, accountId), listing)
}

/** The first cards and products of the catalog that a text finds, and the number of all. */
export function catalogItems(
  catalog: Catalog,
  q: string,
  max: { cards: number; products: number },
): { items: CatalogItemRecord[]; total: number } {
  const cards = browseCards(catalog, { q })
  const products = browseProducts(catalog, { q })
  return {
    items: [
      ...cards
        .slice(0, max.cards)
        .map(({ id }) => itemOf(catalog, { cardId: id, productSlug: null })!),
      ...products
        .slice(0, max.products)
        .map(({ slug }) => itemOf(catalog, { cardId: null, productSlug: slug })!),
    ],
    total: cards.length + products.length,
  }
}

/** The listings that the search box finds: names of cards and products as in the catalog's search, and whole references. */
export function searchOf(
  catalog: Catalog,
  { q, status }: { q?: string; status?: ListingSearch['status'] },
): ListingSearch {
  if (q === undefined) return { status }
  return {
    status,
    wanted: {
      cardIds: browseCards(catalog, { q }).map(({ id }) => id),
      productSlugs: browseProducts(catalog, { q }).map(({ slug }) => slug),
      // Spreadsheets copy blanks around a value. The search for names leaves them out itself.
      reference: q.trim(),
    },
  }
}

/** Only known fields, because the entry is stored for years. */
const auditedEdit = ({ ids, search, before, action, percent, status }: BulkEditBody) => ({
  ids: ids?.slice(0, MAX_AUDITED_IDS),
  search: search && { q: search.q, status: search.status },
  before,
  action,
  percent,
  status,
})

/** The catalog for an edit. Another process may have shown the search with a newer one than this process has. */
async function catalogFor(
  { catalog }: Service,
  { search, catalog_version: shown = 0 }: BulkEditBody,
): Promise<Catalog> {
  if (search?.q !== undefined && shown > catalog.current.version) await catalog.refresh()
  return catalog.current
}

/**
 * Checks that a search by text finds the listings that it was shown with: another catalog can have other items of that
 * name.
 *
 * @throws conflict
 */
function requireVersion(version: number, { search, catalog_version: shown }: BulkEditBody): void {
  if (search?.q === undefined || shown === undefined || shown === version) return
  throw conflict(
    'The catalog has changed since these listings were selected, and the search may find others now. Select them again.',
  )
}

/** @throws validation_error if the request names no listings */
function idsFor(
  ctx: Context,
  accountId: number,
  catalog: Catalog,
  { search, before }: BulkEditBody,
): Promise<number[]> {
  if (!search) throw validationError({ ids: ['Send ids or search.'] })
  return nextIds(ctx, accountId, searchOf(catalog, search), before ?? null, MAX_EDITED)
}

/** @returns the number of listings that were edited, and a message for each of the others */
async function edit(
  tx: Context,
  accountId: number,
  ids: number[],
  { action, percent, status }: BulkEditBody,
): Promise<{ changed: number; failed: string[] }> {
  if (action === 'price' && percent === undefined) throw missing('percent')
  if (action === 'status' && status === undefined) throw missing('status')
  const outcomes =
    action === 'delete'
      ? await removeListings(
          tx,
          accountId,
          ids.map((id) => ({ id })),
        )
      : await changeListings(
          tx,
          accountId,
          ids.map((id) => ({
            target: { id },
            changes: action === 'price' ? { pricePercent: percent } : { status },
          })),
        )
  const failed = outcomes.flatMap((outcome) => ('error' in outcome ? outcome.error.message : []))
  return { changed: outcomes.length - failed.length, failed }
}

const missing = (field: string) => validationError({ [field]: [`The ${field} field is required.`] })
