import { useState } from 'react'
import { type KeyAction, KeyActionDialog, keyActions } from '../../keys/key-actions.tsx'
import { NewKeyDialog } from '../../keys/new-key.tsx'
import { Button } from '../../ui/button.tsx'
import { SecretDialog, useSecret } from '../../ui/secret.tsx'
import { Section } from '../../ui/section.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { DateTime } from '../../ui/values.tsx'
import { type Key, send, sendDelete, useMay, useRecord } from '../api.ts'
import { REVOCABLE_STATE } from '../statuses.tsx'

type NewKey = { data: Key; key: string }

/** The account's API keys, revoked ones included. */
export function Keys({ accountId }: { accountId: number }) {
  const path = `accounts/${accountId}/keys`
  const query = useRecord<Key[]>(path)
  const [isCreating, setIsCreating] = useState(false)
  const [asked, setAsked] = useState<KeyAction<Key>>()
  const [secret, setSecret] = useSecret<string>()
  const may = useMay()
  return (
    <Section
      title="Keys"
      actions={
        may('createKey') && (
          <Button size="small" icon="plus" onPress={() => setIsCreating(true)}>
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
              columns={may('revokeKey') ? [...COLUMNS, keyActions(setAsked)] : COLUMNS}
              rows={keys.toReversed()}
            />
          )
        }
      </Loaded>
      {isCreating && (
        <NewKeyDialog
          create={(input, idempotencyKey) => send<NewKey>(path, input, idempotencyKey)}
          onCreated={(created) => {
            setSecret(created)
            setIsCreating(false)
          }}
          onClose={() => setIsCreating(false)}
        />
      )}
      {asked && (
        <KeyActionDialog
          asked={asked}
          rotate={async ({ id }, idempotencyKey) =>
            setSecret((await send<NewKey>(`${path}/${id}/rotate`, undefined, idempotencyKey)).key)
          }
          revoke={({ id }) => sendDelete(`${path}/${id}`)}
          note="The seller gets an e-mail."
          onClose={() => setAsked(undefined)}
        />
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
