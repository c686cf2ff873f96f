import { useSyncExternalStore } from 'react'
import { IconButton } from './button.tsx'

/** Long enough to read a sentence. A message about a failure stays until it is closed. */
const SHOWN_MS = 6_000

type Toast = { id: number; text: string; isFailure: boolean }

let toasts: Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

function change(next: Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

const close = (id: number) => change(toasts.filter((toast) => toast.id !== id))

/** Confirms an action: notify('The endpoint was deleted.'). A form shows its failures itself. */
export function notify(text: string, { isFailure = false }: { isFailure?: boolean } = {}): void {
  const id = ++lastId
  change([...toasts, { id, text, isFailure }])
  if (!isFailure) setTimeout(close, SHOWN_MS, id)
}

/** Shows why an action outside of a form has failed. */
export const notifyFailure = (error: unknown) =>
  notify((error as Error).message, { isFailure: true })

/** The messages of `notify`. Rendered once, by the shell. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (changed) => {
      listeners.add(changed)
      return () => listeners.delete(changed)
    },
    () => toasts,
  )
  return (
    // An open dialog doesn't hide it from screen readers, and doesn't close when it is pressed.
    <div className="toasts" role="status" data-react-aria-top-layer="true">
      {shown.map(({ id, text, isFailure }) => (
        <div key={id} className={isFailure ? 'toast bad' : 'toast'}>
          <span>{text}</span>
          <IconButton
            label="Close the message"
            icon="close"
            size="small"
            onPress={() => close(id)}
          />
        </div>
      ))}
    </div>
  )
}
