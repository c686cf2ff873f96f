import { ConfirmDialog } from '../ui/dialog.tsx'
import { Menu } from '../ui/menu.tsx'
import { ACTIONS_COLUMN, type Column } from '../ui/table.tsx'
import { notify } from '../ui/toast.tsx'

type Key = { name: string | null; prefix: string; revoked_at: string | null }
export type KeyAction<K> = { action: 'rotate' | 'revoke'; key: K }

export const nameOf = ({ name, prefix }: Key) => name ?? `${prefix}…`

/** The column with the menu of a key that works. */
export const keyActions = <K extends Key>(ask: (asked: KeyAction<K>) => void): Column<K> => ({
  ...ACTIONS_COLUMN,
  cell: (key) =>
    key.revoked_at === null && (
      <Menu
        label={`Actions for ${nameOf(key)}`}
        entries={[
          { label: 'Rotate', icon: 'refresh', onAction: () => ask({ action: 'rotate', key }) },
          {
            label: 'Revoke',
            icon: 'trash',
            isDangerous: true,
            onAction: () => ask({ action: 'revoke', key }),
          },
        ]}
      />
    ),
})

/** Asks before a key is rotated or revoked. */
export const KeyActionDialog = <K extends Key>({
  asked: { action, key },
  rotate,
  revoke,
  note,
  onClose,
}: {
  asked: KeyAction<K>
  rotate: (key: K, idempotencyKey: string) => Promise<void>
  revoke: (key: K) => Promise<void>
  note?: string
  onClose: () => void
}) =>
  action === 'rotate' ? (
    <ConfirmDialog
      title={`Rotate ${nameOf(key)}?`}
      confirm="Rotate key"
      isDangerous={false}
      onConfirm={(idempotencyKey) => rotate(key, idempotencyKey)}
      onClose={onClose}
    >
      <p>
        The key gets a new secret. The current one works for 24 more hours, so that it can be
        replaced in programs. One that was rotated before stops at once. {note}
      </p>
    </ConfirmDialog>
  ) : (
    <ConfirmDialog
      title={`Revoke ${nameOf(key)}?`}
      confirm="Revoke key"
      onConfirm={async () => {
        await revoke(key)
        notify('The key was revoked.')
      }}
      onClose={onClose}
    >
      <p>Programs that use it are refused at once. This can’t be undone. {note}</p>
    </ConfirmDialog>
  )
