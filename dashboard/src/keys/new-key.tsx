import { readChoices } from '../ui/choices.ts'
import { Dialog } from '../ui/dialog.tsx'
import { CheckboxGroup, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { useAttempt } from '../ui/use-attempt.ts'
import type { KeyInput } from './api.ts'
import { SCOPES } from './scopes.ts'

/** Creates a key. The page shows its secret, also if the Back button has closed the dialog meanwhile. */
export function NewKeyDialog({
  create,
  onCreated,
  onClose,
}: {
  create: (key: KeyInput, idempotencyKey: string) => Promise<{ key: string }>
  onCreated: (secret: string) => void
  onClose: () => void
}) {
  const attempt = useAttempt()
  return (
    <Dialog title="Create a key" isModalStrict onClose={onClose}>
      <Form
        label="Create a key"
        submit="Create key"
        cancel="Cancel"
        onSubmit={async (data) => {
          const name = String(data.get('name') ?? '').trim() || null
          const input = { name, scopes: readChoices(data, 'scopes') }
          const { key } = await create(input, attempt(input))
          onCreated(key)
        }}
      >
        <TextField
          label="Name"
          isOptional
          name="name"
          help="Tells keys apart: the program or the computer that uses it."
          maxLength={100}
          autoFocus
        />
        <CheckboxGroup
          label="The key may"
          name="scopes"
          options={SCOPES}
          help="Choose only what the program needs."
        />
      </Form>
    </Dialog>
  )
}
