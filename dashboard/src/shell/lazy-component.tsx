import { type ComponentType, lazy, useEffect } from 'react'
import { connection } from '../connection.ts'
import { Loading } from '../ui/states.tsx'

/** The code of a part of the page is gone, although the service can be reached: an update has replaced it. */
export class OutdatedPage extends Error {
  override name = 'OutdatedPage'
}

/**
 * A component whose code is a chunk of its own, loaded when it is first shown. Without a connection it is loading until the
 * service is back.
 *
 * @throws OutdatedPage while it is rendered
 */
export const lazyComponent = (load: () => Promise<{ default: ComponentType }>) =>
  lazy(() =>
    load().catch(async (cause) => {
      if (await connection.check()) throw new OutdatedPage('The page is outdated.', { cause })
      await connection.back()
      return { default: Reload }
    }),
  )

/** Loads the whole page again, because browsers and Vite may remember that a file could not be loaded. */
function Reload() {
  useEffect(() => window.location.reload(), [])
  return <Loading />
}
