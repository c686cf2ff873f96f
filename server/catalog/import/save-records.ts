import { signalOnly } from '../../database/signals.ts'
import type { Db } from '../../database/sql.ts'
import type {
  CardRecord,
  CatalogRecord,
  ProductRecord,
  SeriesRecord,
  SetRecord,
} from '../record.ts'
import { SERIES_SHORTCUTS } from './series.ts'

/** The outcome. All other records were unchanged. */
export type Saved = { created: number; updated: number; refusals: Map<CatalogRecord, string> }

/**
 * Writes records with distinct keys in a constant number of statements. The caller provides the transaction and holds
 * the import lock.
 *
 * Only changed rows are written. They raise the catalog's version, and every set that changed, or whose cards or
 * products changed, gets the new version: by it, each process finds the sets to reload.
 */
export async function saveRecords(db: Db, records: CatalogRecord[]): Promise<Saved> {
  const accepted = validate(records, await readExisting(db, records))
  const saved: Saved = { created: 0, updated: 0, refusals: accepted.refusals }
  const changedSets = new Set<string>()

  saved.created += accepted.createdSeries
  saved.updated += accepted.updatedSeries
  if (accepted.series.size > 0) await saveSeries(db, accepted.series)
  const written = [
    ...(await saveSets(db, accepted.sets)),
    ...(await saveCards(db, accepted.cards)),
    ...(await saveProducts(db, accepted.products)),
  ]
  for (const { set_id, former_set_id, created, updated } of written) {
    saved.created += created
    saved.updated += updated
    if (set_id !== null) changedSets.add(set_id)
    if (former_set_id !== null) changedSets.add(former_set_id)
  }

  if (saved.created + saved.updated > 0) {
    await raiseVersion(db, [...changedSets])
    await signalOnly(db)('catalog')
  }
  return saved
}

/** The existing sets and series that the records refer to. */
type Existing = { sets: Set<string>; series: Map<string, string | null> }

async function readExisting(db: Db, records: CatalogRecord[]): Promise<Existing> {
  const setIds = new Set<string>()
  const seriesNames = new Set<string>()
  const seriesShortcuts = new Set<string>()
  for (const record of records) {
    if (record.type === 'series') {
      seriesNames.add(record.name)
      if (record.shortcut !== null) seriesShortcuts.add(record.shortcut)
    } else if (record.type === 'set') {
      seriesNames.add(record.series)
      const shortcut = SERIES_SHORTCUTS.get(record.series)
      if (shortcut !== undefined) seriesShortcuts.add(shortcut)
    } else if (record.set_id !== null) {
      setIds.add(record.set_id)
    }
  }
  const [sets, series] = await Promise.all([
    db<{ id: string }[]>`select id from sets where id = any(${[...setIds]}::text[])`,
    db<{ name: string; shortcut: string | null }[]>`
      select name, shortcut
      from series
      where name = any(${[...seriesNames]}::text[]) or shortcut = any(${[...seriesShortcuts]}::text[])
    `,
  ])
  return {
    sets: new Set(sets.map(({ id }) => id)),
    series: new Map(series.map(({ name, shortcut }) => [name, shortcut])),
  }
}

type Accepted = {
  /** Series that are new or get another shortcut, in the order of the changes. */
  series: Map<string, string | null>
  createdSeries: number
  updatedSeries: number
  sets: SetRecord[]
  cards: CardRecord[]
  products: ProductRecord[]
  refusals: Map<CatalogRecord, string>
}

/**
 * Validates the references of the records in their order. Each record sees the ones before it, so a card before its set
 * is rejected wherever a batch ends.
 */
function validate(records: CatalogRecord[], existing: Existing): Accepted {
  const sets = new Set(existing.sets)
  const series = new Map(existing.series)
  const nameOf = new Map<string, string>()
  for (const [name, shortcut] of series) if (shortcut !== null) nameOf.set(shortcut, name)

  const accepted: Accepted = {
    series: new Map(),
    createdSeries: 0,
    updatedSeries: 0,
    sets: [],
    cards: [],
    products: [],
    refusals: new Map(),
  }

  const putSeries = (name: string, shortcut: string | null) => {
    const former = series.get(name) ?? null
    if (former !== null) nameOf.delete(former)
    if (shortcut !== null) nameOf.set(shortcut, name)
    series.set(name, shortcut)
    // Deleted first, because the last change decides the order.
    accepted.series.delete(name)
    accepted.series.set(name, shortcut)
  }

  const takeSeries = ({ name, shortcut }: SeriesRecord): string | undefined => {
    const owner = shortcut === null ? undefined : nameOf.get(shortcut)
    if (owner !== undefined && owner !== name) {
      return `shortcut ${shortcut} already belongs to the series ${owner}`
    }
    if (!series.has(name)) accepted.createdSeries++
    else if (series.get(name) !== shortcut) accepted.updatedSeries++
    else return undefined
    putSeries(name, shortcut)
    return undefined
  }

  const takeSet = (set: SetRecord) => {
    if (!series.has(set.series)) {
      const shortcut = SERIES_SHORTCUTS.get(set.series) ?? null
      putSeries(set.series, shortcut !== null && nameOf.has(shortcut) ? null : shortcut)
    }
    sets.add(set.id)
    accepted.sets.push(set)
  }

  const inNoKnownSet = (id: string | null) =>
    id === null || sets.has(id) ? undefined : `set ${id} is not in the catalog`

  for (const record of records) {
    let reason: string | undefined
    if (record.type === 'series') reason = takeSeries(record)
    else if (record.type === 'set') takeSet(record)
    else {
      reason = inNoKnownSet(record.set_id)
      if (reason === undefined && record.type === 'card') accepted.cards.push(record)
      if (reason === undefined && record.type === 'product') accepted.products.push(record)
    }
    if (reason !== undefined) accepted.refusals.set(record, reason)
  }
  return accepted
}

/** Saves the series in the given order, in which each shortcut is free when it is assigned. */
async function saveSeries(db: Db, series: Map<string, string | null>): Promise<void> {
  const rows = [...series].map(([name, shortcut]) => ({ name, shortcut }))
  await db`
    insert into series (name, shortcut)
    select name, shortcut
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as incoming (name text, shortcut text)
    on conflict (name) do update set shortcut = excluded.shortcut
  `
}

/** Counts of written rows by their set and their former set. */
type Written = {
  set_id: string | null
  former_set_id: string | null
  created: number
  updated: number
}

/*
 * The three statements below have the same structure. `changed` compares the incoming rows with the existing ones, so
 * that unchanged rows are not even locked; the insert writes only the changed ones. New rows always differ, because
 * their existing side is all null. `version` is the one that raiseVersion is about to set.
 */

async function saveSets(db: Db, sets: SetRecord[]): Promise<Written[]> {
  if (sets.length === 0) return []
  return db<Written[]>`
    with changed as (
      select
        incoming.*,
        coalesce(incoming.visible, sets.visible, true) as is_visible,
        sets.id is null as is_new
      from
        json_to_recordset(${JSON.stringify(sets)}::text::json) as incoming (
          id text, shortcut text, name text, series text, language text, region text,
          release_date date, total_cards integer, printed_total integer, logo_url text, symbol_url text,
          visible boolean
        )
        left join sets using (id)
      where
        (
          sets.shortcut, sets.name, sets.series, sets.language, sets.region,
          sets.release_date, sets.total_cards, sets.printed_total, sets.logo_url, sets.symbol_url,
          sets.visible
        ) is distinct from (
          incoming.shortcut, incoming.name, incoming.series, incoming.language, incoming.region,
          incoming.release_date, incoming.total_cards, incoming.printed_total, incoming.logo_url,
          incoming.symbol_url, coalesce(incoming.visible, sets.visible, true)
        )
    ), written as (
      insert into sets (
        id, shortcut, name, series, language, region,
        release_date, total_cards, printed_total, logo_url, symbol_url, visible, version
      )
      select
        id, shortcut, name, series, language, region,
        release_date, total_cards, printed_total, logo_url, symbol_url, is_visible,
        catalog_version.version + 1
      from changed cross join catalog_version
      on conflict (id) do update set
        shortcut = excluded.shortcut,
        name = excluded.name,
        series = excluded.series,
        language = excluded.language,
        region = excluded.region,
        release_date = excluded.release_date,
        total_cards = excluded.total_cards,
        printed_total = excluded.printed_total,
        logo_url = excluded.logo_url,
        symbol_url = excluded.symbol_url,
        visible = excluded.visible,
        version = excluded.version
    )
    select
      id as set_id,
      null as former_set_id,
      is_new::integer as created,
      (not is_new)::integer as updated
    from changed
  `
}

async function saveCards(db: Db, cards: CardRecord[]): Promise<Written[]> {
  if (cards.length === 0) return []
  return db<Written[]>`
    with changed as (
      select
        incoming.*,
        coalesce(incoming.visible, cards.visible, true) as is_visible,
        cards.set_id as former_set_id,
        cards.id is null as is_new
      from
        json_to_recordset(${JSON.stringify(cards)}::text::json) as incoming (
          id text, set_id text, name text, number text, rarity text, supertype text, hp text,
          types text[], image_small text, image_large text, visible boolean
        )
        left join cards using (id)
      where
        (
          cards.set_id, cards.name, cards.number, cards.rarity, cards.supertype, cards.hp,
          cards.types, cards.image_small, cards.image_large, cards.visible
        ) is distinct from (
          incoming.set_id, incoming.name, incoming.number, incoming.rarity, incoming.supertype,
          incoming.hp, incoming.types, incoming.image_small, incoming.image_large,
          coalesce(incoming.visible, cards.visible, true)
        )
    ), written as (
      insert into cards (
        id, set_id, name, number, rarity, supertype, hp, types, image_small, image_large, visible
      )
      select
        id, set_id, name, number, rarity, supertype, hp, types, image_small, image_large, is_visible
      from changed
      on conflict (id) do update set
        set_id = excluded.set_id,
        name = excluded.name,
        number = excluded.number,
        rarity = excluded.rarity,
        supertype = excluded.supertype,
        hp = excluded.hp,
        types = excluded.types,
        image_small = excluded.image_small,
        image_large = excluded.image_large,
        visible = excluded.visible
    )
    select
      set_id,
      former_set_id,
      (count(*) filter (where is_new))::integer as created,
      (count(*) filter (where not is_new))::integer as updated
    from changed
    group by set_id, former_set_id
  `
}

async function saveProducts(db: Db, products: ProductRecord[]): Promise<Written[]> {
  if (products.length === 0) return []
  return db<Written[]>`
    with changed as (
      select
        incoming.*,
        coalesce(incoming.visible, products.visible, true) as is_visible,
        products.set_id as former_set_id,
        products.slug is null as is_new
      from
        json_to_recordset(${JSON.stringify(products)}::text::json) as incoming (
          slug text, name text, category text, set_id text, image_url text, release_date date,
          visible boolean
        )
        left join products using (slug)
      where
        (
          products.name, products.category, products.set_id, products.image_url, products.release_date,
          products.visible
        ) is distinct from (
          incoming.name, incoming.category, incoming.set_id, incoming.image_url, incoming.release_date,
          coalesce(incoming.visible, products.visible, true)
        )
    ), written as (
      insert into products (
        slug, name, category, set_id, image_url, release_date, visible, version
      )
      select
        slug, name, category, set_id, image_url, release_date, is_visible,
        catalog_version.version + 1
      from changed cross join catalog_version
      on conflict (slug) do update set
        name = excluded.name,
        category = excluded.category,
        set_id = excluded.set_id,
        image_url = excluded.image_url,
        release_date = excluded.release_date,
        visible = excluded.visible,
        version = excluded.version
    )
    select
      set_id,
      former_set_id,
      (count(*) filter (where is_new))::integer as created,
      (count(*) filter (where not is_new))::integer as updated
    from changed
    group by set_id, former_set_id
  `
}

/** Gives the catalog its next version, and the changed sets the same. The caller holds the fence of the import lock. */
export async function raiseVersion(db: Db, changedSets: string[]): Promise<void> {
  await db`
    with raised as (
      update catalog_version set version = version + 1 returning version
    )
    update sets
    set version = raised.version
    from raised
    where sets.id = any(${changedSets}::text[]) and sets.version <> raised.version
  `
}
