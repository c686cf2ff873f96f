import { useState } from 'react'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { ACTIONS_COLUMN, Table } from '../ui/table.tsx'
import { notify } from '../ui/toast.tsx'
import { DateTime, Missing } from '../ui/values.tsx'
import { endOtherSessions, endSession, useSessions } from './api.ts'
import { browserOf } from './browser.ts'
import { EndButton } from './end-button.tsx'

export function SessionList() {
  const sessions = useSessions()
  const [isAsked, setIsAsked] = useState(false)
  const hasOthers = (sessions.data?.length ?? 0) > 1
  return (
    <Section
      title="Where you are signed in"
      help="A session ends after 30 days. If you don’t know one of them, end it and change your password."
      actions={
        hasOthers && <Button onPress={() => setIsAsked(true)}>End all other sessions</Button>
      }
    >
      <Loaded query={sessions} lines={3}>
        {(all) => (
          <Table
            label="Sessions"
            rows={all}
            columns={[
              {
                key: 'browser',
                header: 'Browser',
                isRowHeader: true,
                cell: (session) => (
                  <span title={session.user_agent ?? undefined}>
                    {browserOf(session.user_agent)}{' '}
                    {session.current && <Badge tone="good">This browser</Badge>}
                  </span>
                ),
              },
              { key: 'address', header: 'Address', cell: ({ address }) => address ?? <Missing /> },
              {
                key: 'last_used_at',
                header: 'Last used',
                cell: (session) => <DateTime at={session.last_used_at} look="relative" />,
              },
              {
                key: 'created_at',
                header: 'Signed in',
                cell: (session) => <DateTime at={session.created_at} />,
              },
              {
                ...ACTIONS_COLUMN,
                cell: (session) =>
                  !session.current && (
                    <EndButton
                      label={`End the session of ${browserOf(session.user_agent)}`}
                      onEnd={() => endSession(session)}
                    />
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      {isAsked && (
        <ConfirmDialog
          title="End all other sessions?"
          confirm="End sessions"
          onConfirm={async () => {
            await endOtherSessions()
            notify('All other sessions have ended.')
          }}
          onClose={() => setIsAsked(false)}
        >
          <p>You stay signed in here. All other browsers have to sign in again.</p>
        </ConfirmDialog>
      )}
    </Section>
  )
}
