import type { FastifyInstance, FastifyPluginCallback, FastifyRequest } from 'fastify'
import { dashboardBuild } from './dashboard/build.ts'
import { type Actor, auditWrites } from './http/audit/audit-writes.ts'
import { guardSellerRoutes } from './http/authenticate.ts'
import { authenticateOperator, recheckOperator } from './http/authenticate-operator.ts'
import { compressForOwnPages } from './http/compress.ts'
import { builtPages } from './http/dashboard/app.ts'
import { showErrorsAsPages } from './http/dashboard/error-pages.ts'
import { guardDashboard, recheckDashboard } from './http/dashboard/guard.ts'
import { keysApi } from './http/dashboard/keys.ts'
import { listingsApi } from './http/dashboard/listings.ts'
import { meApi } from './http/dashboard/me.ts'
import { noticesApi } from './http/dashboard/notices.ts'
import { ordersApi } from './http/dashboard/orders.ts'
import { overviewApi } from './http/dashboard/overview.ts'
import { payoutsApi } from './http/dashboard/payouts.ts'
import { programsApi } from './http/dashboard/programs.ts'
import { reviewsApi } from './http/dashboard/reviews.ts'
import { searchApi } from './http/dashboard/search.ts'
import { sessionsApi } from './http/dashboard/sessions.ts'
import { settingsApi } from './http/dashboard/settings.ts'
import { webhooksApi } from './http/dashboard/webhooks.ts'
import type { FastLane } from './http/fast-lane.ts'
import { recheckAfterBody } from './http/gather-body.ts'
import { readKnownFields } from './http/known-fields.ts'
import { toolServerRoutes } from './http/mcp/routes.ts'
import {
  consentRoutes,
  openProgramSignIn,
  programRoutes,
  serveEndpoints,
} from './http/oauth/routes.ts'
import { describeRoutes } from './http/openapi.ts'
import { accountRoutes } from './http/operator/accounts.ts'
import { auditRoutes } from './http/operator/audit.ts'
import { buyerRoutes } from './http/operator/buyers.ts'
import { catalogRoutes } from './http/operator/catalog.ts'
import { checkoutRoutes } from './http/operator/checkouts.ts'
import { deliveryRoutes } from './http/operator/deliveries.ts'
import { operatorApi } from './http/operator/description.ts'
import { disputeRoutes } from './http/operator/disputes.ts'
import { endpointRoutes } from './http/operator/endpoints.ts'
import { eventStreamRoutes } from './http/operator/event-stream.ts'
import { keyRoutes } from './http/operator/keys.ts'
import { ledgerRoutes } from './http/operator/ledger.ts'
import { listingPhotoRoutes, operatorListingRoutes } from './http/operator/listings.ts'
import { mailRoutes } from './http/operator/mails.ts'
import { invitationRoutes, memberRoutes } from './http/operator/members.ts'
import { orderRowRoutes } from './http/operator/order-rows.ts'
import { orderTransitionRoutes } from './http/operator/orders.ts'
import { payoutRunRoutes } from './http/operator/payout-runs.ts'
import { payoutSetupList, payoutSetupRoutes } from './http/operator/payout-setups.ts'
import { payoutRoutes } from './http/operator/payouts.ts'
import { requireRole } from './http/operator/permissions.ts'
import { reservationRoutes } from './http/operator/reservations.ts'
import { reviewList, reviewRoutes } from './http/operator/reviews.ts'
import { sandboxRoutes } from './http/operator/sandbox.ts'
import { shipmentRoutes } from './http/operator/shipments.ts'
import { sliceRoutes } from './http/operator/slices.ts'
import { staffRoutes } from './http/operator/staff.ts'
import { accountStatementRoutes } from './http/operator/statements.ts'
import { trackingRoutes } from './http/operator/tracking.ts'
import { visibilityRoutes } from './http/operator/visibility.ts'
import { docsRoutes } from './http/public/docs.ts'
import { guideRoutes } from './http/public/guides.ts'
import { healthRoutes } from './http/public/health.ts'
import { labelFileRoutes } from './http/public/labels.ts'
import { landingRoutes } from './http/public/landing.ts'
import { cardPages, productPages } from './http/public/market/item-pages.ts'
import { offerlessPages } from './http/public/market/offerless-pages.ts'
import { marketScope } from './http/public/market/scope.ts'
import { searchPages } from './http/public/market/search-page.ts'
import { setPages } from './http/public/market/set-pages.ts'
import { shopPages } from './http/public/market/shop-pages.ts'
import { robots, sitemapIndex, sitemapParts } from './http/public/market/sitemap.ts'
import { marketStyles } from './http/public/market/styles.ts'
import { metricsRoutes } from './http/public/metrics.ts'
import { photoRoutes } from './http/public/photos.ts'
import { insideRequests } from './http/request-transaction.ts'
import { responseCache } from './http/response-cache.ts'
import { forbidCaching } from './http/response-headers.ts'
import { cardRoutes } from './http/seller/catalog/cards.ts'
import { productRoutes } from './http/seller/catalog/products.ts'
import { catalogReads } from './http/seller/catalog/reads.ts'
import { seriesRoutes } from './http/seller/catalog/series.ts'
import { setRoutes } from './http/seller/catalog/sets.ts'
import { sellerApi } from './http/seller/description.ts'
import { labelRoutes } from './http/seller/labels.ts'
import { listingRoutes } from './http/seller/listings.ts'
import { meRoutes } from './http/seller/me.ts'
import { orderRoutes } from './http/seller/orders.ts'
import { webhookRoutes } from './http/seller/webhooks.ts'
import { emailPages } from './http/sign-in/email.ts'
import { serveForms } from './http/sign-in/forms.ts'
import { invitationPages, passwordPages } from './http/sign-in/password.ts'
import { signInPages, signOutRoute } from './http/sign-in/sign-in.ts'
import { changeRoutes } from './http/tools/changes.ts'
import { toolsApi } from './http/tools/description.ts'
import { disputeAnswerRoutes, ownDisputeRoutes } from './http/tools/disputes.ts'
import { newKeyRoutes, ownKeyRoutes } from './http/tools/key.ts'
import { ownListingRoutes } from './http/tools/listings.ts'
import { ownPayoutRoutes, statementRoutes } from './http/tools/money.ts'
import { ownLabelRoutes, ownOrderRoutes } from './http/tools/orders.ts'
import { ownReviewRoutes } from './http/tools/reviews.ts'
import { holidayRoutes, shippingOptionRoutes } from './http/tools/shop.ts'
import { ownDeliveryRoutes, ownEndpointRoutes, ownEventRoutes } from './http/tools/webhooks.ts'
import { offersOAuth } from './oauth/offered.ts'
import type { Service } from './service.ts'

/**
 * The table of contents: every path with its routes. A route outside of its path fails the start, so that the table
 * can't be wrong.
 */
export function routes(app: FastifyInstance, service: Service, lane: Pick<FastLane, 'add'>): void {
  // Routes that the audit log records are called inside a transaction; for all others this is the service.
  const ctx = insideRequests(service)
  const { publicUrl, operatorToken, sandbox } = ctx.config

  const build = dashboardBuild()
  const built = builtPages(build)
  serve(app, {
    '/': landingRoutes(ctx),
    '/health': healthRoutes(ctx),
    '/docs': docsRoutes(ctx, build.directory),
    '/docs/guides': guideRoutes(ctx),
    '/photos': photoRoutes(ctx),
    '/labels': labelFileRoutes(ctx),
    '/dashboard': built.dashboard,
  })
  if (ctx.config.publicPages) {
    const prepared = offerlessPages(ctx)
    lane.add(prepared)
    // They need no database, so they don't wait for the pages.
    serve(app, {
      '/market.css': marketStyles,
      '/sitemap.xml': sitemapIndex(ctx),
      '/robots.txt': robots(ctx),
    })
    app.register(async (pages) => {
      marketScope(pages, ctx)
      serve(pages, {
        '/search': searchPages(ctx),
        '/sets': setPages(ctx),
        '/cards': cardPages(ctx, prepared),
        '/products': productPages(ctx, prepared),
        '/shops': shopPages(ctx),
        '/sitemaps': sitemapParts(ctx),
      })
    })
  }

  app.register(async (api) => {
    describeRoutes(api, sellerApi(publicUrl))
    api.get('/openapi.json', { schema: { hide: true } }, api.describe)
    api.register(
      async (seller) => {
        seller.addHook('onRequest', forbidCaching)
        seller.addHook('onRoute', guardSellerRoutes(ctx))
        seller.addHook('onRoute', readKnownFields)
        seller.register(async (catalog) => {
          const cache = responseCache(ctx)
          const reads = catalogReads(ctx, cache)
          lane.add(reads)
          catalog.addHook('onRoute', cache.sendCachedFirst)
          serve(catalog, {
            '/series': seriesRoutes(ctx, cache, reads),
            '/sets': setRoutes(ctx, cache, reads),
            '/cards': cardRoutes(ctx, cache, reads),
            '/products': productRoutes(ctx, cache, reads),
          })
        })
        serve(seller, {
          '/listings': listingRoutes(ctx, lane),
          '/orders': orderRoutes(ctx),
          '/orders/:order/label': labelRoutes(ctx),
          '/webhooks': webhookRoutes(ctx),
          '/me': meRoutes(ctx),
        })
      },
      { prefix: sellerApi.prefix },
    )
  })

  app.register(async (api) => {
    describeRoutes(api, toolsApi(publicUrl))
    api.get('/tools/openapi.json', { schema: { hide: true } }, api.describe)
    api.register(
      async (tools) => {
        tools.addHook('onRequest', forbidCaching)
        tools.addHook('onRoute', guardSellerRoutes(ctx))
        tools.addHook('onRoute', readKnownFields)
        serve(tools, {
          '/listings': ownListingRoutes(ctx),
          '/orders': ownOrderRoutes(ctx),
          '/reviews': ownReviewRoutes(ctx),
          '/orders/:order/dispute': disputeAnswerRoutes(ctx),
          '/disputes': ownDisputeRoutes(ctx),
          '/labels': ownLabelRoutes(ctx),
          '/changes': changeRoutes(ctx),
          '/payouts': ownPayoutRoutes(ctx),
          '/statements': statementRoutes(ctx),
          '/key': ownKeyRoutes(ctx),
          '/shipping-options': shippingOptionRoutes(ctx),
          '/holiday': holidayRoutes(ctx),
          '/webhooks/:id': ownEndpointRoutes(ctx),
          '/deliveries': ownDeliveryRoutes(ctx),
          '/events': ownEventRoutes(ctx),
        })
      },
      { prefix: toolsApi.prefix },
    )
    if (!offersOAuth(ctx.config)) return
    api.register(
      async (tools) => {
        tools.addHook('onRequest', forbidCaching)
        tools.addHook('onRoute', readKnownFields)
        serve(tools, { '/key': newKeyRoutes(ctx) })
      },
      { prefix: toolsApi.prefix },
    )
  })

  serve(app, { '/mcp': toolServerRoutes(ctx, '/mcp') })
  if (offersOAuth(ctx.config)) serve(app, { '/mcp/seller': toolServerRoutes(ctx, '/mcp/seller') })

  const programs = openProgramSignIn(ctx)
  app.register(async (pages) => {
    serveForms(pages, ctx)
    serve(pages, {
      '/signin': signInPages(ctx, built),
      '/signout': signOutRoute(ctx),
      '/password': passwordPages(ctx),
      '/invitation': invitationPages(ctx),
      '/email': emailPages(ctx),
    })
    if (offersOAuth(ctx.config)) serve(pages, consentRoutes(programs))
  })

  if (offersOAuth(ctx.config)) {
    app.register(async (endpoints) => {
      serveEndpoints(endpoints, programs)
      serve(endpoints, programRoutes(programs, ctx.config))
    })
  }

  app.register(
    async (dashboard) => {
      dashboard.addHook('onRequest', forbidCaching)
      dashboard.addHook('onRequest', guardDashboard(ctx))
      dashboard.addHook('onSend', compressForOwnPages)
      showErrorsAsPages(dashboard, ctx.config)
      dashboard.addHook('onRoute', recheckAfterBody(recheckDashboard(ctx)))
      dashboard.addHook('onRoute', readKnownFields)
      dashboard.addHook('onRoute', auditWrites(service, memberActor))
      serve(dashboard, dashboardApis(ctx))
    },
    { prefix: '/dashboard/api' },
  )

  // Without a token there is no operator API: its paths and the console are 404 like any other unknown path.
  if (operatorToken === undefined) return
  serve(app, { '/metrics': metricsRoutes(ctx), '/console': built.console })
  app.register(async (api) => {
    describeRoutes(api, operatorApi(publicUrl))
    api.get('/operator/openapi.json', { schema: { hide: true } }, api.describe)
    api.register(
      async (operator) => {
        operator.addHook('onRequest', forbidCaching)
        operator.addHook('onRequest', authenticateOperator(ctx))
        operator.addHook('onSend', compressForOwnPages)
        operator.addHook('onRoute', recheckAfterBody(recheckOperator(ctx)))
        operator.addHook('onRoute', requireRole)
        operator.addHook('onRoute', readKnownFields)
        operator.addHook('onRoute', auditWrites(service, operatorActor))
        serve(operator, {
          '/accounts': accountRoutes(ctx),
          '/accounts/:id/invitations': invitationRoutes(ctx),
          '/accounts/:id/members': memberRoutes(ctx),
          '/accounts/:id/keys': keyRoutes(ctx),
          '/catalog/import': catalogRoutes(ctx),
          '/catalog/visibility': visibilityRoutes(ctx),
          '/checkouts': checkoutRoutes(ctx),
          '/orders/:id': orderTransitionRoutes(ctx),
          '/disputes': disputeRoutes(ctx),
          '/reviews': reviewList(ctx),
          '/orders/:id/review': reviewRoutes(ctx),
          '/ledger': ledgerRoutes(ctx),
          '/accounts/:id/statements': accountStatementRoutes(ctx),
          '/payouts': payoutRoutes(ctx),
          '/payout-runs': payoutRunRoutes(ctx),
          '/payout-setups': payoutSetupList(ctx),
          '/accounts/:id/payout-setup': payoutSetupRoutes(ctx),
          '/slices/:slice_key/tracking': trackingRoutes(ctx),
          '/reservations': reservationRoutes(ctx),
          '/listings/:id/photos': listingPhotoRoutes(ctx),
          '/accounts/:id/webhooks': endpointRoutes(ctx),
          '/deliveries': deliveryRoutes(ctx),
          '/accounts/:id/events/stream': eventStreamRoutes(ctx),
          '/staff': staffRoutes(ctx),
          '/audit': auditRoutes(ctx),
          '/buyers': buyerRoutes(ctx),
          '/orders': orderRowRoutes(ctx),
          '/slices': sliceRoutes(ctx),
          '/listings': operatorListingRoutes(ctx),
          '/mails': mailRoutes(ctx),
          '/shipments': shipmentRoutes(ctx),
        })
        if (sandbox) serve(operator, { '/sandbox': sandboxRoutes(ctx) })
      },
      { prefix: operatorApi.prefix },
    )
  })
}

const operatorActor = ({ operator: { staffId, name, role } }: FastifyRequest): Actor =>
  staffId === null
    ? { actor: 'operator', actorName: null, role: 'root' }
    : { actor: `staff:${staffId}`, actorName: name, role }

const memberActor = ({ member: { id, email, accountId } }: FastifyRequest): Actor => ({
  actor: `member:${id}`,
  actorName: email,
  role: 'seller',
  accountId,
})

/** The API of the dashboard, which has no published description. */
export const dashboardApis = (ctx: Service): Parameters<typeof serve>[1] => ({
  '/me': meApi(ctx),
  '/listings': listingsApi(ctx),
  '/orders': ordersApi(ctx),
  '/keys': keysApi(ctx),
  '/programs': programsApi(ctx),
  '/sessions': sessionsApi(ctx),
  '/settings': settingsApi(ctx),
  '/notices': noticesApi(ctx),
  '/overview': overviewApi(ctx),
  '/search': searchApi(ctx),
  '/webhooks': webhooksApi(ctx),
  '/payouts': payoutsApi(ctx),
  '/reviews': reviewsApi(ctx),
})

/** Registers routes by the path that they are at or below. */
function serve(scope: FastifyInstance, routesByPath: Record<string, FastifyPluginCallback>): void {
  for (const [path, plugin] of Object.entries(routesByPath)) {
    const checked: FastifyPluginCallback = (inner, options, done) => {
      const expected = inner.prefix + path
      inner.addHook('onRoute', ({ url }) => {
        if (url === expected || url.startsWith(`${expected}/`)) return
        throw new Error(`The route ${url} is registered as ${expected}.`)
      })
      plugin(inner, options, done)
    }
    // Fastify searches all loaded modules for the name of a plugin without one: half of the time that routes took.
    scope.register(Object.assign(checked, { [Symbol.for('fastify.display-name')]: path }))
  }
}
