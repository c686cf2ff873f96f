import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { CheckboxGroup, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Secret } from '../ui/secret.tsx'
import { useAttempt } from '../ui/use-attempt.ts'
import { createKey } from './api.ts'
import { SCOPES } from './scopes.ts'

/** Creates a key, and then shows its secret. */
export function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const [secret, setSecret] = useState<string>()
  const attempt = useAttempt()
  if (secret !== undefined) {
    return (
      <Dialog title="The key is created" isModalStrict onClose={onClose}>
        <Secret secret={secret} onDone={onClose} />
      </Dialog>
    )
  }
  return (
    <Dialog title="Create a key" isModalStrict onClose={onClose}>
      <Form
        label="Create a key"
        onSubmit={async (data) => {
          const name = String(data.get('name') ?? '').trim() || null
          const input = { name, scopes: data.getAll('scopes').map(String) }
          const { key } = await createKey(input, attempt(input))
          setSecret(key)
        }}
        actions={(isSaving) => (
          <>
            <Button type="submit" look="primary" isPending={isSaving}>
              Create key
            </Button>
            <Button onPress={onClose}>Cancel</Button>
          </>
        )}
      >
        <TextField
          label="Name"
          name="name"
          help="Tells your keys apart: the program or the computer that uses it."
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
