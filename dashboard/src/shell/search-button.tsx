import { type ComponentType, lazy, Suspense, useEffect, useState } from 'react'
import { Icon } from '../ui/icons.tsx'

/** The dialog of the search: a chunk of its own, which is loaded shortly before it is first opened. */
export type SearchDialog = { load: () => Promise<unknown>; Dialog: ComponentType<Closable> }

type Closable = { onClose: () => void }

export function searchDialog(load: () => Promise<{ default: ComponentType<Closable> }>) {
  return { load, Dialog: lazy(load) } satisfies SearchDialog
}

const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** Opens the search, also with ⌘K or Ctrl K. */
export function SearchButton({ search: { load, Dialog } }: { search: SearchDialog }) {
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      // The first key of the shortcut.
      if (event.key === 'Meta' || event.key === 'Control') void load().catch(() => {})
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      if (event.shiftKey || event.altKey) return
      event.preventDefault()
      // Another dialog may hold input.
      if (!document.querySelector('[role="dialog"], [role="alertdialog"]')) setIsOpen(true)
    }
    document.addEventListener('keydown', open)
    return () => document.removeEventListener('keydown', open)
  }, [load])
  return (
    <>
      <button
        type="button"
        className="search-button"
        aria-haspopup="dialog"
        aria-keyshortcuts="Meta+K Control+K"
        onPointerEnter={() => void load().catch(() => {})}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="search" />
        <span>Search</span>
        <span className="keys" aria-hidden="true">
          {isApple ? '⌘ K' : 'Ctrl K'}
        </span>
      </button>
      {isOpen && (
        <Suspense>
          <Dialog onClose={() => setIsOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
