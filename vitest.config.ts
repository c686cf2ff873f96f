import { configDefaults, defineConfig } from 'vitest/config'

/** Test files that start processes or embedded clusters, and those that take several seconds each. */
const SLOW = [
  'server/serve.test.ts',
  'server/bundle/bundle.test.ts',
  'server/**/crash.test.ts',
  'server/**/*.browser.test.ts',
  'server/dashboard/build.test.ts',
  'server/commands/*.test.ts',
  'server/database/embedded/*.test.ts',
  'server/listen/*.test.ts',
  'server/limits/redis-counters.test.ts',
  'server/orders/checkout-concurrency.test.ts',
  'server/money/races.test.ts',
  'server/{processes,http/oauth}/processes.test.ts',
  'server/test/program/*.test.ts',
  'server/webhooks/receivers.test.ts',
  // They wait for timeouts.
  'server/database/{migrate,outage,signals}.test.ts',
  'server/http/{outage,slow-requests,connections}.test.ts',
  'server/outbound/dns.test.ts',
  // They use the bundled catalog, or large tables.
  'server/catalog/import/{bundled,import,sources}.test.ts',
  'server/http/request-{cost,examples}.test.ts',
  'server/http/seller/catalog/{bundled-catalog,full-catalog,offers}.test.ts',
  'server/http/seller/{list-listings-pages,sync}.test.ts',
  'server/accounts/recalculate-tiers.test.ts',
  'server/listings/{offer-model,remove-listings}.test.ts',
  // They derive keys from passwords.
  'server/http/sign-in/{sign-in,links}.test.ts',
  'server/http/dashboard/settings.test.ts',
  // They process pictures.
  'server/photos/{photos,picture}.test.ts',
  // They go through every state of a queue, an order or a label.
  'server/http/operator/{deliveries,endpoints,event-stream,reservations,sandbox}.test.ts',
  'server/http/seller/{labels,ship-order,webhooks}.test.ts',
  'server/http/dashboard/webhooks.test.ts',
  'server/mail/outbox.test.ts',
  'server/money/{histories,payout-runs,payout-setup,payouts,statements,ledger}.test.ts',
  'server/orders/{receive-long-shipped,shared-checkouts,transitions}.test.ts',
  'server/shipping/labels.test.ts',
  'server/webhooks/{attempt-delivery,delivery-counts,delivery-worker,failing-endpoint,fan-out,partitions,prune}.test.ts',
  // They take more than two seconds each. `npm run test:fast` must stay below 30 s on two cores: move a file here if not.
  'cli/*.test.ts',
  'sdk/{examples,package}.test.ts',
  'sdk/src/sdk.test.ts',
  'server/audit/counts.test.ts',
  'server/back-office/close-account.test.ts',
  'server/carriers/sendcloud.test.ts',
  'server/changes/changes.test.ts',
  'server/catalog/{browse,reader}.test.ts',
  'server/catalog/import/command.test.ts',
  'server/database/{counts,plans,require-secret-key,transactions}.test.ts',
  'server/events/stream.test.ts',
  'server/http/{compress,errors,fast-lane,openapi}.test.ts',
  'server/http/operator/{checkout-input,checkout-item,checkout-stock}.test.ts',
  'server/http/seller/{change-listing,create-listings,create-listings-once,delete-listing}.test.ts',
  'server/http/seller/{orders,read-order}.test.ts',
  'server/http/tools/listing-batches.test.ts',
  'server/http/seller/catalog/{cards,catalog,series,sets}.test.ts',
  'server/http/shapes/{event,listing}.test.ts',
  'server/keys/key-cache.test.ts',
  'server/metrics.test.ts',
  'server/orders/{locks,restock,disputes,cancel-overdue}.test.ts',
  'server/money/locks.test.ts',
  'server/reviews/reviews.test.ts',
  'server/sales/sales.test.ts',
  'server/sandbox/demo-seller.test.ts',
  'server/orders/cancel-as-seller.test.ts',
  'server/http/{dashboard,tools}/orders.test.ts',
  'server/webhooks/endpoint-cache.test.ts',
  'server/catalog/search/fold.test.ts',
  'server/http/audit/audit.test.ts',
  'server/http/dashboard/{app,guard,listings}.test.ts',
  'server/http/mcp/{conversation,endpoints,tools}.test.ts',
  'server/http/oauth/{clients,oauth}.test.ts',
  'server/http/operator/{accounts,buyers,checkouts,lookups,permissions,visibility}.test.ts',
  'server/http/public/{guides,market/market}.test.ts',
  'server/http/tools/{shop,webhooks}.test.ts',
  'server/limits/{counters,secret-lookups}.test.ts',
]

/** Runs all tests; with `--mode fast`, those that are neither slow nor start processes. */
export default defineConfig(({ mode }) => ({
  test: {
    include: ['{server,scripts,sdk,cli}/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(mode === 'fast' ? SLOW : [])],
    globalSetup: ['server/test/global-setup.ts'],
    setupFiles: ['server/test/setup.ts'],
    // A worker loads the product once and runs many files: loading it for each file took a third of the time. Two projects
    // would have workers of their own, which load it again.
    isolate: false,
    // The tests often wait for other processes: more workers than cores make the run shorter.
    maxWorkers: 4,
    // Only for tests that hang: on a busy machine, a test takes ten times as long as on a quiet one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 180_000 } },
  },
}))
