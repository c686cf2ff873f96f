import type { LoadResult } from './load.ts'
import { type Address, connectTo, type Database } from './service.ts'

/**
 * Does the work of a request with the minimal prepared SQL, in the fewest round trips that keep its promises, over a few
 * connections. There is no HTTP, no key, no validation and no JSON. Runs in its own process.
 */
export type BareSql = {
  address: Address
  statement: StatementName
  parameters: unknown[][]
  ms: number
}

const CONNECTIONS = 10

type Work = (db: Database, parameters: never) => Promise<unknown>

const STATEMENTS = {
  changePrice: (db, [id, accountId, priceCents]: [number, number, number]) => db`
    update listings
    set price_cents = ${priceCents}, updated_at = greatest(updated_at, ${new Date()})
    where id = ${id} and account_id = ${accountId} and status <> 'removed'
    returning *
  `,

  createListings: (db, [accountId, cards]: [number, string[]]) => db`
    insert into listings (
      account_id, card_id, price_cents, quantity, condition, language, created_at, updated_at
    )
    select ${accountId}::bigint, card_id, 100, 3, 'NM', 'EN', ${new Date()}::timestamptz, ${new Date()}::timestamptz
    from unnest(${cards}::text[]) as card_id
    returning id
  `,

  /** Two round trips: the snapshot of the second must be later than the locks of the first. */
  checkOut: async (db, [listingId, email]: [number, string]) => {
    const now = new Date()
    const begun = db.unsafe('begin')
    const [, [listing]] = await Promise.all([
      begun,
      db`
        select l.account_id, l.status, l.quantity, l.price_cents, a.email, a.seller_tier, o.*
        from listings l
        join accounts a on a.id = l.account_id
        join shipping_options o on o.account_id = a.id and o.enabled
        where l.id = ${listingId} and l.status <> 'removed'
        for no key update of l
      `,
      db`
        select sum(quantity) from reservations where listing_id = ${listingId} and expires_at > ${now}
      `,
    ])
    await Promise.all([
      db`
        with taken as (
          update listings
          set
            quantity = quantity - 1,
            status = case when quantity = 1 then 'sold' else status end,
            updated_at = greatest(updated_at, ${now})
          where id = ${listingId}
        ),
        sold as (
          insert into checkouts (buyer_name, buyer_email, created_at)
          values ('Buyer', ${email}, ${now})
          returning id
        ),
        parcel as (
          insert into slices (
            checkout_id, account_id, slice_key, shipping_code, shipping_method, fulfilment, tracked,
            shipping_cents, created_at
          )
          select
            id, ${listing!.account_id}::bigint, ${`slc_${email}`}, 'letter', 'Letter', 'self_ship',
            false, 150, ${now}::timestamptz
          from sold
          returning id
        ),
        bought as (
          insert into orders (
            slice_id, account_id, listing_id, quantity, price_cents, item_type, item_id,
            item_friendly_id, item_name, item_subtitle, item_image, item_condition, item_language,
            commission_rate, commission_cents, created_at
          )
          select
            id, ${listing!.account_id}::bigint, ${listingId}::bigint, 1,
            ${listing!.price_cents}::int, 'card', 'swsh9-18', 'brs_18', 'Charizard VSTAR',
            'Brilliant Stars 18', 'https://images.pokemontcg.io/swsh9/18.png', 'NM', 'EN', 500,
            ${Math.round(listing!.price_cents / 20)}::bigint, ${now}::timestamptz
          from parcel
        ),
        happened as (
          insert into events (account_id, event, data, created_at)
          select ${listing!.account_id}::bigint, event, ${EVENT_DATA}, ${now}::timestamptz
          from unnest(array['order.created', 'listing.sold']) as event
          returning id, account_id, event
        ),
        -- These sellers have no endpoints, so nothing is written.
        due as (
          insert into deliveries (event_id, endpoint_id, status, created_at)
          select happened.id, w.id, 'pending', ${now}::timestamptz
          from happened
          join webhook_endpoints w
            on w.account_id = happened.account_id
            and w.deleted_at is null
            and happened.event = any(w.events)
        )
        insert into mails (recipient, subject, text, created_at, next_attempt_at)
        values (${listing!.email}, 'Sold', ${EVENT_DATA}, ${now}, ${now})
      `,
      db.unsafe('commit'),
    ])
  },
} satisfies Record<string, Work>

export type StatementName = keyof typeof STATEMENTS

const EVENT_DATA = JSON.stringify({ text: 'x'.repeat(300) })

let clients: Database[] | undefined

process.on('message', async ({ address, statement, parameters, ms }: BareSql) => {
  clients ??= Array.from({ length: CONNECTIONS }, () => connectTo(address, 1))
  // Connects before the time is taken.
  await Promise.all(clients.map((client) => client`select 1`))
  const work: Work = STATEMENTS[statement]
  const latencies: number[] = []
  let used = 0
  const began = performance.now()
  const cpu = process.cpuUsage()
  const loop = async (client: Database) => {
    while (performance.now() - began < ms && used < parameters.length) {
      const sentAt = performance.now()
      await work(client, parameters[used++] as never)
      latencies.push(performance.now() - sentAt)
    }
  }
  await Promise.all(clients.map(loop))
  const took = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  process.send!({
    used,
    ms: took,
    cpu: user + system,
    latencies: Float32Array.from(latencies),
  } satisfies LoadResult)
})
