import type { ComponentType } from 'react'
import type { IconName } from '../ui/icons.tsx'
import { lazyComponent } from './lazy-component.tsx'

/** A page of the navigation. It serves its path and everything below. */
export type Page = {
  path: string
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
): Page {
  return { path, title, icon, Page: lazyComponent(load) }
}
