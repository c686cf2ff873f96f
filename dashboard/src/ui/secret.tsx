import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'

/** The secret of a key, an endpoint or a token, which is shown once. */
export const Secret = ({
  secret,
  onDone,
  children,
}: {
  secret: string
  onDone: () => void
  children?: ReactNode
}) => (
  <>
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
      <Button look="primary" onPress={onDone}>
        Done
      </Button>
    </div>
  </>
)
