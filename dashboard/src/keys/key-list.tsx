import { useState } from 'react'
import { Badge } from '../ui/badge.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { SecretDialog, useSecret } from '../ui/secret.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { DateTime } from '../ui/values.tsx'
import { type KeyRecord, type NewKeyRecord, revokeKey, rotateKey, useKeys } from './api.ts'
import { type KeyAction, KeyActionDialog, keyActions, nameOf } from './key-actions.tsx'
import { labelOf } from './scopes.ts'

export function KeyList() {
  const keys = useKeys()
  const [asked, setAsked] = useState<KeyAction<KeyRecord>>()
  const [rotated, setRotated] = useSecret<NewKeyRecord>()
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
      {asked && (
        <KeyActionDialog
          asked={asked}
          rotate={async (key, idempotencyKey) => setRotated(await rotateKey(key, idempotencyKey))}
          revoke={revokeKey}
          onClose={() => setAsked(undefined)}
        />
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

const columns = (ask: (asked: KeyAction<KeyRecord>) => void): Column<KeyRecord>[] => [
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
  keyActions(ask),
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
