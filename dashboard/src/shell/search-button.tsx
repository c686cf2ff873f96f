import { type ComponentType, useCallback, useEffect, useState } from 'react'
import { Icon } from '../ui/icons.tsx'
import { notify } from '../ui/toast.tsx'

/** The dialog of the search: a chunk of its own, which is loaded shortly before it is first opened. */
export type SearchDialog = () => Promise<{ default: ComponentType<Closable> }>

type Closable = { onClose: () => void }

const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** Opens the search, also with ⌘K or Ctrl K. */
export function SearchButton({ load }: { load: SearchDialog }) {
  const [Dialog, setDialog] = useState<ComponentType<Closable>>()
  const open = useCallback(
    () =>
      load().then(
        (dialog) => setDialog(() => dialog.default),
        () => notify('The search could not be loaded. Try again, or load the page again.'),
      ),
    [load],
  )
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      // The first key of the shortcut.
      if (event.key === 'Meta' || event.key === 'Control') void load().catch(() => {})
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      if (event.shiftKey || event.altKey) return
      event.preventDefault()
      // Another dialog may hold input.
      if (!document.querySelector('[role="dialog"], [role="alertdialog"]')) void open()
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
      {Dialog && <Dialog onClose={() => setDialog(undefined)} />}
    </>
  )
}
