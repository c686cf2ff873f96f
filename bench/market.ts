import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SCOPES } from '../server/keys/scopes.ts'
import { sampleData } from '../server/sandbox/sample-events.ts'
import {
  type Address,
  addressOf,
  connectTo,
  type Database,
  OWN_CHECKOUT,
  type Program,
  runCommand,
  type Service,
  startService,
} from './service.ts'

/** Rows of the measured database. `large` is a hundred times `small`. */
export const SIZES = {
  small: { sellers: 200, listings: 20_000, orders: 100_000, deliveries: 500_000 },
  full: { sellers: 20_000, listings: 2_000_000, orders: 1_000_000, deliveries: 500_000 },
  large: { sellers: 20_000, listings: 2_000_000, orders: 10_000_000, deliveries: 50_000_000 },
}

export type Size = keyof typeof SIZES

/** A service on a database of this size: all five languages of the catalog, sellers, listings, orders, deliveries. */
export type Market = {
  service: Service
  address: Address
  db: Database
  /** Sellers with keys, largest first: one has half of all listings and orders, the next 19 have a quarter. */
  sellers: { id: number; key: string }[]
  /** Endpoints of webhooks: one of each of 16 sellers, and 16 of one more seller. */
  hooks: { single: number[]; shared: number[] }
  close(): Promise<void>
}

/** Sellers with large shops. Own lists are measured for these. */
export const LARGE_SHOPS = 20
/** Sellers whose requests are measured. */
const MEASURED_SELLERS = 1_000
const SUBSCRIBERS = 16
export const CATALOG = ['english', 'products', 'europe', 'asia'].map(
  (name) => `catalog/${name}.ndjson.gz`,
)
const CHUNK = 500_000

/**
 * Starts the service on a database of this size. The first call creates the database by SQL and keeps it in `cache`,
 * named by its size and by a hash of the migrations and of this file. Later calls use it in place: what a measurement
 * adds is little compared with its size.
 */
export async function openMarket(
  checkout: string,
  size: Size,
  cache: string,
  settings: Record<string, string> = {},
): Promise<Market> {
  const dataDir = join(cache, `${size}-${schemaHash(checkout)}`)
  const program = { checkout, dataDir, settings }
  const finished = join(dataDir, 'bench.finished')
  if (!existsSync(finished)) {
    await createMarket(program, size)
    writeFileSync(finished, '')
  }
  const service = await startService(program)
  const address = addressOf(service)
  const db = connectTo(address, 4)
  return {
    service,
    address,
    db,
    sellers: await readSellers(db),
    hooks: await readHooks(db),
    async close() {
      await db.end()
      await service.stop()
    },
  }
}

function schemaHash(checkout: string): string {
  const folder = join(checkout, 'migrations')
  const hash = createHash('sha256').update(readFileSync(new URL(import.meta.url)))
  for (const name of readdirSync(folder).sort()) {
    if (/^\d+_.*\.sql$/.test(name)) hash.update(readFileSync(join(folder, name)))
  }
  return hash.digest('hex').slice(0, 12)
}

async function createMarket(program: Program, size: Size): Promise<void> {
  const { sellers, listings, orders, deliveries } = SIZES[size]
  const { dataDir, checkout = OWN_CHECKOUT } = program
  await rm(dataDir, { recursive: true, force: true })
  await mkdir(dataDir, { recursive: true })
  // If root starts the service, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(dataDir, 0o755)
  await timed(`${size}: catalog`, async () => {
    await runCommand(program, 'migrate')
    await runCommand(program, 'catalog:import', ...CATALOG.map((file) => join(checkout, file)))
  })
  const service = await startService(program)
  const db = connectTo(addressOf(service), 1)
  try {
    await db`set statement_timeout = 0`
    await db`set synchronous_commit = off`
    await db`set maintenance_work_mem = '1GB'`
    for (const [name, value] of Object.entries(BUILD_SETTINGS)) {
      await db.unsafe(`alter system set ${name} = '${value}'`)
    }
    await db`select pg_reload_conf()`
    const first = await addSellers(db, sellers)
    await addHooks(service)
    await fast(db, ['listings'], () => addListings(db, listings, first, sellers))
    await fast(db, ['checkouts', 'slices', 'orders'], () => addOrders(db, orders, first, sellers))
    await fast(db, ['postings', 'payouts', 'shipments'], () => addMoney(db, orders / 2))
    await fast(db, ['audit_entries'], () => addAuditEntries(db, orders / 2))
    await fast(db, ['events', 'deliveries'], () => addDeliveries(db, deliveries))
    await timed('vacuum analyze', () => db`vacuum analyze`)
    await db`alter system reset all`
    await db`select pg_reload_conf()`
    await db`checkpoint`
  } finally {
    await db.end()
    await service.stop()
  }
}

const BUILD_SETTINGS = { max_wal_size: '8GB', full_page_writes: 'off', checkpoint_timeout: '1h' }

async function timed(name: string, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now()
  await work()
  console.error(`  ${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
}

/**
 * Adds rows to these tables without checks of foreign keys, and creates their indexes afterwards. Triggers of the schema
 * run as usual.
 */
async function fast(db: Database, tables: string[], work: () => Promise<void>): Promise<void> {
  const checks = await db<{ command: string }[]>`
    select format('alter table %s %%s trigger %I', tgrelid::regclass, tgname) as command
    from pg_trigger
    where tgisinternal and tgrelid = any(${tables}::regclass[])
  `
  const indexes = await db<{ name: string; command: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as command
    from pg_index
    where
      indrelid = any(${tables}::regclass[])
      and not exists (select from pg_constraint where conindid = indexrelid)
  `
  for (const { command } of checks) await db.unsafe(command.replace('%s', 'disable'))
  for (const { name } of indexes) await db.unsafe(`drop index ${name}`)
  await work()
  await timed(`indexes of ${tables.join(', ')}`, async () => {
    // `only` would leave out the partitions of a table.
    for (const { command } of indexes) await db.unsafe(command.replace(' ON ONLY ', ' ON '))
  })
  for (const { command } of checks) await db.unsafe(command.replace('%s', 'enable'))
}

/** Calls `add` for ranges of numbers up to `rows`, and prints the progress. */
async function inChunks(
  name: string,
  rows: number,
  add: (first: number, last: number) => Promise<unknown>,
): Promise<void> {
  for (let first = 1; first <= rows; first += CHUNK) {
    const last = Math.min(first + CHUNK - 1, rows)
    const share = `${last.toLocaleString('en-US')} of ${rows.toLocaleString('en-US')}`
    await timed(`${name}: ${share}`, () => add(first, last))
  }
}

/** The secret of a seller's key is computed from the account's id, in SQL and in `keyOf`. */
async function addSellers(db: Database, sellers: number): Promise<number> {
  const [{ first } = { first: 0 }] = await db<{ first: number }[]>`
    with added as (
      insert into accounts (
        shop_name, slug, email, payout_verified, api_access, rating, reviews, created_at
      )
      select
        'Shop ' || number, 'bench-' || number, number || '@bench.example',
        -- The payouts of the others are held. Measured sellers must be able to list.
        number <= ${MEASURED_SELLERS} or number % 2 = 0, 'enabled', 4.5, number % 500, '2026-01-01'
      from generate_series(1, ${sellers}::int) number
      returning id
    ),
    keys as (
      insert into api_keys (account_id, prefix, hash, scopes, created_at)
      select
        id,
        left(secret, 13),
        sha256(convert_to(secret, 'UTF8')),
        ${[...SCOPES]}::text[],
        '2026-01-01'
      from added
      cross join lateral (
        select
          'svc_live_'
          || left(encode(sha256(convert_to('bench-' || id, 'UTF8')), 'hex'), 40) as secret
      ) key
    ),
    options as (
      insert into shipping_options (
        account_id, code, position, name, fulfilment, tracked, price_cents, enabled
      )
      select id, 'letter', 0, 'Letter', 'self_ship', false, 150, true from added
    )
    select min(id) as first from added
  `
  return first
}

function keyOf(accountId: number): string {
  return `svc_live_${createHash('sha256').update(`bench-${accountId}`).digest('hex').slice(0, 40)}`
}

async function readSellers(db: Database): Promise<Market['sellers']> {
  const rows = await db<{ id: number }[]>`
    select id from accounts where slug like 'bench-%' order by id limit ${MEASURED_SELLERS}
  `
  return rows.map(({ id }) => ({ id, key: keyOf(id) }))
}

/** Half of the rows belong to the first seller, a quarter to the next 19, the others to the rest. */
const sellerOf = (hash: string, first: number, sellers: number) => `
  ${first} + case
    when ${hash} % 2 = 0 then 0
    when ${hash} % 4 = 1 then 1 + (${hash} / 4) % ${LARGE_SHOPS - 1}
    else ${LARGE_SHOPS} + (${hash} / 4) % ${sellers - LARGE_SHOPS}
  end
`

/** Adds listings whose order in the table matches neither sellers nor cards, and a few reservations. */
async function addListings(
  db: Database,
  rows: number,
  first: number,
  sellers: number,
): Promise<void> {
  await inChunks('listings', rows, (from, to) =>
    db.unsafe(
      `
        with catalog as materialized (
          select id, row_number() over (order by id) - 1 as place from cards
        )
        insert into listings (
          account_id, card_id, price_cents, quantity, condition, language, created_at, updated_at
        )
        select
          ${sellerOf('hash', first, sellers)},
          catalog.id,
          1 + abs(hashint4(number * 7)::bigint) % 90000,
          1000 + number % 9,
          (array['M', 'NM', 'LP', 'MP'])[1 + number % 4],
          'EN',
          '2026-01-01'::timestamptz + number * interval '1 second',
          '2026-02-01'::timestamptz + abs(hashint4(number * 3)::bigint) % 2600000 * interval '1 s'
        from generate_series($1::int, $2::int) number
        cross join lateral (select abs(hashint4(number)::bigint) as hash) hashed
        join catalog
          on catalog.place = abs(hashint4(number * 31)::bigint) % (select count(*) from cards)
      `,
      [from, to],
    ),
  )
  await db`
    insert into reservations (listing_id, cart_id, quantity, created_at, expires_at)
    select id, 'bench-' || id, 1, '2026-01-01', '2100-01-01' from listings where id % 200 = 0
  `
}

/** SQL for the time of a slice: the last 4 % of two years' slices were sold on the last two, busy days. */
const soldAt = (number: string, slices: string) => `
  now() - case
    when ${number} > 0.96 * ${slices} then
      (${slices} - ${number}) / (0.04 * ${slices}) * interval '2 days'
    else interval '2 days' + (0.96 * ${slices} - ${number}) / (0.96 * ${slices}) * interval '728 days'
  end
`

/** SQL for the status of order rows: parcels leave after two days, except a few, and arrive within 14. */
const statusOf = (sliceId: string, createdAt: string) => `
  case
    when ${createdAt} > now() - interval '2 days' then 'pending'
    when ${createdAt} > now() - interval '29 days' and ${sliceId} % 3000 = 7 then 'pending'
    when ${createdAt} > now() - interval '14 days' then 'shipped'
    else 'received'
  end
`

/** Adds slices of two order rows each. */
async function addOrders(
  db: Database,
  rows: number,
  first: number,
  sellers: number,
): Promise<void> {
  await inChunks('orders', rows / 2, (from, to) =>
    db.unsafe(
      `
        with sold as (
          insert into checkouts (buyer_name, buyer_email, created_at)
          select
            'Buyer ' || number,
            number || '@mail.example',
            ${soldAt('number', '$3::int')}
          from generate_series($1::int, $2::int) number
          returning id, created_at
        ),
        parcels as (
          insert into slices (
            checkout_id, account_id, slice_key, shipping_code, shipping_method, fulfilment, tracked,
            shipping_cents, created_at
          )
          select
            id, ${sellerOf('hash', first, sellers)}, 'slc_bench_' || id, 'letter', 'Letter',
            'self_ship', false, 150, created_at
          from sold
          cross join lateral (select abs(hashint8(id)::bigint) as hash) hashed
          returning id, account_id, created_at
        )
        insert into orders (
          slice_id, account_id, status, quantity, price_cents, item_type, item_id, item_friendly_id,
          item_name, item_subtitle, item_image, item_condition, item_language, commission_rate,
          commission_cents, created_at, shipped_at, received_at
        )
        select
          parcels.id, account_id, status, 1 + row % 3, 450, 'card', 'swsh9-18', 'brs_18',
          'Charizard VSTAR', 'Brilliant Stars 18', 'https://images.pokemontcg.io/swsh9/18.png',
          'NM', 'EN', 500, 23, created_at,
          case when status <> 'pending' then created_at + interval '1 day' end,
          case when status = 'received' then created_at + interval '9 days' end
        from parcels
        cross join generate_series(1, 2) row
        cross join lateral (select ${statusOf('parcels.id', 'created_at')} as status) reached
      `,
      [from, to, rows / 2],
    ),
  )
}

/**
 * Adds what the slices leave in the ledger: their sales, shipping and payouts. The payouts of the last weeks are due, and
 * those of some sellers are held. Every third slice has a label as well, so that the lists of shipments are as large as
 * in a shop that buys labels.
 */
async function addMoney(db: Database, slices: number): Promise<void> {
  const [{ first } = { first: 0 }] = await db<{ first: number }[]>`
    select min(id) as first from slices where slice_key like 'slc_bench_%'
  `
  await inChunks('postings and payouts', slices, (from, to) =>
    db.unsafe(
      `
        with parcels as materialized (
          select id, account_id, shipping_cents, created_at
          from slices
          where id between $1::bigint and $2::bigint and slice_key like 'slc_bench_%'
        ),
        rows as materialized (
          select orders.id, slice_id, orders.account_id, status,
            price_cents * quantity as gross_cents, commission_cents, shipping_cents,
            orders.created_at
          from orders
          join parcels on parcels.id = slice_id
        ),
        sales as (
          insert into postings (
            kind, account_id, slice_id, order_id, buyers_cents, seller_cents, commission_cents,
            created_at
          )
          select
            'sale', account_id, slice_id, id, -gross_cents, gross_cents - commission_cents,
            commission_cents, created_at
          from rows
          order by id
        ),
        shipping as (
          insert into postings (
            kind, account_id, slice_id, buyers_cents, seller_cents, created_at
          )
          select 'shipping', account_id, id, -shipping_cents, shipping_cents, created_at
          from parcels
          order by id
        ),
        owed as (
          select
            slice_id as id, account_id, rows.created_at,
            min(shipping_cents) + sum(gross_cents - commission_cents) as cents,
            rows.created_at > now() - interval '40 days' or not payout_verified as is_due
          from rows
          join accounts on accounts.id = account_id
          where rows.status = 'received'
          group by 1, 2, 3, 5
        ),
        waiting as (
          insert into payouts (account_id, slice_id, amount_cents, state, created_at)
          select account_id, id, cents, 'due', created_at + interval '9 days'
          from owed
          where is_due
          order by id
        ),
        transfers as (
          insert into postings (
            kind, account_id, slice_id, seller_cents, payouts_cents, created_at
          )
          select 'payout', account_id, id, -cents, cents, created_at + interval '9 days'
          from owed
          where not is_due
          order by id
          returning id, account_id, slice_id, payouts_cents, created_at
        ),
        paid as (
          insert into payouts (
            account_id, slice_id, amount_cents, state, posting_id, created_at, sent_at, paid_at
          )
          select
            account_id, slice_id, payouts_cents, 'paid', id, created_at, created_at, created_at
          from transfers
        )
        insert into shipments (
          slice_id, order_id, reference, provider, state, in_doubt, lines, attempts, carrier_id,
          status, label_name, created_at, bought_at
        )
        select
          slice_id, min(id), 'bench-' || slice_id, 'simulated', 'bought', false, count(*), 1,
          'bench-' || slice_id, 'ready', 'bench-' || slice_id, min(created_at), min(created_at)
        from rows
        where slice_id % 3 = 0
        group by slice_id
      `,
      [first + from - 1, first + to - 1],
    ),
  )
}

/** Adds the entries of 40 members of staff, the last of them now: old ones would be deleted. */
async function addAuditEntries(db: Database, rows: number): Promise<void> {
  await inChunks('audit entries', rows, (from, to) =>
    db.unsafe(
      `
        insert into audit_entries (
          actor, actor_name, role, action, record, after, request_id, created_at
        )
        select
          'staff:' || number % 40,
          'Staff ' || number % 40,
          (array['admin', 'support', 'finance', 'catalog'])[1 + number % 4],
          'account.' || (array['suspend', 'change', 'reopen'])[1 + number / 4 % 3],
          'account:' || number % 20000,
          '{"status": "active"}',
          'bench-' || number,
          now() - ($3::int - number) * interval '1 second'
        from generate_series($1::int, $2::int) number
      `,
      [from, to, rows],
    ),
  )
}

/** Creates endpoints through the API, because only the service can encrypt their secrets. */
async function addHooks(service: Service): Promise<void> {
  for (let number = 0; number <= SUBSCRIBERS; number++) {
    const isLast = number === SUBSCRIBERS
    const { data: account } = await service.post('/operator/v1/accounts', {
      shop_name: `Subscriber ${number}`,
      email: `${isLast ? 'shared' : 'single'}-${number}@hooks.example`,
      api_access: 'enabled',
      payout_verified: true,
      shipping_options: [LETTER],
    })
    const { key } = await service.post(`/operator/v1/accounts/${account.id}/keys`, {
      scopes: ['webhooks:manage'],
    })
    for (let i = 0; i < (isLast ? SUBSCRIBERS : 1); i++) {
      const url = `http://localhost:9/hooks/${i}`
      await service.post('/v1/webhooks', { url, events: ['order.created'] }, key)
    }
  }
}

const LETTER = {
  code: 'letter',
  name: 'Letter',
  fulfilment: 'self_ship',
  tracked: false,
  price: 1.5,
  enabled: true,
}

async function readHooks(db: Database): Promise<Market['hooks']> {
  const rows = await db<{ id: number; email: string }[]>`
    select w.id, a.email
    from webhook_endpoints w
    join accounts a on a.id = w.account_id
    where a.email like '%@hooks.example'
    order by w.id
  `
  const idsOf = (kind: string) =>
    rows.filter(({ email }) => email.startsWith(kind)).map(({ id }) => id)
  return { single: idsOf('single'), shared: idsOf('shared') }
}

/** Partitions of events and deliveries within their retention, as in a service that has run for long. */
const PARTITIONS = 6

/** Adds delivered deliveries in equal partitions. Every second event goes to the seller with 16 endpoints. */
async function addDeliveries(db: Database, rows: number): Promise<void> {
  const perPartition = Math.ceil(rows / PARTITIONS)
  for (let added = 0; added < rows; added += perPartition) {
    if (added > 0) {
      await beginPartition(db, 'events')
      await beginPartition(db, 'deliveries')
    }
    await addDeliveriesToPartition(db, Math.min(perPartition, rows - added))
  }
}

/** Begins the next partition as the service does. Earlier versions have none. */
async function beginPartition(db: Database, table: string): Promise<void> {
  const [last] = await db<{ name: string; first: number }[]>`
    select inhrelid::regclass::text as name, substring(inhrelid::regclass::text from '[0-9]+')::bigint as first
    from pg_inherits
    where inhparent = ${table}::regclass
    order by inhrelid desc
    limit 1
  `
  if (!last) return
  const end = last.first + 20_000_000
  await db.unsafe(`drop table ${last.name}`)
  await db`select add_partition(${table}, ${last.first}, ${end}), add_partition(${table}, ${end}, null)`
  await db`select setval(pg_get_serial_sequence(${table}, 'id'), ${last.first})`
}

async function addDeliveriesToPartition(db: Database, rows: number): Promise<void> {
  const perEvent = (SUBSCRIBERS + 1) / 2
  await inChunks('events of deliveries', Math.ceil(rows / perEvent), (from, to) =>
    db.unsafe(
      `
        with sellers as materialized (
          select
            array_agg(id order by id) filter (where email like 'single-%') as single,
            min(id) filter (where email like 'shared-%') as shared
          from accounts
          where email like '%@hooks.example'
        ),
        happened as (
          insert into events (account_id, event, data, created_at)
          select
            case
              when number % 2 = 0 then shared
              else single[1 + number / 2 % cardinality(single)]
            end,
            'order.created', $3, now()
          from generate_series($1::int, $2::int) number
          cross join sellers
          returning id, account_id, created_at
        )
        insert into deliveries (event_id, endpoint_id, status, attempts, created_at)
        select happened.id, e.id, 'delivered', $4::jsonb, happened.created_at
        from happened
        join lateral (select id from webhook_endpoints e where e.account_id = happened.account_id) e
          on true
      `,
      [from, to, JSON.stringify(sampleData('order.created')), ATTEMPTS],
    ),
  )
}

const ATTEMPTS = [
  {
    at: '2026-01-01T00:00:00.000Z',
    status_code: 204,
    error: null,
    duration_ms: 12,
    response: '',
  },
]
