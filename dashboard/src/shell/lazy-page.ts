import type { ComponentType } from 'react'
import type { IconName } from '../ui/icons.tsx'
import { lazyComponent } from './lazy-component.tsx'

/** A page of the navigation. */
export type Page = {
  path: string
  /** The rest of the addresses below `path` that the page serves too. Any other address there leads to no page. */
  below?: RegExp | undefined
  title: string
  icon: IconName
  Page: ComponentType
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
