import type { FastifyInstance } from 'fastify'
import { answerCache } from './http/answer-cache.ts'
import { authenticateOperator, guardSellerRoutes } from './http/authenticate.ts'
import { readKnownFields } from './http/known-fields.ts'
import { describeRoutes } from './http/openapi.ts'
import { accountRoutes } from './http/operator/accounts.ts'
import { catalogRoutes } from './http/operator/catalog.ts'
import { checkoutRoutes } from './http/operator/checkouts.ts'
import { deliveryRoutes } from './http/operator/deliveries.ts'
import { operatorApi } from './http/operator/description.ts'
import { endpointRoutes } from './http/operator/endpoints.ts'
import { eventStreamRoutes } from './http/operator/event-stream.ts'
import { keyRoutes } from './http/operator/keys.ts'
import { listingPhotoRoutes } from './http/operator/listings.ts'
import { orderTransitionRoutes } from './http/operator/orders.ts'
import { reservationRoutes } from './http/operator/reservations.ts'
import { sandboxRoutes } from './http/operator/sandbox.ts'
import { trackingRoutes } from './http/operator/tracking.ts'
import { docsRoutes } from './http/public/docs.ts'
import { guideRoutes } from './http/public/guides.ts'
import { healthRoutes } from './http/public/health.ts'
import { labelFileRoutes } from './http/public/labels.ts'
import { landingRoutes } from './http/public/landing.ts'
import { metricsRoutes } from './http/public/metrics.ts'
import { photoRoutes } from './http/public/photos.ts'
import { keepNothing } from './http/response-headers.ts'
import { cardRoutes } from './http/seller/catalog/cards.ts'
import { productRoutes } from './http/seller/catalog/products.ts'
import { seriesRoutes } from './http/seller/catalog/series.ts'
import { setRoutes } from './http/seller/catalog/sets.ts'
import { sellerApi } from './http/seller/description.ts'
import { labelRoutes } from './http/seller/labels.ts'
import { listingRoutes } from './http/seller/listings.ts'
import { meRoutes } from './http/seller/me.ts'
import { orderRoutes } from './http/seller/orders.ts'
import { webhookRoutes } from './http/seller/webhooks.ts'
import type { Service } from './service.ts'

/** The table of contents: both doors and every resource behind them. */
export function routes(app: FastifyInstance, ctx: Service): void {
  const { publicUrl, operatorToken, sandbox } = ctx.config

  app.register(healthRoutes(ctx)) //                 /health/live, /health/ready
  app.register(landingRoutes(ctx)) //                /
  app.register(docsRoutes(ctx)) //                   /docs
  app.register(guideRoutes) //                       /docs/guides
  app.register(photoRoutes(ctx)) //                  /photos
  app.register(labelFileRoutes(ctx)) //              /labels

  app.register(async (api) => {
    await describeRoutes(api, sellerApi(publicUrl))
    api.get('/openapi.json', { schema: { hide: true } }, () => api.describe())
    api.register(
      async (seller) => {
        seller.addHook('onRequest', keepNothing)
        seller.addHook('onRoute', guardSellerRoutes(ctx))
        seller.addHook('onRoute', readKnownFields)
        seller.register(async (catalog) => {
          const answers = answerCache(ctx)
          catalog.addHook('onRoute', answers.sendKeptFirst)
          catalog.register(seriesRoutes(ctx, answers)) //   /v1/series
          catalog.register(setRoutes(ctx, answers)) //      /v1/sets
          catalog.register(cardRoutes(ctx, answers)) //     /v1/cards
          catalog.register(productRoutes(ctx, answers)) //  /v1/products
        })
        seller.register(listingRoutes(ctx)) //       /v1/listings
        seller.register(orderRoutes(ctx)) //         /v1/orders
        seller.register(labelRoutes(ctx)) //         /v1/orders/:order/label
        seller.register(webhookRoutes(ctx)) //       /v1/webhooks
        seller.register(meRoutes(ctx)) //            /v1/me
      },
      { prefix: sellerApi.prefix },
    )
  })

  // Without a token there is no operator API: its paths are as unknown as any other.
  if (operatorToken === undefined) return
  app.register(metricsRoutes(ctx)) //                /metrics
  app.register(async (api) => {
    await describeRoutes(api, operatorApi(publicUrl))
    api.get('/operator/openapi.json', { schema: { hide: true } }, () => api.describe())
    api.register(
      async (operator) => {
        operator.addHook('onRequest', keepNothing)
        operator.addHook('onRequest', authenticateOperator(ctx))
        operator.addHook('onRoute', readKnownFields)
        operator.register(accountRoutes(ctx)) //     /operator/v1/accounts
        operator.register(keyRoutes(ctx)) //         /operator/v1/accounts/:id/keys
        operator.register(catalogRoutes(ctx)) //     /operator/v1/catalog/import
        operator.register(checkoutRoutes(ctx)) //    /operator/v1/checkouts
        operator.register(orderTransitionRoutes(ctx)) // /operator/v1/orders/:id/…
        operator.register(trackingRoutes(ctx)) //    /operator/v1/slices/:slice_key/tracking
        operator.register(reservationRoutes(ctx)) // /operator/v1/reservations
        operator.register(listingPhotoRoutes(ctx)) //     /operator/v1/listings/:id/photos
        operator.register(endpointRoutes(ctx)) //    /operator/v1/accounts/:id/webhooks
        operator.register(deliveryRoutes(ctx)) //    /operator/v1/deliveries
        operator.register(eventStreamRoutes(ctx)) // /operator/v1/accounts/:id/events/stream
        if (sandbox) operator.register(sandboxRoutes(ctx)) // /operator/v1/sandbox/…
      },
      { prefix: operatorApi.prefix },
    )
  })
}
