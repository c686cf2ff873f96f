import type { MouseEvent, ReactNode } from 'react'
import { get } from '../client.ts'
import { openFile } from '../save-file.ts'
import { Icon } from './icons.tsx'
import { notifyFailure } from './toast.tsx'

/**
 * A link that downloads a file of the API. Browsers show nothing if a download is refused: a read before it leaves for the
 * sign-in if the session has ended.
 */
export function DownloadLink({ href, children }: { href: string; children: ReactNode }) {
  const onClick = (event: MouseEvent) => {
    event.preventDefault()
    get('me').then(() => openFile(href), notifyFailure)
  }
  return (
    <a className="button secondary" href={href} download onClick={onClick}>
      <Icon name="download" />
      <span>{children}</span>
    </a>
  )
}
