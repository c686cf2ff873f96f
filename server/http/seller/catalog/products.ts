import Type from 'typebox'
import { browseProducts } from '../../../catalog/browse.ts'
import type { ProductEntry } from '../../../catalog/entries.ts'
import { findProduct } from '../../../catalog/identifiers.ts'
import { entryPage, productResponse } from '../../../catalog/json.ts'
import { PRODUCT_CATEGORIES } from '../../../enums.ts'
import type { Service } from '../../../service.ts'
import { entityTag } from '../../entity-tag.ts'
import { included } from '../../json.ts'
import { pageExample, pageParameters } from '../../paginate.ts'
import type { ResponseCache } from '../../response-cache.ts'
import type { App } from '../../schema.ts'
import { Data, NotModified, Paginated, Text } from '../../schema.ts'
import { exampleProduct, ProductSchema } from '../../shapes/product.ts'
import { catalogPage } from './catalog-page.ts'
import { offersInMemory, offersSender, type ShownItem } from './offers.ts'
import { includeParameter, searchParameter } from './parameters.ts'
import { type CatalogReads, tagged } from './reads.ts'

const listQuery = Type.Object({
  q: searchParameter(
    'product name',
    ' When no name has every word, the other words are compared with set name and code, and category: `evs etb`.',
  ),
  set: Type.Optional(
    Text({
      maxLength: 100,
      description: 'Canonical id or unambiguous shortcut of a set',
      examples: ['sv1'],
    }),
  ),
  category: Type.Optional(
    Text({
      maxLength: 50,
      description: `Exact category: ${PRODUCT_CATEGORIES.join(', ')}. Another value matches nothing.`,
    }),
  ),
  ...pageParameters,
})

const recordQuery = Type.Object({ include: includeParameter('`listings`') })

/** `GET /products/{slug}?include=listings`. */
const withOffers = (product: ProductEntry): ShownItem => ({
  of: { cardId: null, productSlug: product.slug },
  identity: entityTag(product.json),
  toJson: (listings) => productResponse(product, listings),
})

export function productRoutes(
  app: App,
  ctx: Service,
  cache: ResponseCache,
  reads: CatalogReads,
): void {
  const offers = offersInMemory(ctx)
  const sendWithOffers = offersSender(ctx, offers)
  const list = catalogPage(ctx, cache, {
    path: '/v1/products',
    browse: browseProducts,
    toResponse: (products, end) => tagged(entryPage(products, end)),
  })
  reads.add({ route: '/v1/products', querystring: listQuery, respond: list.respond })
  reads.add({
    route: '/v1/products/:slug',
    querystring: recordQuery,
    respond(catalog, slug, { include }) {
      const product = findProduct(catalog, slug)
      if (!included(include).has('listings')) return tagged(productResponse(product))
      return offers.respond(withOffers(product))
    },
  })

  app.get(
    '/products',
    {
      config: { scope: 'catalog:read' },
      schema: {
        operationId: 'listProducts',
        summary: 'List or search sealed products',
        description:
          'Returns the products of the newest set first, then by name. With `q`, the best match comes first. There is no language parameter: a request whose `set` is a shortcut of several sets fails with 409; use the canonical id of the set instead.',
        tags: ['Catalog'],
        querystring: listQuery,
        response: {
          200: Paginated(ProductSchema, 'A page of sealed products'),
          304: NotModified,
        },
        'x-errors': ['ambiguous_identifier', 'validation_error'],
        'x-example': pageExample('/v1/products', [exampleProduct]),
      },
    },
    list.handle,
  )

  app.get(
    '/products/:slug',
    {
      config: { scope: 'catalog:read' },
      // An unknown slug gets 404 even if the query is invalid.
      preValidation: (request, _reply, done) => {
        findProduct(ctx.catalog.current, request.params.slug)
        done()
      },
      schema: {
        operationId: 'getProduct',
        summary: 'Read a sealed product',
        tags: ['Catalog'],
        params: Type.Object({ slug: Type.String({ description: 'Slug of the product' }) }),
        querystring: recordQuery,
        response: { 200: Data(ProductSchema, 'The sealed product'), 304: NotModified },
        'x-errors': ['validation_error'],
        'x-example': { data: exampleProduct },
      },
    },
    (request, reply) => {
      const catalog = ctx.catalog.current
      const product = findProduct(catalog, request.params.slug)
      if (included(request.query.include).has('listings')) {
        return sendWithOffers(request, reply, withOffers(product))
      }
      return cache.send(request, reply, catalog, productResponse(product))
    },
  )
}
