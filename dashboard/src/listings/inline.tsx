import { useEffect, useId, useRef, useState } from 'react'
import { ApiError } from '../client.ts'
import { classes } from '../ui/classes.ts'
import { isDialogOpen } from '../ui/dialog-open.ts'
import { notify } from '../ui/toast.tsx'
import { useIsShown } from '../ui/use-is-shown.ts'
import { type Begun, keepRow, newAttempts, UnknownOutcomeError } from './api.ts'

type State = {
  message?: string
  isSaving: boolean
  /** The last attempt that has ended failed. */
  hasFailed: boolean
}

/**
 * Saves with one attempt at a time. A failure keeps the input and shows its message. If the page or the row is gone by then,
 * a notification shows it with the field's label.
 */
function useSave(label: string) {
  const [state, setState] = useState<State>({ isSaving: false, hasFailed: false })
  const isShown = useIsShown()
  const run = async (save: () => Promise<unknown>): Promise<boolean> => {
    setState(({ hasFailed }) => ({ isSaving: true, hasFailed }))
    try {
      await save()
      setState({ isSaving: false, hasFailed: false })
      return true
    } catch (error) {
      const fields = error instanceof ApiError ? Object.values(error.fields).flat() : []
      const message = fields[0] ?? (error as Error).message
      setState({ isSaving: false, hasFailed: true, message })
      if (!isShown.current) notify(`${label} was not saved. ${message}`, { isFailure: true })
      return false
    }
  }
  return { ...state, run, forget: () => setState(({ message, ...rest }) => rest) }
}

/** A value in a table that is changed in place: Enter or leaving the field saves, Escape restores. */
export function InlineInput({
  label,
  listing,
  value,
  inputMode,
  onSave,
}: {
  label: string
  /** Its row stays in the table until the value is saved or restored. */
  listing: number
  value: string
  inputMode: 'decimal' | 'numeric'
  /** After an UnknownOutcomeError the field shows the current value again. */
  onSave: (text: string, begun: Begun) => Promise<unknown>
}) {
  const id = useId()
  const [draft, setDraft] = useState<string>()
  const begun = useRef<Begun>({ shown: value, ...newAttempts() })
  /** The draft while a save is under way. */
  const typed = useRef(draft)
  const isAskedAgain = useRef(false)
  /** The draft that was sent last. */
  const [sent, setSent] = useState<string>()
  const { isSaving, hasFailed, message, run, forget } = useSave(label)
  // A save that has begun goes on after the page was left, so the text that it sends is not unsaved.
  const isSent = isSaving && !hasFailed && draft === sent
  // A message about an unknown outcome comes without a draft.
  const isKept = draft !== undefined || message !== undefined
  useEffect(() => (isKept ? keepRow(listing) : undefined), [isKept, listing])
  const isUnsaved = draft !== undefined && draft.trim() !== value && !isSent
  const begin = (shown: string) => {
    begun.current = { shown, ...newAttempts() }
  }
  const setText = (text: string | undefined) => {
    typed.current = text
    setDraft(text)
  }
  const change = (text: string | undefined) => {
    if (draft === undefined) begin(value)
    setText(text)
    forget()
  }
  const save = async () => {
    isAskedAgain.current = isSaving
    if (isSaving) return
    if (draft?.trim() === value) return change(undefined)
    do {
      isAskedAgain.current = false
      const text = typed.current
      setSent(text)
      if (text === undefined) return
      const attempt = () =>
        onSave(text, begun.current).catch((error) => {
          if (error instanceof UnknownOutcomeError) setText(undefined)
          throw error
        })
      if (!(await run(attempt))) return
      begin(text)
      if (typed.current === text) change(undefined)
    } while (isAskedAgain.current)
  }
  return (
    <span className="inline-field">
      <input
        className={classes('input', isSaving && 'saving')}
        aria-label={label}
        aria-invalid={message ? true : undefined}
        aria-describedby={message ? id : undefined}
        data-unsaved={isUnsaved || undefined}
        inputMode={inputMode}
        autoComplete="off"
        value={draft ?? value}
        onChange={({ target }) => change(target.value)}
        // A refused value is sent again only on request. The search returns the focus, so an unfinished one waits for it.
        onBlur={() => message === undefined && !isDialogOpen() && void save()}
        onKeyDown={({ key }) => {
          if (key === 'Enter') void save()
          if (key === 'Escape') change(undefined)
        }}
      />
      {message && (
        <span id={id} className="error" role="alert">
          {message}
        </span>
      )}
    </span>
  )
}

/** The status of a listing. The stock decides between active and sold, so only hiding is a choice. */
export function InlineStatus({
  label,
  status,
  onSave,
}: {
  label: string
  status: 'active' | 'sold' | 'hidden'
  onSave: (status: string) => Promise<unknown>
}) {
  const id = useId()
  const { isSaving, message, run } = useSave(label)
  const shown = status === 'hidden' ? 'active' : status
  return (
    <span className="inline-field">
      <select
        className={classes('input', isSaving && 'saving')}
        aria-label={label}
        aria-describedby={message ? id : undefined}
        value={status}
        onChange={({ target }) => void run(() => onSave(target.value))}
      >
        <option value={shown}>{shown === 'sold' ? 'Sold out' : 'Active'}</option>
        <option value="hidden">Hidden</option>
      </select>
      {message && (
        <span id={id} className="error" role="alert">
          {message}
        </span>
      )}
    </span>
  )
}
