import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Notice } from './notice.tsx'

/**
 * A typed text whose form is gone, because another member or the marketplace has changed the record meanwhile: to copy it. The children say that
 * it was not sent.
 */
export const Unsent = ({
  text,
  onDrop,
  children,
}: {
  text: string
  onDrop: () => void
  children: ReactNode
}) => (
  <div role="alert" data-unsaved>
    <Notice tone="warn">
      <p>{children}</p>
      <blockquote>{text}</blockquote>
      <div className="page-actions">
        <CopyButton text={text} />
        <Button size="small" look="quiet" onPress={onDrop}>
          Discard
        </Button>
      </div>
    </Notice>
  </div>
)
