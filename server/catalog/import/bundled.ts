import { fileURLToPath } from 'node:url'
import { withAdvisoryLock } from '../../database/advisory-lock.ts'
import { inUnboundedTransaction } from '../../database/in-transaction.ts'
import { analyzeAfter, type ImportContext, importLines } from './import.ts'
import type { ImportCounts, ImportReport } from './report.ts'
import { openSource } from './sources.ts'

const FOLDER = new URL('../../../catalog/', import.meta.url)

/** The paths of the bundled English sets, cards and products, in the order of their import. */
export const BUNDLED_FILES = ['english.ndjson.gz', 'products.ndjson.gz'].map((file) =>
  fileURLToPath(new URL(file, FOLDER)),
)

/**
 * Imports the bundled English sets, cards and products into an empty catalog, in one transaction: a killed start leaves
 * nothing, and the next one begins again. If several processes start at the same time, one imports and the others wait.
 *
 * @returns the report, or undefined if the catalog was not empty
 */
export async function importBundledCatalog(
  ctx: ImportContext,
  onProgress?: (soFar: ImportCounts) => void,
): Promise<ImportReport<number | string> | undefined> {
  if (await hasCatalog(ctx)) return undefined
  return withAdvisoryLock(ctx.databaseUrl, 'import', async (lock) => {
    if (await hasCatalog(ctx)) return undefined
    const total = await inUnboundedTransaction(ctx, async (tx) => {
      let sum: ImportReport<number | string> = {
        created: 0,
        updated: 0,
        unchanged: 0,
        rejected: 0,
        errors: [],
        warnings: [],
        superseded: 0,
      }
      for (const path of BUNDLED_FILES) {
        const { lines } = await openSource(path)
        const before = sum
        const report = await importLines(tx, lock, lines, {
          onProgress: (counts) => onProgress?.(plus(before, counts)),
        })
        sum = {
          ...plus(before, report),
          errors: [...before.errors, ...report.errors],
          warnings: [...before.warnings, ...report.warnings],
          superseded: before.superseded + report.superseded,
        }
      }
      return sum
    })
    await analyzeAfter(ctx, total)
    return total
  })
}

async function hasCatalog({ db }: Pick<ImportContext, 'db'>): Promise<boolean> {
  const [row] = await db<{ found: boolean }[]>`
    select exists (select from sets) or exists (select from products) as found
  `
  return row?.found ?? false
}

const plus = (a: ImportCounts, b: ImportCounts): ImportCounts => ({
  created: a.created + b.created,
  updated: a.updated + b.updated,
  unchanged: a.unchanged + b.unchanged,
  rejected: a.rejected + b.rejected,
})
