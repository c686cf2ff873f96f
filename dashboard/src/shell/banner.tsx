import type { ReactNode } from 'react'
import { Icon } from '../ui/icons.tsx'

/** A message of the service above the page. */
export const Banner = ({ tone = 'neutral', children }: { tone?: string; children: ReactNode }) => (
  <div className={`banner ${tone}`}>
    <Icon name={tone === 'warn' ? 'warning' : 'info'} />
    <p>{children}</p>
  </div>
)
