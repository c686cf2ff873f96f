import type { ReactNode } from 'react'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icons.tsx'

/** A message in a coloured box, with an icon. */
export const Notice = ({
  tone,
  icon = tone === 'good' ? 'check' : tone ? 'warning' : 'info',
  children,
}: {
  tone?: 'good' | 'warn' | 'bad'
  icon?: IconName
  children: ReactNode
}) => (
  <div className={classes('notice', tone)}>
    <Icon name={icon} />
    <div>{children}</div>
  </div>
)
