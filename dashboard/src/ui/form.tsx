import {
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Form as AriaForm } from 'react-aria-components/Form'
import { ApiError, SESSION_ENDED } from '../client.ts'
import { rememberInput } from '../shell/ask-before-leaving.ts'
import { Button, type ButtonLook, SignInLink } from './button.tsx'
import { DialogHold } from './dialog-hold.ts'
import { Notice } from './notice.tsx'
import { notifyFailure } from './toast.tsx'

type FormProps = {
  children: ReactNode
  /**
   * Saves the named fields. The form shows its error: a field's messages at the field, all others above the fields. The
   * function that it returns, if any, leads to another page, and is called only while the form is shown.
   */
  onSubmit: (data: FormData) => Promise<undefined | (() => void)>
  label?: string
} & (Buttons | { actions: (isSaving: boolean) => ReactNode })

/** The texts of the buttons below the fields. A form with other buttons has `actions`. */
type Buttons = {
  submit: string
  look?: ButtonLook
  /** Closes the dialog around the form. */
  cancel?: string
}

const NO_FIELDS = {}

/**
 * A form that keeps its input until a save has succeeded, and asks before the page is left or the dialog is closed with it.
 * Its dialog stays open while it saves. If the page is left meanwhile, a message shows the error.
 * A field shows the service's messages for its `name`. Messages for names that the form doesn't have appear above it, so
 * that none is lost.
 */
export function Form({ children, onSubmit, label, ...buttons }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const { hold } = useContext(DialogHold)
  const [isSaving, setIsSaving] = useState(false)
  const [error, setError] = useState<Error>()
  const [general, setGeneral] = useState<string[]>([])
  const fields = error instanceof ApiError ? error.fields : NO_FIELDS

  useLayoutEffect(() => void rememberInput(form.current!), [])
  useLayoutEffect(() => {
    setGeneral(error ? generalMessages(error, form.current) : [])
  }, [error])
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [error])

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    // Enter in a field submits again while a save is under way.
    if (isSaving) return
    setIsSaving(true)
    hold(true)
    // Before the save, because it may lead to another page.
    const forget = rememberInput(event.currentTarget)
    try {
      const leave = await onSubmit(new FormData(event.currentTarget))
      setError(undefined)
      if (leave && form.current) leave()
    } catch (thrown) {
      if (!form.current) return notifyFailure(thrown)
      setError(thrown as Error)
      forget()
    } finally {
      setIsSaving(false)
      hold(false)
    }
  }

  return (
    <AriaForm
      ref={form}
      className="form"
      aria-label={label}
      // A message stays at its field until the field changes, and never prevents another attempt.
      validationBehavior="aria"
      validationErrors={fields}
      onSubmit={submit}
    >
      <FormErrors messages={general} />
      {children}
      <div className="form-actions">
        {'actions' in buttons ? (
          buttons.actions(isSaving)
        ) : (
          <>
            <Button type="submit" look={buttons.look ?? 'primary'} isPending={isSaving}>
              {buttons.submit}
            </Button>
            {buttons.cancel && <Button slot="close">{buttons.cancel}</Button>}
          </>
        )}
      </div>
    </AriaForm>
  )
}

function generalMessages(error: Error, form: HTMLFormElement | null): string[] {
  if (!(error instanceof ApiError)) return [error.message]
  const known = (name: string) => form?.elements.namedItem(name)
  const unknown = Object.entries(error.fields).filter(([name]) => !known(name))
  if (unknown.length > 0) return unknown.flatMap(([, messages]) => messages)
  return Object.keys(error.fields).length > 0 ? [] : [error.message]
}

/** Messages that belong to no field. */
export const FormErrors = ({ messages }: { messages: string[] }) => (
  <div role="alert">
    {messages.length > 0 && (
      <Notice tone="bad">
        {messages.map((message) => (
          <p key={message}>
            {message} {message === SESSION_ENDED && <SignInLink />}
          </p>
        ))}
      </Notice>
    )}
  </div>
)
