import type { ReactNode } from 'react'
import { Dialog } from '../ui/dialog.tsx'
import { TextArea } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'

/** Asks for the reason that the seller reads, before something is lost. */
export const ReasonDialog = ({
  title,
  confirm,
  children,
  onConfirm,
  onClose,
}: {
  title: string
  /** The verb on the button. */
  confirm: string
  children: ReactNode
  onConfirm: (reason: string) => Promise<void>
  onClose: () => void
}) => (
  <Dialog title={title} isModalStrict onClose={onClose}>
    <p>{children}</p>
    <Form
      label={title}
      submit={confirm}
      look="danger"
      cancel="Back"
      onSubmit={async (data) => {
        await onConfirm(String(data.get('reason')).trim())
        onClose()
      }}
    >
      <TextArea name="reason" label="Reason" rows={2} isRequired />
    </Form>
  </Dialog>
)
