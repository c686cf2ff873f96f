import {
  Dialog as AriaDialog,
  Autocomplete,
  Header,
  Input,
  Menu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  TextField,
} from 'react-aria-components'
import { useLocation } from 'wouter'
import { Icon, type IconName } from './icons.tsx'
import { HiddenStatus } from './states.tsx'

/** A place that the palette leads to. */
export type Entry = {
  label: string
  /** The language of the label, if it isn't English. */
  lang?: string | undefined
  detail?: string | undefined
  icon: IconName
  href: string
}

export type EntryGroup = { title: string; entries: Entry[] }

/**
 * The dialog behind ⌘K: a text field above the places that match. The arrow keys choose one while the focus stays in the
 * field, Enter opens it.
 */
export function Palette({
  label,
  text,
  onChange,
  groups,
  empty = 'Nothing was found.',
  onClose,
}: {
  /** Names the field, and says what can be found. */
  label: string
  text: string
  onChange: (text: string) => void
  groups: EntryGroup[]
  /** Shown while there are no entries. */
  empty?: string
  onClose: () => void
}) {
  const [, navigate] = useLocation()
  const shown = groups.filter(({ entries }) => entries.length > 0)
  return (
    <ModalOverlay
      isOpen
      isDismissable
      className="overlay top"
      onOpenChange={(isOpen) => !isOpen && onClose()}
    >
      <Modal className="modal palette">
        <AriaDialog aria-label="Search" className="palette-dialog">
          <Autocomplete inputValue={text} onInputChange={onChange}>
            <TextField aria-label={label} autoFocus className="palette-field">
              <Icon name="search" />
              <Input className="palette-input" placeholder={label} maxLength={100} />
              <span className="keys" aria-hidden="true">
                Esc
              </span>
            </TextField>
            <Menu
              aria-label="Results"
              className="palette-results"
              renderEmptyState={() => <p className="help">{empty}</p>}
            >
              {shown.map(({ title, entries }) => (
                <MenuSection key={title} id={title}>
                  <Header className="palette-title">{title}</Header>
                  {entries.map(({ label, lang, detail, icon, href }) => (
                    <MenuItem
                      key={`${title} ${href}`}
                      id={`${title} ${href}`}
                      textValue={[label, detail].filter(Boolean).join(', ')}
                      className="menu-item"
                      onAction={() => {
                        onClose()
                        navigate(href)
                      }}
                    >
                      <Icon name={icon} />
                      <span className="palette-entry">
                        <span lang={lang}>{label}</span>
                        {detail && <span className="help">{detail}</span>}
                      </span>
                    </MenuItem>
                  ))}
                </MenuSection>
              ))}
            </Menu>
          </Autocomplete>
          <HiddenStatus>{shown.length === 0 && empty}</HiddenStatus>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

/** The places whose label or other words contain words that begin with each word of the text. */
export function matching<T extends { label: string; words?: string }>(
  places: readonly T[],
  text: string,
): T[] {
  const wanted = wordsOf(text)
  return places.filter(({ label, words = '' }) => {
    const known = wordsOf(`${label} ${words}`)
    return wanted.every((word) => known.some((candidate) => candidate.startsWith(word)))
  })
}

const wordsOf = (text: string) =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
