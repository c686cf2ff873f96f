import { useState } from 'react'
import { Badge } from '../ui/badge.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { Menu } from '../ui/menu.tsx'
import { SecretDialog, useSecret } from '../ui/secret.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { ACTIONS_COLUMN, type Column, Table } from '../ui/table.tsx'
import { notify } from '../ui/toast.tsx'
import { DateTime } from '../ui/values.tsx'
import { type KeyRecord, type NewKeyRecord, revokeKey, rotateKey, useKeys } from './api.ts'
import { labelOf } from './scopes.ts'

type Asked = { action: 'rotate' | 'revoke'; key: KeyRecord }

const nameOf = ({ name, prefix }: KeyRecord) => name ?? `${prefix}…`

export function KeyList() {
  const keys = useKeys()
  const [asked, setAsked] = useState<Asked>()
  const [rotated, setRotated] = useSecret<NewKeyRecord>()
  const close = () => setAsked(undefined)
  return (
    <>
      <Loaded query={keys}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              title="No keys yet"
              icon="keys"
              action={
                <ButtonLink href="/keys/new" icon="plus">
                  Create a key
                </ButtonLink>
              }
            >
              <p>A program needs a key to list your cards or to read your orders.</p>
            </Empty>
          ) : (
            <Table
              label="API keys"
              columns={columns(setAsked)}
              // The newest first, revoked ones at the end.
              rows={[...all].sort(
                (a, b) => Number(!!a.revoked_at) - Number(!!b.revoked_at) || b.id - a.id,
              )}
            />
          )
        }
      </Loaded>
      {asked?.action === 'rotate' && (
        <ConfirmDialog
          title={`Rotate ${nameOf(asked.key)}?`}
          confirm="Rotate key"
          isDangerous={false}
          onConfirm={async (idempotencyKey) =>
            setRotated(await rotateKey(asked.key, idempotencyKey))
          }
          onClose={close}
        >
          <p>
            The key gets a new secret. The current one works for 24 more hours, so that you can
            replace it in your programs. One that was rotated before stops at once.
          </p>
        </ConfirmDialog>
      )}
      {asked?.action === 'revoke' && (
        <ConfirmDialog
          title={`Revoke ${nameOf(asked.key)}?`}
          confirm="Revoke key"
          onConfirm={async () => {
            await revokeKey(asked.key)
            notify('The key was revoked.')
          }}
          onClose={close}
        >
          <p>Programs that use it are refused at once. This can’t be undone.</p>
        </ConfirmDialog>
      )}
      {rotated && (
        <SecretDialog
          title={`The new secret of ${nameOf(rotated.data)}`}
          secret={rotated.key}
          onClose={() => setRotated(undefined)}
        >
          The former secret works until <DateTime at={rotated.data.grace_ends_at} />.
        </SecretDialog>
      )}
    </>
  )
}

const columns = (ask: (asked: Asked) => void): Column<KeyRecord>[] => [
  {
    key: 'name',
    header: 'Key',
    isRowHeader: true,
    cell: (key) => (
      <div className="key-name">
        <span>{key.name ?? 'Without a name'}</span>
        <code>{key.prefix}…</code>
      </div>
    ),
  },
  { key: 'state', header: 'State', cell: (key) => <State {...key} /> },
  {
    key: 'scopes',
    header: 'May',
    cell: ({ scopes }) => <span className="scopes">{scopes.map(labelOf).join(', ')}</span>,
  },
  {
    key: 'last_used_at',
    header: 'Last used',
    cell: ({ last_used_at: at }) => (at ? <DateTime at={at} look="relative" /> : 'Never'),
  },
  {
    key: 'created_at',
    header: 'Created',
    cell: (key) => <DateTime at={key.created_at} look="date" />,
  },
  {
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
  },
]

function State({ revoked_at: revokedAt, grace_ends_at: graceEndsAt }: KeyRecord) {
  if (revokedAt) return <Badge>Revoked</Badge>
  if (!graceEndsAt) return <Badge tone="good">Active</Badge>
  return (
    <>
      <Badge tone="warn">Rotated</Badge>
      <p className="help">
        Former secret until <DateTime at={graceEndsAt} />
      </p>
    </>
  )
}
