import { ActionButton } from '../ui/action-button.tsx'
import { notify } from '../ui/toast.tsx'
import { send } from './api.ts'

/** Sends a delivery or an e-mail again. `path` is the record's, and `name` is its name within a sentence: "delivery 12". */
export const ResendButton = ({ path, name }: { path: string; name: string }) => (
  <ActionButton
    size="small"
    aria-label={`Resend ${name}`}
    act={async () => {
      await send(`${path}/resend`)
      notify(`${name[0]!.toUpperCase()}${name.slice(1)} is being sent again.`)
    }}
  >
    Resend
  </ActionButton>
)
