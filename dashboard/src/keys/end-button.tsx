import { Button } from '../ui/button.tsx'
import { unlessDoubleClick } from '../ui/double-click.ts'
import { useAction } from '../ui/use-action.ts'

/** Ends the access or the session of its row. */
export function EndButton({ label, onEnd }: { label: string; onEnd: () => Promise<unknown> }) {
  const end = useAction(onEnd)
  return (
    <Button {...end} size="small" aria-label={label} onPress={unlessDoubleClick(end.onPress)}>
      End
    </Button>
  )
}
