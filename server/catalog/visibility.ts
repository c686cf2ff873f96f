import type { Context } from '../context.ts'
import { waitAtFence } from '../database/advisory-lock.ts'
import { inTransaction } from '../database/in-transaction.ts'
import type { Db } from '../database/sql.ts'
import { type FieldMessages, validationError } from '../errors.ts'
import { groupDigits } from '../text/formats.ts'
import { isStorable } from '../text/storable.ts'
import { raiseVersion } from './import/save-records.ts'

/** Whether records are visible, by their ids or slugs. */
export type Visibility = Record<Kind, Map<string, boolean>>
type Kind = (typeof KINDS)[number]

const KINDS = ['sets', 'cards', 'products'] as const
const SINGULAR: Record<Kind, string> = {
  sets: 'set',
  cards: 'card',
  products: 'sealed product',
}

/** Reloading the sets of this many records takes about as long as a large import. */
export const MAX_RECORDS = 1_000
const MAX_MESSAGES = 100
/** The length of the longest key, a slug. */
const MAX_ID_LENGTH = 150

/**
 * Hides records or shows them again, all or none. A hidden set hides its cards and products as well, which keep their
 * own visibility. Like an import it raises the versions by which each process finds the sets to reload.
 *
 * @returns the number of records that changed
 * @throws validation_error for too many records or an unknown one
 */
export async function changeVisibility(
  ctx: Pick<Context, 'db' | 'begin' | 'signal'>,
  visibility: Visibility,
): Promise<number> {
  const total = KINDS.reduce((sum, kind) => sum + visibility[kind].size, 0)
  if (total > MAX_RECORDS) {
    const limit = groupDigits(MAX_RECORDS)
    throw validationError({ body: [`Name at most ${limit} sets, cards and products.`] })
  }
  return inTransaction(ctx, async ({ db, signal }) => {
    await waitAtFence(db, 'import')
    await requireAll(db, visibility)
    const changed = [
      ...(await changeSets(db, rows(visibility.sets))),
      ...(await changeCards(db, rows(visibility.cards))),
      ...(await changeProducts(db, rows(visibility.products))),
    ]
    if (changed.length > 0) {
      const sets = new Set(changed.map(({ set_id }) => set_id).filter((id) => id !== null))
      await raiseVersion(db, [...sets])
      await signal('catalog')
    }
    return changed.length
  })
}

/** @throws validation_error that names the first unknown records */
async function requireAll(db: Db, given: Visibility): Promise<void> {
  const [sets, cards, products] = await Promise.all([
    db<{ id: string }[]>`select id from sets where id = any(${possible(given.sets)}::text[])`,
    db<{ id: string }[]>`select id from cards where id = any(${possible(given.cards)}::text[])`,
    db<{ id: string }[]>`
      select slug as id from products where slug = any(${possible(given.products)}::text[])
    `,
  ])
  const known = { sets, cards, products }
  const unknown = KINDS.flatMap((kind) => {
    const ids = new Set(known[kind].map(({ id }) => id))
    return [...given[kind].keys()].filter((id) => !ids.has(id)).map((id) => ({ kind, id }))
  })
  if (unknown.length === 0) return
  const fields: FieldMessages = {}
  for (const { kind, id } of unknown.slice(0, MAX_MESSAGES)) {
    const shown = id.slice(0, MAX_ID_LENGTH)
    fields[`${kind}.${shown}`] = [`There is no ${SINGULAR[kind]} "${shown}".`]
  }
  throw validationError(fields)
}

/** The ids that a record can have. */
const possible = (records: Map<string, boolean>) =>
  [...records.keys()].filter((id) => id.length <= MAX_ID_LENGTH && isStorable(id))

const rows = (records: Map<string, boolean>) =>
  JSON.stringify([...records].map(([id, visible]) => ({ id, visible })))

/** The set of a changed record; null for a product without one. */
type Changed = { set_id: string | null }

const changeSets = (db: Db, json: string) => db<Changed[]>`
  update sets
  set visible = wanted.visible
  from json_to_recordset(${json}::text::json) as wanted (id text, visible boolean)
  where sets.id = wanted.id and sets.visible <> wanted.visible
  returning sets.id as set_id
`

const changeCards = (db: Db, json: string) => db<Changed[]>`
  update cards
  set visible = wanted.visible
  from json_to_recordset(${json}::text::json) as wanted (id text, visible boolean)
  where cards.id = wanted.id and cards.visible <> wanted.visible
  returning cards.set_id
`

/** A product may have no set, so it gets the version that raiseVersion is about to set. */
const changeProducts = (db: Db, json: string) => db<Changed[]>`
  update products
  set visible = wanted.visible, version = catalog_version.version + 1
  from
    json_to_recordset(${json}::text::json) as wanted (id text, visible boolean)
    cross join catalog_version
  where products.slug = wanted.id and products.visible <> wanted.visible
  returning products.set_id
`
