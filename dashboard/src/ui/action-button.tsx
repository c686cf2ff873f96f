import { Button, type ButtonProps } from './button.tsx'
import { useAction } from './use-action.ts'

/** A button that starts an action, as `useAction` says. */
export const ActionButton = ({
  act,
  ...props
}: Omit<ButtonProps, 'onPress' | 'isPending'> & { act: () => Promise<unknown> }) => (
  <Button {...props} {...useAction(act)} />
)
