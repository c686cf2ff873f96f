import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Form } from '../../ui/form.tsx'
import { Section } from '../../ui/section.tsx'
import { Loaded } from '../../ui/states.tsx'
import { ACTIONS_COLUMN, type Column, Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { DateTime } from '../../ui/values.tsx'
import { type Account, type Member, send, sendDelete, useMay, useRecord } from '../api.ts'
import { StatusBadge } from '../statuses.tsx'

/** The people who sign in to the account's dashboard. */
export function Members({ account }: { account: Account }) {
  const { id: accountId, email } = account
  const query = useRecord<Member[]>(`accounts/${accountId}/members`)
  const [isInviting, setIsInviting] = useState(false)
  const [removed, setRemoved] = useState<Member>()
  const may = useMay()
  return (
    <Section
      title="Members"
      actions={
        may('inviteMember') && (
          <Button size="small" icon="plus" onPress={() => setIsInviting(true)}>
            Invite a member
          </Button>
        )
      }
    >
      <Loaded query={query} lines={2}>
        {(members) =>
          members.length === 0 ? (
            <p className="help">None: nobody can sign in to the dashboard of this shop.</p>
          ) : (
            <Table
              label="Members"
              columns={may('removeMember') ? [...COLUMNS, removal(setRemoved)] : COLUMNS}
              rows={members}
            />
          )
        }
      </Loaded>
      {isInviting && <InviteDialog accountId={accountId} onClose={() => setIsInviting(false)} />}
      {removed && (
        <ConfirmDialog
          title={`Remove ${removed.email}`}
          confirm="Remove member"
          onConfirm={async () => {
            await sendDelete(`accounts/${accountId}/members/${removed.id}`)
            notify(`${removed.email} was removed.`)
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>
            The person is signed out at once and can’t sign in again. An invitation is withdrawn.
          </p>
          <p>
            The shop’s API keys and webhook endpoints still work. Revoke the keys that the person
            may know, and delete the endpoints that aren’t the shop’s.
          </p>
          {removed.email.toLowerCase() === email.toLowerCase() && (
            <p>
              The shop’s e-mail, with buyers’ names and the link that confirms a bank account, still
              goes to {email}. Give the account another address with the operator API.
            </p>
          )}
        </ConfirmDialog>
      )}
    </Section>
  )
}

const InviteDialog = ({ accountId, onClose }: { accountId: number; onClose: () => void }) => (
  <Dialog title="Invite a member" onClose={onClose}>
    <Form
      label="Invite a member"
      submit="Send invitation"
      cancel="Cancel"
      onSubmit={async (data) => {
        const email = String(data.get('email')).trim()
        await send(`accounts/${accountId}/invitations`, { email })
        notify(`The invitation to ${email} is on its way.`)
        onClose()
      }}
    >
      <TextField
        name="email"
        inputMode="email"
        label="E-mail"
        autoFocus
        isRequired
        help="The link in the e-mail works once, within 7 days. Another invitation replaces it."
      />
    </Form>
  </Dialog>
)

const COLUMNS: Column<Member>[] = [
  { key: 'email', header: 'E-mail', isRowHeader: true, cell: ({ email }) => email },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'since',
    header: 'Since',
    cell: ({ created_at }) => <DateTime at={created_at} look="date" />,
  },
]

const removal = (onRemove: (member: Member) => void): Column<Member> => ({
  ...ACTIONS_COLUMN,
  cell: (member) => (
    <Button size="small" aria-label={`Remove ${member.email}`} onPress={() => onRemove(member)}>
      Remove
    </Button>
  ),
})
