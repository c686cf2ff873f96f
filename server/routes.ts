import type { FastifyInstance, FastifyPluginCallback, FastifyRequest } from 'fastify'
import { dashboardBuild } from './dashboard/build.ts'
import { type Actor, auditWrites } from './http/audit/audit-writes.ts'
import { guardSellerRoutes } from './http/authenticate.ts'
import { authenticateOperator, recheckOperator } from './http/authenticate-operator.ts'
import { compressForOwnPages, finishPublic } from './http/compress.ts'
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
import { orderTransitionRoutes } from './http/operator/order-transitions.ts'
import { orderRowRoutes } from './http/operator/orders.ts'
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
  app.register(async (pages) => {
    pages.addHook('onSend', finishPublic)
    serve(pages, ctx, {
      '/': landingRoutes,
      '/docs': (app) => docsRoutes(app, ctx, build.directory),
      '/docs/guides': guideRoutes,
    })
  })
  serve(app, ctx, {
    '/health': healthRoutes,
    '/photos': photoRoutes,
    '/labels': labelFileRoutes,
    '/dashboard': built.dashboard,
  })
  if (ctx.config.publicPages) {
    const prepared = offerlessPages(ctx)
    lane.add(prepared)
    // They need no database, so they don't wait for the pages.
    app.register(async (files) => {
      files.addHook('onSend', finishPublic)
      serve(files, ctx, {
        '/market.css': marketStyles,
        '/sitemap.xml': sitemapIndex,
        '/robots.txt': robots,
      })
    })
    app.register(async (pages) => {
      pages.addHook('onSend', finishPublic)
      marketScope(pages, ctx)
      serve(pages, ctx, {
        '/search': searchPages,
        '/sets': setPages,
        '/cards': (app) => cardPages(app, ctx, prepared),
        '/products': (app) => productPages(app, ctx, prepared),
        '/shops': shopPages,
        '/sitemaps': sitemapParts,
      })
    })
  }

  app.register(async (api) => {
    describeRoutes(api, sellerApi(publicUrl))
    api.get('/openapi.json', PUBLIC_DOCUMENT, api.describe)
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
          serve(catalog, ctx, {
            '/series': (app) => seriesRoutes(app, ctx, cache, reads),
            '/sets': (app) => setRoutes(app, ctx, cache, reads),
            '/cards': (app) => cardRoutes(app, ctx, cache, reads),
            '/products': (app) => productRoutes(app, ctx, cache, reads),
          })
        })
        serve(seller, ctx, {
          '/listings': (app) => listingRoutes(app, ctx, lane),
          '/orders': orderRoutes,
          '/orders/:order/label': labelRoutes,
          '/webhooks': webhookRoutes,
          '/me': meRoutes,
        })
      },
      { prefix: sellerApi.prefix },
    )
  })

  app.register(async (api) => {
    describeRoutes(api, toolsApi(publicUrl))
    api.get('/tools/openapi.json', PUBLIC_DOCUMENT, api.describe)
    api.register(
      async (tools) => {
        tools.addHook('onRequest', forbidCaching)
        tools.addHook('onRoute', guardSellerRoutes(ctx))
        tools.addHook('onRoute', readKnownFields)
        serve(tools, ctx, {
          '/listings': ownListingRoutes,
          '/orders': ownOrderRoutes,
          '/reviews': ownReviewRoutes,
          '/orders/:order/dispute': disputeAnswerRoutes,
          '/disputes': ownDisputeRoutes,
          '/labels': ownLabelRoutes,
          '/changes': changeRoutes,
          '/payouts': ownPayoutRoutes,
          '/statements': statementRoutes,
          '/key': ownKeyRoutes,
          '/shipping-options': shippingOptionRoutes,
          '/holiday': holidayRoutes,
          '/webhooks/:id': ownEndpointRoutes,
          '/deliveries': ownDeliveryRoutes,
          '/events': ownEventRoutes,
        })
      },
      { prefix: toolsApi.prefix },
    )
    if (!offersOAuth(ctx.config)) return
    api.register(
      async (tools) => {
        tools.addHook('onRequest', forbidCaching)
        tools.addHook('onRoute', readKnownFields)
        serve(tools, ctx, { '/key': newKeyRoutes })
      },
      { prefix: toolsApi.prefix },
    )
  })

  serve(app, ctx, { '/mcp': (app) => toolServerRoutes(app, ctx, '/mcp') })
  if (offersOAuth(ctx.config)) {
    serve(app, ctx, { '/mcp/seller': (app) => toolServerRoutes(app, ctx, '/mcp/seller') })
  }

  const programs = openProgramSignIn(ctx)
  app.register(async (pages) => {
    serveForms(pages, ctx)
    serve(pages, ctx, {
      '/signin': (app) => signInPages(app, ctx, built),
      '/signout': signOutRoute,
      '/password': passwordPages,
      '/invitation': invitationPages,
      '/email': emailPages,
    })
    if (offersOAuth(ctx.config)) serve(pages, ctx, consentRoutes(programs))
  })

  if (offersOAuth(ctx.config)) {
    app.register(async (endpoints) => {
      serveEndpoints(endpoints, programs)
      serve(endpoints, ctx, programRoutes(programs, ctx.config))
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
      serve(dashboard, ctx, dashboardApis)
    },
    { prefix: '/dashboard/api' },
  )

  // Without a token there is no operator API: its paths and the console are 404 like any other unknown path.
  if (operatorToken === undefined) return
  serve(app, ctx, { '/metrics': metricsRoutes, '/console': built.console })
  app.register(async (api) => {
    describeRoutes(api, operatorApi(publicUrl))
    api.get('/operator/openapi.json', PUBLIC_DOCUMENT, api.describe)
    api.register(
      async (operator) => {
        operator.addHook('onRequest', forbidCaching)
        operator.addHook('onRequest', authenticateOperator(ctx))
        operator.addHook('onSend', compressForOwnPages)
        operator.addHook('onRoute', recheckAfterBody(recheckOperator(ctx)))
        operator.addHook('onRoute', requireRole)
        operator.addHook('onRoute', readKnownFields)
        operator.addHook('onRoute', auditWrites(service, operatorActor))
        serve(operator, ctx, {
          '/accounts': accountRoutes,
          '/accounts/:id/invitations': invitationRoutes,
          '/accounts/:id/members': memberRoutes,
          '/accounts/:id/keys': keyRoutes,
          '/catalog/import': catalogRoutes,
          '/catalog/visibility': visibilityRoutes,
          '/checkouts': checkoutRoutes,
          '/orders/:id': orderTransitionRoutes,
          '/disputes': disputeRoutes,
          '/reviews': reviewList,
          '/orders/:id/review': reviewRoutes,
          '/ledger': ledgerRoutes,
          '/accounts/:id/statements': accountStatementRoutes,
          '/payouts': payoutRoutes,
          '/payout-runs': payoutRunRoutes,
          '/payout-setups': payoutSetupList,
          '/accounts/:id/payout-setup': payoutSetupRoutes,
          '/slices/:slice_key/tracking': trackingRoutes,
          '/reservations': reservationRoutes,
          '/listings/:id/photos': listingPhotoRoutes,
          '/accounts/:id/webhooks': endpointRoutes,
          '/deliveries': deliveryRoutes,
          '/accounts/:id/events/stream': eventStreamRoutes,
          '/staff': staffRoutes,
          '/audit': auditRoutes,
          '/buyers': buyerRoutes,
          '/orders': orderRowRoutes,
          '/slices': sliceRoutes,
          '/listings': operatorListingRoutes,
          '/mails': mailRoutes,
          '/shipments': shipmentRoutes,
        })
        if (sandbox) serve(operator, ctx, { '/sandbox': sandboxRoutes })
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

/** Options of the routes of published descriptions. */
const PUBLIC_DOCUMENT = { schema: { hide: true }, onSend: finishPublic }

/** The API of the dashboard, which has no published description. */
export const dashboardApis: Record<string, AddRoutes> = {
  '/me': meApi,
  '/listings': listingsApi,
  '/orders': ordersApi,
  '/keys': keysApi,
  '/programs': programsApi,
  '/sessions': sessionsApi,
  '/settings': settingsApi,
  '/notices': noticesApi,
  '/overview': overviewApi,
  '/search': searchApi,
  '/webhooks': webhooksApi,
  '/payouts': payoutsApi,
  '/reviews': reviewsApi,
}

type AddRoutes = (app: FastifyInstance, ctx: Service) => void

/** Adds routes by the path that they are at or below. Each path has its own scope, for hooks and parsers. */
function serve(
  scope: FastifyInstance,
  ctx: Service,
  routesByPath: Record<string, AddRoutes>,
): void {
  for (const [path, addRoutes] of Object.entries(routesByPath)) {
    const plugin: FastifyPluginCallback = (app, _options, done) => {
      const expected = app.prefix + path
      app.addHook('onRoute', ({ url }) => {
        if (url === expected || url.startsWith(`${expected}/`)) return
        throw new Error(`The route ${url} is registered as ${expected}.`)
      })
      addRoutes(app, ctx)
      done()
    }
    // Fastify searches all loaded modules for the name of a plugin without one: half of the time that routes took.
    scope.register(Object.assign(plugin, { [Symbol.for('fastify.display-name')]: path }))
  }
}
