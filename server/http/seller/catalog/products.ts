import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox'
import Type from 'typebox'
import { browseProducts } from '../../../catalog/browse.ts'
import { findProduct } from '../../../catalog/identifiers.ts'
import { PRODUCT_CATEGORIES } from '../../../enums.ts'
import type { Service } from '../../../service.ts'
import type { AnswerCache } from '../../answer-cache.ts'
import { page, productAnswer } from '../../catalog-json.ts'
import { included } from '../../json.ts'
import { pageEnd, pageExample, pageOf, pageParameters } from '../../paginate.ts'
import type { Query } from '../../query.ts'
import { Data, NotModified, Paginated, Text } from '../../schema.ts'
import { exampleProduct, ProductSchema } from '../../shapes/product.ts'
import { offersSender } from './offers.ts'
import { includeParameter, searchParameter } from './parameters.ts'

export const productRoutes =
  (ctx: Service, answers: AnswerCache): FastifyPluginCallbackTypebox =>
  (app, _options, done) => {
    const address = `${ctx.config.publicUrl}/v1/products`
    const sendWithOffers = offersSender(ctx)

    app.get(
      '/products',
      {
        config: { scope: 'catalog:read' },
        schema: {
          operationId: 'listProducts',
          summary: 'List or search sealed products',
          description:
            'Products of the newest set first, then by name; with `q`, the best match first. There is no language parameter here, so a shortcut that several sets share answers 409 and only the canonical id of the set resolves it.',
          tags: ['Catalog'],
          querystring: Type.Object({
            q: searchParameter('product name'),
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
          }),
          response: {
            200: Paginated(ProductSchema, 'A page of sealed products'),
            304: NotModified,
          },
          'x-errors': ['ambiguous_identifier', 'validation_error'],
          'x-example': pageExample('/v1/products', [exampleProduct]),
        },
      },
      (request, reply) => {
        const catalog = ctx.catalog.current
        const query = request.query as Query
        const wanted = pageOf(query)
        const found = browseProducts(catalog, query)
        const shown = found.slice(wanted.offset, wanted.offset + wanted.perPage)
        return answers.send(
          request,
          reply,
          catalog,
          page(shown, pageEnd(address, query, wanted, shown.length, found.length)),
        )
      },
    )

    app.get(
      '/products/:slug',
      {
        config: { scope: 'catalog:read' },
        // An unknown identifier is 404 before anything else is looked at.
        preValidation: (request, _reply, done) => {
          findProduct(ctx.catalog.current, request.params.slug)
          done()
        },
        schema: {
          operationId: 'getProduct',
          summary: 'Read a sealed product',
          tags: ['Catalog'],
          params: Type.Object({ slug: Type.String({ description: 'The product’s slug' }) }),
          querystring: Type.Object({ include: includeParameter('`listings`') }),
          response: { 200: Data(ProductSchema, 'The sealed product'), 304: NotModified },
          'x-errors': ['validation_error'],
          'x-example': { data: exampleProduct },
        },
      },
      (request, reply) => {
        const catalog = ctx.catalog.current
        const product = findProduct(catalog, request.params.slug)
        if (included(request.query.include).has('listings')) {
          const of = { cardId: null, productSlug: product.slug }
          return sendWithOffers(request, reply, of, (listings) => productAnswer(product, listings))
        }
        return answers.send(request, reply, catalog, productAnswer(product))
      },
    )
    done()
  }
