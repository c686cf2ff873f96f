import { type ComponentType, useEffect, useState } from 'react'
import { connection } from '../connection.ts'
import { Loading } from '../ui/states.tsx'

/**
 * The code of a part of the page could not be loaded, although the service can be reached: an update has replaced it, or
 * the computer changed its network.
 */
export class CodeNotLoaded extends Error {
  override name = 'CodeNotLoaded'
  constructor(options: ErrorOptions) {
    super(
      'The dashboard was updated, or the connection was interrupted. Load the page again.',
      options,
    )
  }
}

type Code = { default: ComponentType }

/** `preload` loads the code before the component is shown. */
export type LazyComponent = ComponentType & { preload(): Promise<void> }

/**
 * A component whose code is a chunk of its own, loaded when it is first shown. Without a connection it is loading until the
 * service is back.
 *
 * React's `lazy` would hold back code that has arrived until its placeholder was visible for 300 ms. Ours is invisible
 * unless the code takes a moment.
 *
 * @throws CodeNotLoaded while it is rendered
 */
export function lazyComponent(load: () => Promise<Code>): LazyComponent {
  let request: Promise<void> | undefined
  let code: Code | undefined
  let failure: unknown

  function preload(): Promise<void> {
    request ??= load()
      .catch(reloadOnceBack)
      .then(
        (loaded) => {
          code = loaded
        },
        (error) => {
          failure = error
        },
      )
    return request
  }

  function Lazy() {
    // The code may arrive between this rendering and its effect, which must then render it.
    const [isLoaded, setIsLoaded] = useState(code !== undefined)
    useEffect(() => {
      if (!isLoaded) void preload().then(() => setIsLoaded(true))
    }, [isLoaded])
    if (failure) throw failure
    return code ? <code.default /> : <Loading />
  }

  return Object.assign(Lazy, { preload })
}

/** @throws CodeNotLoaded if the service can be reached */
async function reloadOnceBack(cause: unknown): Promise<Code> {
  if (await connection.check()) throw new CodeNotLoaded({ cause })
  await connection.back()
  return { default: Reload }
}

/** Loads the whole page again, because browsers and Vite may remember that a file could not be loaded. */
function Reload() {
  useEffect(() => window.location.reload(), [])
  return <Loading />
}
