import { useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { currentRun, databaseOf, importKey, rowsLeft, useRun } from '../listings/import-state.ts'
import { formatNumber } from '../ui/format.ts'
import { Banner } from './banner.tsx'

/**
 * Continues an import that a reload has interrupted, whichever page is open, and says where it can't go on. A member who
 * has paused it knows that. A tab that gets the focus follows an import that another one has continued.
 */
export function ImportBanner({ account }: { account: Parameters<typeof importKey>[0] }) {
  const run = useRun()
  const [path] = useLocation()
  const shop = importKey(account)
  useEffect(() => {
    // Without IndexedDB there is no import. After an update, the page asks to be loaded again.
    resumeImport(shop).catch(() => {})
    const onFocus = () => void followImport(shop).catch(() => {})
    window.addEventListener('focus', onFocus)
    return () => window.removeEventListener('focus', onFocus)
  }, [shop])
  if (run?.state !== 'stopped' || run.progress.isPaused || path === '/listings/import') return null
  return (
    <Banner tone="warn">
      <strong>The import of {run.file.name} has stopped.</strong> Rows left:{' '}
      {formatNumber(rowsLeft(run))} of {formatNumber(run.file.items.length)}.{' '}
      <Link href="/listings/import">Open the import</Link>
    </Banner>
  )
}

/** Loads the code of the import only in a browser that has begun one. */
async function resumeImport(shop: string): Promise<void> {
  const databases = await indexedDB.databases()
  if (!databases.some(({ name }) => name === databaseOf(shop))) return
  const { resume } = await import('../listings/import-run.ts')
  await resume(shop)
}

/** Another tab may have continued an import that has stopped in this one. */
async function followImport(shop: string): Promise<void> {
  if (currentRun()?.state !== 'stopped') return
  const { follow } = await import('../listings/import-run.ts')
  await follow(shop)
}
