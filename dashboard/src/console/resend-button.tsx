import { Button } from '../ui/button.tsx'
import { notify } from '../ui/toast.tsx'
import { useAction } from '../ui/use-action.ts'
import { send } from './api.ts'

/** Sends a delivery or an e-mail again. `path` is the record's, and `name` is its name within a sentence: "delivery 12". */
export function ResendButton({ path, name }: { path: string; name: string }) {
  const resend = useAction(async () => {
    await send(`${path}/resend`)
    notify(`${name[0]!.toUpperCase()}${name.slice(1)} is being sent again.`)
  })
  return (
    <Button size="small" aria-label={`Resend ${name}`} {...resend}>
      Resend
    </Button>
  )
}
