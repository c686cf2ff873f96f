import { type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { notify } from './toast.tsx'
import { useIsShown } from './use-is-shown.ts'

const LOST =
  'The new secret can no longer be shown, because you left its page before the response came. Rotate or revoke it on that page.'

/** The secret to show, and a function that changes it. If its page was left meanwhile, a message says that it is lost. */
export function useSecret<T>() {
  const [secret, setSecret] = useState<T>()
  const isShown = useIsShown()
  const show = (next: T | undefined) => {
    if (isShown.current) setSecret(next)
    else notify(LOST, { isFailure: true })
  }
  return [secret, show] as const
}

/** Shows the secret of a key, an endpoint or a token once. */
export const SecretDialog = ({
  title,
  secret,
  onClose,
  children,
}: {
  title: string
  secret: string
  onClose: () => void
  children?: ReactNode
}) => (
  <Dialog title={title} isModalStrict onClose={onClose}>
    <div className="prose">
      <p>
        Copy the secret now and keep it safe: it is <strong>shown only once</strong>.
      </p>
    </div>
    <div className="secret">
      <code>{secret}</code>
      <CopyButton text={secret} />
    </div>
    {children && <p className="help">{children}</p>}
    <div className="form-actions">
      <Button look="primary" onPress={onClose}>
        Done
      </Button>
    </div>
  </Dialog>
)
