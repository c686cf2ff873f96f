import type { ReactNode } from 'react'
import { Menu as AriaMenu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { Button, IconButton } from './button.tsx'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icons.tsx'

type MenuEntry = {
  label: string
  icon?: IconName
  isDangerous?: boolean
  isDisabled?: boolean
  onAction: () => void
}

/** Actions behind a button with three dots, or with a text. `label` names it: "Actions for endpoint 3". */
export const Menu = ({
  label,
  text,
  entries,
}: {
  label: string
  text?: ReactNode
  entries: MenuEntry[]
}) => (
  <MenuTrigger>
    {text === undefined ? (
      <IconButton label={label} icon="more" size="small" />
    ) : (
      <Button aria-label={label}>
        {text} <Icon name="down" />
      </Button>
    )}
    <Popover className="popover" placement="bottom end">
      <AriaMenu aria-label={label} className="menu">
        {entries.map((entry) => (
          <MenuItem
            key={entry.label}
            className={classes('menu-item', entry.isDangerous && 'danger')}
            isDisabled={entry.isDisabled}
            onAction={entry.onAction}
          >
            {entry.icon && <Icon name={entry.icon} />}
            {entry.label}
          </MenuItem>
        ))}
      </AriaMenu>
    </Popover>
  </MenuTrigger>
)
