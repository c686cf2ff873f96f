import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { RadioGroup, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { SecretDialog, useSecret } from '../ui/secret.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { ACTIONS_COLUMN, type Column, Table } from '../ui/table.tsx'
import { notify } from '../ui/toast.tsx'
import { useAttempt } from '../ui/use-attempt.ts'
import { DateTime } from '../ui/values.tsx'
import { type Staff, send, sendDelete, useMay, useRecord } from './api.ts'
import { REVOCABLE_STATE } from './statuses.tsx'

const ROLES: { value: Staff['role']; label: string; help: string }[] = [
  { value: 'support', label: 'Support', help: 'Reads, resends, cancels, refunds, disputes' },
  { value: 'finance', label: 'Finance', help: 'Ledger, payouts, payout setups' },
  { value: 'catalog', label: 'Catalog', help: 'Imports and hides catalog records' },
  { value: 'admin', label: 'Admin', help: 'Everything, tokens included' },
]

export default function StaffPage() {
  const query = useRecord<Staff[]>('staff')
  const [isAdding, setIsAdding] = useState(false)
  const [token, setToken] = useSecret<string>()
  const [revoked, setRevoked] = useState<Staff>()
  const may = useMay()
  return (
    <>
      <PageHeader
        title="Staff"
        actions={
          may('addStaff') && (
            <Button look="primary" icon="plus" onPress={() => setIsAdding(true)}>
              Add a person
            </Button>
          )
        }
      >
        Each person or program has a token of its own, which the audit log names.
      </PageHeader>
      <Loaded query={query}>
        {(staff) =>
          staff.length === 0 ? (
            <Empty title="No staff yet" />
          ) : (
            <Table
              label="Staff"
              isWide
              columns={may('revokeStaff') ? [...COLUMNS, revocation(setRevoked)] : COLUMNS}
              rows={staff}
            />
          )
        }
      </Loaded>
      {isAdding && <AddDialog onAdded={setToken} onClose={() => setIsAdding(false)} />}
      {token !== undefined && (
        <SecretDialog title="The token" secret={token} onClose={() => setToken(undefined)} />
      )}
      {revoked && (
        <ConfirmDialog
          title={`Revoke the token of ${revoked.name}`}
          confirm="Revoke token"
          onConfirm={async () => {
            await sendDelete(`staff/${revoked.id}`)
            notify(`The token of ${revoked.name} was revoked.`)
          }}
          onClose={() => setRevoked(undefined)}
        >
          <p>It is refused at once. This can’t be undone.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

function AddDialog({
  onAdded,
  onClose,
}: {
  onAdded: (token: string) => void
  onClose: () => void
}) {
  const attempt = useAttempt()
  return (
    <Dialog title="Add a person" isModalStrict onClose={onClose}>
      <Form
        label="Add a person"
        submit="Add"
        cancel="Cancel"
        onSubmit={async (data) => {
          const body = { name: String(data.get('name')).trim(), role: data.get('role') }
          const { token } = await send<{ token: string }>('staff', body, attempt(body))
          onAdded(token)
          onClose()
        }}
      >
        <TextField name="name" label="Name" maxLength={100} autoFocus isRequired />
        <RadioGroup name="role" label="Role" defaultValue="support" options={ROLES} />
      </Form>
    </Dialog>
  )
}

const COLUMNS: Column<Staff>[] = [
  {
    key: 'name',
    header: 'Name',
    isRowHeader: true,
    cell: ({ id, name }) => (
      <div className="review">
        {name}
        <p className="help">{id}</p>
      </div>
    ),
  },
  { key: 'role', header: 'Role', cell: ({ role }) => role },
  REVOCABLE_STATE,
  { key: 'used', header: 'Last used', cell: ({ last_used_at }) => <DateTime at={last_used_at} /> },
  {
    key: 'added',
    header: 'Added',
    cell: ({ created_at }) => <DateTime at={created_at} look="date" />,
  },
]

const revocation = (onRevoke: (member: Staff) => void): Column<Staff> => ({
  ...ACTIONS_COLUMN,
  cell: (member) =>
    member.revoked_at === null && (
      <Button
        size="small"
        aria-label={`Revoke the token of ${member.name}`}
        onPress={() => onRevoke(member)}
      >
        Revoke
      </Button>
    ),
})
