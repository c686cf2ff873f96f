import type { Signals } from '../database/signals.ts'
import type { Db } from '../database/sql.ts'
import type { Begin } from '../database/transactions.ts'
import type { Log } from '../log.ts'
import { coalesced } from '../queue/coalesced.ts'
import { timeSlices, type YieldToEventLoop } from '../time/time-slices.ts'
import {
  assembleCatalog,
  type Catalog,
  type CatalogParts,
  listedCard,
  listedProduct,
} from './catalog.ts'
import {
  type CardRow,
  type ProductRow,
  productEntry,
  type SetEntry,
  type SetRow,
  setEntry,
  sharedTexts,
} from './entries.ts'

export type CatalogReader = {
  /** The snapshot that this process serves now. */
  readonly current: Catalog
  /** Resolves when the snapshot includes everything that was committed before the call. */
  refresh(): Promise<void>
  /**
   * Resolves when the snapshot has the items of these listings, which the caller has read in the database. Another process
   * may have imported them a moment ago: then it is refreshed first.
   */
  include(listings: ListedItem[]): Promise<void>
  /** Follows no further import. A refresh that is running ends or fails by itself. */
  close(): void
}

/** The item of a listing. */
type ListedItem = { cardId: string; productSlug: null } | { cardId: null; productSlug: string }

/** Minimum time between background refreshes: a long import changes the catalog many times. */
const REFRESH_INTERVAL_MS = 2_000
const RETRY_MS = 1_000
/** More rows at the same time would lengthen the pauses of the garbage collector. */
const SETS_PER_QUERY = 15
/** PostgreSQL works on a second query while the result of the first waits to be read. */
const QUERIES_AHEAD = 2

/**
 * Keeps the catalog in memory. Its snapshot is empty until the first `refresh`. At each signal of an import it reads the
 * changed sets and replaces the snapshot.
 */
export async function openCatalog(options: {
  begin: Begin
  signals: Pick<Signals, 'on'>
  marketplaceUrl: string
  log: Log
}): Promise<CatalogReader> {
  const { begin, signals, marketplaceUrl, log } = options
  let current = await assembleCatalog(NOTHING, timeSlices())
  let timer: NodeJS.Timeout | undefined
  let lastNoticed = 0
  /** Items that a refresh to this version has not found: none of that version has them. */
  let missing = { version: -1, items: new Set<string>() }
  let isClosed = false

  const refresh = coalesced(async () => {
    current = await nextCatalog(begin, current, marketplaceUrl)
  })

  const include = async (listings: ListedItem[]) => {
    const lacking = listings.filter((item) => !hasItem(current, item)).map(nameOf)
    if (lacking.length === 0) return
    if (missing.version === current.version && lacking.every((item) => missing.items.has(item))) {
      return
    }
    await refresh()
    if (missing.version !== current.version) {
      missing = { version: current.version, items: new Set() }
    }
    for (const item of listings) if (!hasItem(current, item)) missing.items.add(nameOf(item))
  }

  const refreshSoon = (wait: number) => {
    timer ??= setTimeout(() => {
      timer = undefined
      lastNoticed = performance.now()
      refresh().catch((error) => {
        if (isClosed) return
        log.warn({ err: error }, 'cannot reload the catalog; retrying')
        refreshSoon(RETRY_MS)
      })
    }, wait)
    timer.unref()
  }

  const unsubscribe = signals.on('catalog', () =>
    refreshSoon(Math.max(0, lastNoticed + REFRESH_INTERVAL_MS - performance.now())),
  )

  return {
    get current() {
      return current
    },
    refresh,
    include,
    close() {
      isClosed = true
      unsubscribe()
      clearTimeout(timer)
    },
  }
}

const hasItem = (catalog: Catalog, { cardId, productSlug }: ListedItem): boolean =>
  (cardId === null ? listedProduct(catalog, productSlug) : listedCard(catalog, cardId)) !==
  undefined

const nameOf = ({ cardId, productSlug }: ListedItem) => `${cardId} ${productSlug}`

/** Older than every version. */
const NOTHING = { version: -1, series: [], sets: [], looseProducts: [] }

/** The snapshot after `former`. Reads only the sets with a newer version. */
async function nextCatalog(
  begin: Begin,
  former: Catalog,
  marketplaceUrl: string,
): Promise<Catalog> {
  const yieldToEventLoop = timeSlices()
  const changed = await begin(
    (db) => changesSince(db, former.version, yieldToEventLoop, marketplaceUrl),
    'snapshot',
  )
  if (changed.version === former.version) return former
  // A standby that has been promoted can lack the last commits, which the former snapshot has.
  if (changed.version < former.version) {
    return nextCatalog(begin, await assembleCatalog(NOTHING, yieldToEventLoop), marketplaceUrl)
  }

  const sets = new Map(former.setsById)
  for (const set of former.hidden.sets) sets.set(set.id, set)
  for (const set of changed.sets) sets.set(set.id, set)
  const owned = changed.sets.flatMap((set) => [...set.products, ...set.hiddenProducts])
  const loose = new Map(former.looseProducts.map((product) => [product.slug, product]))
  for (const { slug } of owned) loose.delete(slug)
  for (const product of changed.looseProducts) loose.set(product.slug, product)

  return assembleCatalog(
    {
      version: changed.version,
      series: changed.series,
      sets: [...sets.values()],
      looseProducts: [...loose.values()],
    },
    yieldToEventLoop,
  )
}

async function changesSince(
  db: Db,
  since: number,
  yieldToEventLoop: YieldToEventLoop,
  marketplaceUrl: string,
): Promise<CatalogParts> {
  const [versions, series, setRows, looseRows] = await Promise.all([
    db<{ version: number }[]>`select version from catalog_version`,
    db<{ name: string; shortcut: string | null }[]>`select name, shortcut from series`,
    db<SetRow[]>`
      select
        id, shortcut, name, series, language, region, release_date,
        total_cards, printed_total, logo_url, symbol_url, visible
      from sets
      where version > ${since}
    `,
    db<ProductRow[]>`
      select slug, name, category, set_id, image_url, release_date, visible
      from products
      where set_id is null and version > ${since}
    `,
  ])
  const sets: SetEntry[] = []
  const texts = sharedTexts()
  for await (const contents of contentsOf(db, setRows)) {
    for (const { row, cards, products } of contents) {
      sets.push(setEntry(row, cardRows(cards), products ?? [], marketplaceUrl, texts))
      await yieldToEventLoop()
    }
  }
  return {
    version: versions[0]?.version ?? 0,
    series,
    sets,
    looseProducts: looseRows.map((row) => productEntry(row, null, marketplaceUrl)),
  }
}

/** Reads the cards and products of some sets at a time. PostgreSQL prepares the next ones while the caller uses these. */
async function* contentsOf(db: Db, sets: SetRow[]) {
  const reading: ReturnType<typeof readContents>[] = []
  for (let from = 0; from < sets.length; from += SETS_PER_QUERY) {
    const contents = readContents(db, sets.slice(from, from + SETS_PER_QUERY))
    // If an earlier query fails, nothing awaits this one.
    contents.catch(() => {})
    reading.push(contents)
    if (reading.length > QUERIES_AHEAD) yield await reading.shift()!
  }
  for (const contents of reading) yield await contents
}

async function readContents(db: Db, sets: SetRow[]) {
  const rows = new Map(sets.map((set) => [set.id, set]))
  // One value for each set: PostgreSQL makes the objects meanwhile, and they are read in half of the time. The fields are
  // those of the Card object. In one order, because the digest of a set is the same in every process.
  const contents = await db<{ id: string; cards: string | null; products: ProductRow[] | null }[]>`
    select
      id,
      (
        select json_agg(card order by card.id)::text
        from (
          select
            id, sets.shortcut || '_' || number as friendly_id, name, number, rarity, supertype, hp,
            types, image_small, image_large, visible
          from cards
          where set_id = sets.id
        ) card
      ) as cards,
      (
        select json_agg(product)
        from (
          select slug, name, category, set_id, image_url, release_date, visible
          from products
          where set_id = sets.id
        ) product
      ) as products
    from sets
    where id = any(${[...rows.keys()]}::text[])
  `
  return contents.map(({ id, ...content }) => ({ row: rows.get(id)!, ...content }))
}

/** Between two objects of `json_agg`. Within them, a line break is escaped. */
const BETWEEN_OBJECTS = ', \n '

/** Reads the cards of a set with the text of each. */
function cardRows(json: string | null): CardRow[] {
  if (json === null) return []
  const texts = json.slice(1, -1).split(BETWEEN_OBJECTS)
  const rows: CardRow[] = JSON.parse(json)
  for (const [i, row] of rows.entries()) row.json = texts[i]!
  return rows
}
