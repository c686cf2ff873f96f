import { setImmediate } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { deleteInBatches } from '../database/batches.ts'
import { waitForShared } from '../database/shared-work.ts'
import type { Signals } from '../database/signals.ts'
import { coalesced } from '../queue/coalesced.ts'
import type { Listable } from './listing.ts'
import { type OfferChanges, readChanges } from './offer-changes.ts'
import { createOfferStore, type ItemOffers, keyOf, type OfferStore } from './offer-store.ts'

/**
 * The offers of cards and products in memory (docs/offers.md). This file is the only writer of their store: it applies the
 * changes that `readChanges` finds.
 */
export type OfferModel = Pick<OfferStore, 'variants' | 'shops' | 'bytes'> & {
  /** The offers of an item, if they are in memory and current. Has no effects. */
  peek(item: Listable): ItemOffers | undefined
  /** Must be called when offers of `peek` are used: it keeps the model current. */
  used(offers: ItemOffers): void
  /** The offers of an item as of now; undefined if the caller must read them from the database. */
  read(item: Listable): Promise<ItemOffers | undefined>
  /** Deletes rows of the feed that no process needs: those that were visible at a call more than two minutes ago. */
  prune(): Promise<void>
  close(): void
}

/** Maximum estimated memory of all items and shops. */
const MAX_BYTES = 96 * 1024 * 1024
/** Maximum staleness on processes that did not write. */
const MAX_AGE_MS = 50
/** Age at which a used model is refreshed in the background. */
const REFRESH_AGE_MS = 25
/** Without a refresh for this long by the database's clock, the model is emptied. */
const FORGET_AGE_MS = 60_000
/** Rows of the feed that were visible this long ago are deleted: every process has read them, or empties its model. */
const PRUNE_AGE_MS = 2 * FORGET_AGE_MS
/** An unused model is kept current, so that it is warm for the next reader, and emptied after a while. */
const IDLE_REFRESH_MS = 20_000
const IDLE_FORGET_MS = 10 * 60_000
/** Items that one refresh loads. */
const MAX_LOADED = 32

/** @param signals `offers` signals a commit of this process */
export function openOfferModel(
  { db, now }: Pick<Context, 'db' | 'now'>,
  signals: Pick<Signals, 'on'>,
  { maxBytes = MAX_BYTES }: { maxBytes?: number } = {},
): OfferModel {
  const store = createOfferStore(maxBytes)
  // Requests look items up in these directly, without a call of the store.
  const { items, large } = store
  const wanted = new Map<string, Listable>()
  /** The last snapshot, and when its refresh started. */
  let position: (OfferChanges['position'] & { startedAt: number }) | undefined
  /** Commits of this process, and how many of them the last refresh included. */
  let commits = 0
  let included = 0
  let isRefreshing = false
  let usedAt = 0
  /** Transactions of this server below `xmin` had ended at this time. */
  let visible: { xmin: string; server: string; at: number }[] = []

  const forget = () => {
    store.clear()
    position = undefined
  }

  const age = () => (position ? performance.now() - position.startedAt : Number.POSITIVE_INFINITY)

  const isCurrent = () => included === commits && age() <= MAX_AGE_MS

  /** Refreshes with a statement that begins after this call. */
  const refresh = coalesced(async () => {
    isRefreshing = true
    // Reads that arrive in the same turn of the event loop share the statement.
    await setImmediate()
    const startedAt = performance.now()
    const startCommits = commits
    const from = position
    const loaded = [...wanted].slice(0, MAX_LOADED)
    for (const [key] of loaded) wanted.delete(key)
    try {
      const changes = await readChanges(
        { db, now },
        from?.snapshot,
        loaded.map(([, item]) => item),
      )
      // Another server may lack the last commits of its predecessor.
      const isOther = from !== undefined && from.server !== changes.position.server
      // This process or its machine was paused: rows of the feed may be gone. No clock of a paused machine shows it.
      const isLate = from !== undefined && changes.position.readAt - from.readAt > FORGET_AGE_MS
      const isIncomplete = changes.forgetsAll || isOther || isLate || from !== position
      if (isIncomplete) forget()
      store.apply(changes, isIncomplete ? [] : loaded.map(([key]) => key))
      position = { ...changes.position, startedAt }
      included = startCommits
    } catch (error) {
      forget()
      throw error
    } finally {
      isRefreshing = false
    }
  })

  const committed = () => {
    commits++
  }
  // A changed shop signals `keys`, a holiday `offers`.
  const unsubscribe = [signals.on('offers', committed), signals.on('keys', committed)]
  const timer = setInterval(() => {
    if (!position) return
    if (performance.now() - usedAt > IDLE_FORGET_MS) forget()
    else refresh().catch(() => {})
  }, IDLE_REFRESH_MS).unref()

  return {
    peek: (item) => (isCurrent() ? items.get(keyOf(item)) : undefined),

    used(offers) {
      offers.isUsed = true
      usedAt = performance.now()
      if (age() > REFRESH_AGE_MS && !isRefreshing) refresh().catch(() => {})
    },

    async read(item) {
      const key = keyOf(item)
      usedAt = performance.now()
      for (let attempt = 0; attempt < 3; attempt++) {
        if (large.has(key)) return undefined
        const current = isCurrent() ? items.get(key) : undefined
        if (current) return current
        if (!items.has(key)) wanted.set(key, item)
        try {
          await waitForShared(refresh())
        } catch {
          return undefined
        }
        // Another commit may have followed already, but the refresh began after this call.
        const refreshed = items.get(key)
        if (refreshed) return refreshed
      }
      return undefined
    },

    variants: store.variants,
    shops: store.shops,
    get bytes() {
      return store.bytes
    },

    async prune() {
      // No transaction has these ids: the rows are of the server that a dump was made on, and would never be old.
      await db`delete from offer_changes where xid >= pg_snapshot_xmax(pg_current_snapshot())`
      const [read] = await db<{ xmin: string; server: string }[]>`
        select
          pg_snapshot_xmin(pg_current_snapshot())::text as xmin,
          pg_postmaster_start_time()::text as server
      `
      const now = performance.now()
      // The transactions of a server made from a dump have lower ids than those of its predecessor.
      visible = visible.filter(({ server }) => server === read!.server)
      const old = visible.findLast(({ at }) => now - at > PRUNE_AGE_MS)
      visible = [...visible.slice(old ? visible.indexOf(old) : 0), { ...read!, at: now }]
      if (!old) return
      const where = db`xid < ${old.xmin}::xid8`
      await deleteInBatches(db, 'offer_changes', { where, orderBy: 'xid' })
    },

    close() {
      for (const end of unsubscribe) end()
      clearInterval(timer)
    },
  }
}
