import { useState } from 'react'
import { NewKeyDialog } from '../../keys/new-key.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Menu } from '../../ui/menu.tsx'
import { SecretDialog, useSecret } from '../../ui/secret.tsx'
import { Section } from '../../ui/section.tsx'
import { Loaded } from '../../ui/states.tsx'
import { ACTIONS_COLUMN, type Column, Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { DateTime } from '../../ui/values.tsx'
import { type Key, send, sendDelete, useMay, useRecord } from '../api.ts'
import { REVOCABLE_STATE } from '../statuses.tsx'

type NewKey = { data: Key; key: string }
type Asked = { action: 'create' } | { action: 'rotate' | 'revoke'; key: Key }

const nameOf = ({ name, prefix }: Key) => name ?? `${prefix}…`

/** The account's API keys, revoked ones included. */
export function Keys({ accountId }: { accountId: number }) {
  const path = `accounts/${accountId}/keys`
  const query = useRecord<Key[]>(path)
  const [asked, setAsked] = useState<Asked>()
  const [secret, setSecret] = useSecret<string>()
  const may = useMay()
  const close = () => setAsked(undefined)
  return (
    <Section
      title="Keys"
      actions={
        may('createKey') && (
          <Button size="small" icon="plus" onPress={() => setAsked({ action: 'create' })}>
            Create a key
          </Button>
        )
      }
    >
      <Loaded query={query} lines={2}>
        {(keys) =>
          keys.length === 0 ? (
            <p className="help">None.</p>
          ) : (
            <Table
              label="Keys"
              isWide
              columns={may('revokeKey') ? [...COLUMNS, actions(setAsked)] : COLUMNS}
              rows={keys.toReversed()}
            />
          )
        }
      </Loaded>
      {asked?.action === 'create' && (
        <NewKeyDialog
          create={(input, idempotencyKey) => send<NewKey>(path, input, idempotencyKey)}
          onCreated={(created) => {
            setSecret(created)
            close()
          }}
          onClose={close}
        />
      )}
      {asked?.action === 'rotate' && (
        <ConfirmDialog
          title={`Rotate ${nameOf(asked.key)}`}
          confirm="Rotate key"
          isDangerous={false}
          onConfirm={async (idempotencyKey) => {
            const rotation = `${path}/${asked.key.id}/rotate`
            const { key } = await send<NewKey>(rotation, undefined, idempotencyKey)
            setSecret(key)
          }}
          onClose={close}
        >
          <p>
            The key gets a new secret. The current one works for 24 more hours; one that was rotated
            before stops at once. The seller gets an e-mail.
          </p>
        </ConfirmDialog>
      )}
      {asked?.action === 'revoke' && (
        <ConfirmDialog
          title={`Revoke ${nameOf(asked.key)}`}
          confirm="Revoke key"
          onConfirm={async () => {
            await sendDelete(`${path}/${asked.key.id}`)
            notify('The key was revoked.')
          }}
          onClose={close}
        >
          <p>
            Programs that use it are refused at once, and the seller gets an e-mail. This can’t be
            undone.
          </p>
        </ConfirmDialog>
      )}
      {secret !== undefined && (
        <SecretDialog
          title="The key’s secret"
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </Section>
  )
}

const COLUMNS: Column<Key>[] = [
  {
    key: 'name',
    header: 'Key',
    isRowHeader: true,
    cell: ({ name, prefix }) => (
      <div className="review">
        {name ?? 'Without a name'}
        <p className="help">{prefix}…</p>
      </div>
    ),
  },
  REVOCABLE_STATE,
  { key: 'scopes', header: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
  { key: 'used', header: 'Last used', cell: ({ last_used_at }) => <DateTime at={last_used_at} /> },
  {
    key: 'created',
    header: 'Created',
    cell: ({ created_at }) => <DateTime at={created_at} look="date" />,
  },
]

const actions = (onAsk: (asked: Asked) => void): Column<Key> => ({
  ...ACTIONS_COLUMN,
  cell: (key) =>
    key.revoked_at === null && (
      <Menu
        label={`Actions for ${nameOf(key)}`}
        entries={[
          { label: 'Rotate', icon: 'refresh', onAction: () => onAsk({ action: 'rotate', key }) },
          {
            label: 'Revoke',
            icon: 'trash',
            isDangerous: true,
            onAction: () => onAsk({ action: 'revoke', key }),
          },
        ]}
      />
    ),
})
