import { type ComponentType, useEffect } from 'react'
import { useLocation } from 'wouter'
import type { IconName } from '../ui/icons.tsx'
import { type LazyComponent, lazyComponent } from './lazy-component.tsx'

/** A page of the navigation. */
export type Page = {
  path: string
  /** The rest of the addresses below `path` that the page serves too. Any other address there leads to no page. */
  below?: RegExp | undefined
  title: string
  icon: IconName
  Page: LazyComponent
}

/** A page whose code is a chunk of its own, loaded at its first visit. */
export function page(
  path: string,
  title: string,
  icon: IconName,
  load: () => Promise<{ default: ComponentType }>,
  below?: RegExp,
): Page {
  return { path, below, title, icon, Page: lazyComponent(load) }
}

/** Whether an address is that of a page, or below it. */
export const isAt = (address: string, { path }: Page): boolean =>
  path === '/' ? address === '/' : address === path || address.startsWith(`${path}/`)

/** Loads the code of the current page while the service is asked who has signed in. */
export function usePreloaded(pages: readonly Page[]): void {
  const [address] = useLocation()
  useEffect(() => {
    void pages.find((page) => isAt(address, page))?.Page.preload()
  }, [address, pages])
}
