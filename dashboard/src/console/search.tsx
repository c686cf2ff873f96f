import { useState } from 'react'
import { type Entry, matching, Palette } from '../ui/palette.tsx'
import { useCaller } from './api.ts'
import { PAGES } from './pages.ts'

/** The search of the console: its pages, and its lists by what was typed. */
export default function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const { data: caller } = useCaller()
  const pages = PAGES.filter(({ operation }) => caller?.operations.includes(operation))
  const wanted = text.trim()
  const finders: Entry[] = pages.flatMap(({ title, icon, path }) => {
    const name = FINDERS[path]
    if (wanted === '' || name === undefined) return []
    return {
      label: `${title}: ${wanted}`,
      icon,
      href: `${path}?${new URLSearchParams({ [name]: wanted })}`,
    }
  })
  const entries = pages.map(({ title, icon, path }) => ({ label: title, icon, href: path }))
  return (
    <Palette
      label="Page, shop, e-mail, order or slice key"
      text={text}
      onChange={setText}
      groups={[
        { title: 'Go to', entries: matching(entries, wanted) },
        { title: 'Find', entries: finders },
      ]}
      isSearching={false}
      onClose={onClose}
    />
  )
}

/** The lists that are searched by a text, with the name of the filter in the address. */
const FINDERS: Record<string, string> = { '/orders': 'q', '/sellers': 'q', '/audit': 'record' }
