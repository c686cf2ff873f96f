import { type ComponentType, useCallback, useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { isDialogOpen } from '../ui/dialog-open.ts'
import { Icon } from '../ui/icons.tsx'
import { notify } from '../ui/toast.tsx'

/** The dialog of the search: a chunk of its own, which is loaded shortly before it is first opened. */
export type SearchDialog = () => Promise<{ default: ComponentType<SearchProps> }>

export type SearchProps = {
  /** The text that was typed while the dialog was loaded. */
  typed: string
  onClose: () => void
}

const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** Opens the search, also with ⌘K or Ctrl K. */
export function SearchButton({ load }: { load: SearchDialog }) {
  const [search, setSearch] = useState<{ Dialog: ComponentType<SearchProps>; typed: string }>()
  const [isWaiting, setIsWaiting] = useState(false)
  const waiting = useRef<HTMLDialogElement>(null)
  const open = useCallback(async () => {
    // Takes the focus at once: the next keys must not change a field of the page, which saves when it is left.
    flushSync(() => setIsWaiting(true))
    const dialog = waiting.current!
    dialog.showModal()
    const loaded = await load().catch(() => undefined)
    if (!dialog.open) return
    const typed = dialog.querySelector('input')!.value
    // Gives the focus back to the element that had it, to which the search will return it as well.
    dialog.close()
    flushSync(() => {
      setIsWaiting(false)
      if (loaded) setSearch({ Dialog: loaded.default, typed })
    })
    if (!loaded) notify('The search could not be loaded. Try again, or load the page again.')
  }, [load])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      // The first key of the shortcut.
      if (event.key === 'Meta' || event.key === 'Control') void load().catch(() => {})
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      if (event.shiftKey || event.altKey) return
      event.preventDefault()
      // Another dialog may hold input.
      if (!isDialogOpen()) void open()
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [load, open])
  return (
    <>
      <button
        type="button"
        className="search-button"
        aria-haspopup="dialog"
        aria-keyshortcuts="Meta+K Control+K"
        onPointerEnter={() => void load().catch(() => {})}
        onClick={open}
      >
        <Icon name="search" />
        <span>Search</span>
        <span className="keys" aria-hidden="true">
          {isApple ? '⌘ K' : 'Ctrl K'}
        </span>
      </button>
      {isWaiting && (
        <dialog
          ref={waiting}
          className="modal palette"
          aria-label="Search"
          onClose={() => setIsWaiting(false)}
        >
          <div className="palette-field">
            <Icon name="search" />
            <input
              className="palette-input"
              aria-label="Search"
              placeholder="Loading…"
              maxLength={100}
            />
          </div>
        </dialog>
      )}
      {search && <search.Dialog typed={search.typed} onClose={() => setSearch(undefined)} />}
    </>
  )
}
