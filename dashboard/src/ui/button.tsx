import { type ReactNode, useContext } from 'react'
import {
  Button as AriaButton,
  type ButtonProps as AriaButtonProps,
} from 'react-aria-components/Button'
import { Link } from 'wouter'
import { SERVICE } from '../base.ts'
import { classes } from './classes.ts'
import { DialogHold } from './dialog-hold.ts'
import { Icon, type IconName } from './icons.tsx'

/** `primary`: the page's main action, once per page. `danger`: loses something. `quiet`: without a border. */
export type ButtonLook = 'primary' | 'secondary' | 'quiet' | 'danger'

export type ButtonProps = Omit<AriaButtonProps, 'children' | 'className'> & {
  children: ReactNode
  look?: ButtonLook
  size?: 'small'
  icon?: IconName
}

/**
 * A button. `isPending` shows and says that its action is under way, keeps the focus and refuses presses; a form refuses a second
 * submission itself. React Aria's own `isPending` announces the button by reference, also after a dialog has closed.
 * `slot="close"` closes the dialog around it, unless that is held open.
 */
export function Button({
  children,
  look = 'secondary',
  size,
  icon,
  isPending,
  onPress,
  ...props
}: ButtonProps) {
  const { isHeld } = useContext(DialogHold)
  return (
    <AriaButton
      isDisabled={isHeld && props.slot === 'close'}
      {...props}
      aria-disabled={isPending || undefined}
      className={classes('button', look, size)}
      onPress={isPending ? undefined : onPress}
    >
      {isPending ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      <span>{children}</span>
    </AriaButton>
  )
}

/** A button without text. */
export const IconButton = ({
  label,
  icon,
  size,
  ...props
}: Omit<ButtonProps, 'children' | 'icon' | 'look'> & { label: string; icon: IconName }) => (
  <AriaButton {...props} aria-label={label} className={classes('button only-icon quiet', size)}>
    <Icon name={icon} />
  </AriaButton>
)

/** A link to a page of the dashboard that looks like a button. */
export const ButtonLink = ({
  href,
  children,
  look = 'secondary',
  size,
  icon,
  onClick,
}: {
  href: string
  children: ReactNode
  look?: ButtonLook
  size?: 'small'
  icon?: IconName
  onClick?: () => void
}) => (
  <Link href={href} className={classes('button', look, size)} onClick={onClick}>
    {icon && <Icon name={icon} />}
    <span>{children}</span>
  </Link>
)

/** A link to another site, or to a page or file of the service outside of the dashboard. */
export const ExternalLink = ({ href, children }: { href: string; children: ReactNode }) => (
  <a href={href} target="_blank" rel="noreferrer">
    {children}
    <Icon name="external" />
    <span className="visually-hidden"> (opens a new tab)</span>
  </a>
)

/** Leads to the sign-in page in another tab: a session that has ended may leave unsaved input on this one. */
export const SignInLink = () => <ExternalLink href={`${SERVICE}signin`}>Sign in</ExternalLink>
