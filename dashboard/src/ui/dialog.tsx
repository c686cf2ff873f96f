import { type ReactNode, useId, useRef, useState } from 'react'
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { mayClose } from '../shell/ask-before-leaving.ts'
import { Button, IconButton } from './button.tsx'
import { DialogHold } from './dialog-hold.ts'
import { FormErrors } from './form.tsx'
import { notifyFailure } from './toast.tsx'
import { useAttempt } from './use-attempt.ts'

type DialogProps = {
  title: string
  onClose: () => void
  /**
   * Keeps the dialog open while a request runs that closing doesn't cancel, and asks before the page is left. Without it, a
   * form in the dialog does so while it saves.
   */
  isHeld?: boolean
  children: ReactNode
  /** The id of the text that says what the dialog is about. */
  describedBy?: string
  /** Protects input from a click next to the dialog. Escape and the close button still close it. */
  isModalStrict?: boolean
}

/**
 * A dialog, shown as long as it's rendered: `{isOpen && <Dialog …>}`. Closing returns the focus. Escape, a click next to the
 * dialog and each button with `slot="close"` ask before they lose what was typed in a form; `onClose` itself doesn't.
 */
export function Dialog({
  title,
  onClose,
  children,
  describedBy,
  isModalStrict,
  ...props
}: DialogProps) {
  const dialog = useRef<HTMLElement>(null)
  const [isSaving, hold] = useState(false)
  const { isHeld = isSaving } = props
  return (
    <ModalOverlay
      isOpen
      isDismissable={!isModalStrict && !isHeld}
      isKeyboardDismissDisabled={isHeld}
      className="overlay"
      onOpenChange={() => mayClose(dialog.current!) && onClose()}
    >
      <Modal className="modal">
        <AriaDialog ref={dialog} className="dialog" aria-describedby={describedBy}>
          <header className="dialog-header">
            <Heading slot="title">{title}</Heading>
            <IconButton slot="close" label="Close" icon="close" isDisabled={isHeld} />
          </header>
          {isHeld && <span hidden data-unsaved data-loss="The service has not responded yet." />}
          <DialogHold value={{ isHeld, hold }}>{children}</DialogHold>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

/** Asks before something is lost. Stays open with the message if it fails. */
export function ConfirmDialog({
  title,
  confirm,
  isDangerous = true,
  children,
  onConfirm,
  onClose,
}: {
  title: string
  /** The verb on the button: "Delete endpoint". */
  confirm: string
  isDangerous?: boolean
  children: ReactNode
  /** Gets the idempotency key of this dialog, for a write that must not happen twice. */
  onConfirm: (idempotencyKey: string) => Promise<unknown>
  onClose: () => void
}) {
  const [isPending, setIsPending] = useState(false)
  const [messages, setMessages] = useState<string[]>([])
  const attempt = useAttempt()
  const content = useRef<HTMLDivElement>(null)
  const consequence = useId()

  async function run() {
    setIsPending(true)
    try {
      await onConfirm(attempt())
      if (content.current) onClose()
    } catch (error) {
      if (!content.current) return notifyFailure(error)
      setMessages([(error as Error).message])
      setIsPending(false)
    }
  }

  return (
    <Dialog title={title} onClose={onClose} isHeld={isPending} describedBy={consequence}>
      <FormErrors messages={messages} />
      <div ref={content} id={consequence} className="prose">
        {children}
      </div>
      <div className="form-actions">
        <Button look={isDangerous ? 'danger' : 'primary'} isPending={isPending} onPress={run}>
          {confirm}
        </Button>
        <Button autoFocus isDisabled={isPending} onPress={onClose}>
          Cancel
        </Button>
      </div>
    </Dialog>
  )
}
