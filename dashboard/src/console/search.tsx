import { useState } from 'react'
import type { SearchProps } from '../shell/search-button.tsx'
import { type Entry, matching, Palette } from '../ui/palette.tsx'
import { useCaller } from './api.ts'
import { PAGES } from './pages.ts'

/** The search of the console: its pages, and its lists by what was typed. */
export default function Search({ typed, onClose }: SearchProps) {
  const [text, setText] = useState(typed)
  const { data: caller } = useCaller()
  const pages = PAGES.filter(({ operation }) => caller?.operations.includes(operation))
  const wanted = text.trim()
  const finders: Entry[] = pages.flatMap(({ title, icon, path }) => {
    const finder = FINDERS[path]
    const value = finder?.valueFor(wanted)
    if (!finder || !value) return []
    return {
      label: `${title}: ${value}`,
      icon,
      href: `${path}?${new URLSearchParams({ [finder.filter]: value })}`,
    }
  })
  const entries = pages.map(({ title, icon, path }) => ({ label: title, icon, href: path }))
  return (
    <Palette
      label="Page, shop, e-mail, order, slice key or reference"
      text={text}
      onChange={setText}
      groups={[
        { title: 'Go to', entries: matching(entries, wanted) },
        { title: 'Find', entries: finders },
      ]}
      onClose={onClose}
    />
  )
}

type Finder = {
  /** Its name in the address. */
  filter: string
  /** The value of the filter for a text, or nothing if the text can't be found in this list. */
  valueFor: (text: string) => string | undefined
}

const byText: Finder = { filter: 'q', valueFor: (text) => text }

/** The lists that are searched by a text. The audit log names its records as `order:501`. */
const FINDERS: Record<string, Finder> = {
  '/orders': byText,
  '/sellers': byText,
  '/payouts': {
    filter: 'reference',
    valueFor: (text) => (/^CS[\dA-F]{18}$/i.test(text) ? text.toUpperCase() : undefined),
  },
  '/audit': {
    filter: 'record',
    valueFor: (text) =>
      /^\d+$/.test(text) ? `order:${text}` : text.includes(':') ? text : undefined,
  },
}
