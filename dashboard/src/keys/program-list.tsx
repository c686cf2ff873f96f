import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/dialog.tsx'
import { Section } from '../ui/section.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { ACTIONS_COLUMN, Table } from '../ui/table.tsx'
import { notify } from '../ui/toast.tsx'
import { DateTime } from '../ui/values.tsx'
import { endProgram, endPrograms, usePrograms } from './api.ts'
import { EndButton } from './end-button.tsx'
import { labelOf } from './scopes.ts'

/** The programs that act for the shop after somebody allowed them in a browser. */
export function ProgramList() {
  const programs = usePrograms()
  const [isAsked, setIsAsked] = useState(false)
  const hasSome = (programs.data?.length ?? 0) > 0
  return (
    <Section
      title="Connected programs"
      help="Assistants and other programs that people of your shop have allowed."
      actions={hasSome && <Button onPress={() => setIsAsked(true)}>End all</Button>}
    >
      <Loaded query={programs} lines={3}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No connected programs" icon="keys">
              <p>A program asks you when it wants to act for your shop.</p>
            </Empty>
          ) : (
            <Table
              label="Connected programs"
              rows={all}
              columns={[
                {
                  key: 'name',
                  header: 'Program',
                  isRowHeader: true,
                  cell: ({ name, host }) => (
                    <div className="key-name">
                      <span>{name}</span>
                      <code>{host ?? 'A terminal'}</code>
                    </div>
                  ),
                },
                {
                  key: 'scopes',
                  header: 'May',
                  cell: ({ scopes }) => (
                    <span className="scopes">{scopes.map(labelOf).join(', ')}</span>
                  ),
                },
                {
                  key: 'created_at',
                  header: 'Since',
                  cell: (program) => <DateTime at={program.created_at} look="date" />,
                },
                {
                  key: 'last_used_at',
                  header: 'Last used',
                  cell: ({ last_used_at: at }) =>
                    at ? <DateTime at={at} look="relative" /> : 'Never',
                },
                {
                  ...ACTIONS_COLUMN,
                  cell: (program) => (
                    <EndButton
                      label={`End the access of ${program.name}`}
                      onEnd={() => endProgram(program)}
                    />
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {isAsked && (
        <ConfirmDialog
          title="End the access of all programs?"
          confirm="End access"
          onConfirm={async () => {
            await endPrograms()
            notify('No program is connected any more.')
          }}
          onClose={() => setIsAsked(false)}
        >
          <p>They are refused at once. Each asks you again when you use it. Keys keep working.</p>
        </ConfirmDialog>
      )}
    </Section>
  )
}
