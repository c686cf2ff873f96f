import { IconButton } from './button.tsx'
import { keepHeight } from './keep-height.ts'
import { createStore } from './store.ts'

/**
 * Long enough to read a sentence. A message about a failure stays until it is closed, any other at least as long as the
 * pointer or the focus is on one of them.
 */
const SHOWN_MS = 6_000

type Toast = { id: number; text: string; isFailure: boolean }

const toasts = createStore<Toast[]>([])
let lastId = 0
const keepToastsHeight = keepHeight('--toasts-height')

const close = (id: number) => toasts.set(toasts.get().filter((toast) => toast.id !== id))

/** Confirms an action: notify('The endpoint was deleted.'). A form shows its failures itself. */
export function notify(text: string, { isFailure = false }: { isFailure?: boolean } = {}): void {
  const id = ++lastId
  toasts.set([...toasts.get(), { id, text, isFailure }])
  if (!isFailure) closeLater(id)
}

function closeLater(id: number): void {
  setTimeout(() => {
    if (document.querySelector('.toasts:is(:hover, :focus-within)')) closeLater(id)
    else close(id)
  }, SHOWN_MS)
}

/** Shows why an action outside of a form has failed. */
export const notifyFailure = (error: unknown) =>
  notify((error as Error).message, { isFailure: true })

/** The messages of `notify`, the newest first. Rendered once, by the shell. */
export function Toasts() {
  const shown = toasts.use()
  return (
    // An open dialog doesn't hide it from screen readers, and doesn't close when it is pressed. They would read all messages
    // again with each new one.
    <div
      className="toasts"
      role="status"
      aria-atomic="false"
      data-react-aria-top-layer="true"
      ref={keepToastsHeight}
    >
      {shown.toReversed().map(({ id, text, isFailure }) => (
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
