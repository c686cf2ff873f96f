import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { isRefusal } from '../client.ts'
import { readAgain } from '../query-client.ts'
import { useMe } from '../shell/me.ts'
import { Badge, type Tone } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { formatDateTime } from '../ui/format.ts'
import { Facts, Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { notify } from '../ui/toast.tsx'
import { DateTime } from '../ui/values.tsx'
import { confirmSetup, type PayoutSetupRecord, readSetup, submitSetup } from './api.ts'
import { lacksBankAccount } from './setup-notice.tsx'

const STATES: Record<PayoutSetupRecord['state'] | 'unconfirmed', { label: string; tone: Tone }> = {
  unconfirmed: { label: 'Not confirmed', tone: 'warn' },
  missing: { label: 'Missing', tone: 'warn' },
  submitted: { label: 'Being checked', tone: 'busy' },
  verified: { label: 'Verified', tone: 'good' },
  rejected: { label: 'Rejected', tone: 'bad' },
}

/** Shows the new setup everywhere: the account's `payout_verified` follows it. */
async function readSetupAgain(): Promise<void> {
  await readAgain(['payouts'])
  await readAgain(['me'])
}

export function SetupTab() {
  const query = useQuery({ queryKey: ['payouts', 'setup'], queryFn: readSetup })
  const [search] = useSearchParams()
  const token = search.get('confirm')
  return (
    <Loaded query={query}>
      {({ data }) => (
        <>
          {token !== null && <Confirmation token={token} setup={data} />}
          <Setup setup={data} />
        </>
      )}
    </Loaded>
  )
}

/** The link of the e-mail leads here. It changes nothing by itself, because mail programs open links as well. */
function Confirmation({ token, setup }: { token: string; setup: PayoutSetupRecord }) {
  const [, navigate] = useLocation()
  // The form stays until its own confirmation has led to another page.
  const [isWaiting] = useState(setup.unconfirmed_until !== null)
  if (!isWaiting) {
    return (
      <div className="notice warn">
        <p>
          This link no longer works: it has been used, has expired, or belongs to another shop. If
          you have just used it, the bank account is confirmed.
        </p>
      </div>
    )
  }
  return (
    <Section title="Confirm your bank account" help="You have entered it within the last 24 hours.">
      <Form
        label="Confirm your bank account"
        submit="Confirm bank account"
        onSubmit={async () => {
          await confirmSetup(token)
          await readSetupAgain()
          notify('The bank account is confirmed.')
          return () => navigate('/payouts/setup', { replace: true })
        }}
      >
        {setup.unconfirmed && <Facts facts={factsOf(setup.unconfirmed)} />}
      </Form>
    </Section>
  )
}

type BankAccount = Pick<PayoutSetupRecord, 'holder' | 'country' | 'iban_last4'>

const ibanOf = ({ country, iban_last4: last }: BankAccount) => `${country} •••• ${last}`

const factsOf = (bankAccount: BankAccount) => [
  { label: 'Holder', value: bankAccount.holder },
  { label: 'IBAN', value: ibanOf(bankAccount) },
]

function Setup({ setup }: { setup: PayoutSetupRecord }) {
  const isKnown = setup.submitted_at !== null
  const isUnconfirmed = setup.unconfirmed_until !== null
  // Another submission would end the link of the one before.
  const isEntered = isKnown || isUnconfirmed
  // The form of the first account stays open, with its input, when another member enters one meanwhile.
  const [isChanging, setIsChanging] = useState(!isEntered)
  const me = useMe().data
  const isMissing = setup.state === 'missing' || lacksBankAccount(setup, me?.sandbox)
  const state = STATES[isMissing ? (isUnconfirmed ? 'unconfirmed' : 'missing') : setup.state]
  return (
    <>
      {setup.unconfirmed_until !== null && (
        <div className="notice warn">
          <p>
            We have sent an e-mail with a link to <strong>{me?.account.email}</strong>, the address
            of the shop. Confirm the bank account{' '}
            {/* A process of the former version, during an update, does not name it. */}
            {setup.unconfirmed && ibanOf(setup.unconfirmed)} before{' '}
            {formatDateTime(setup.unconfirmed_until)}.
          </p>
        </div>
      )}
      {setup.hold_until !== null && (
        <div className="notice warn">
          <p>
            The bank account was changed. Payouts are held until {formatDateTime(setup.hold_until)}.
          </p>
        </div>
      )}
      <Section
        title={isKnown && isUnconfirmed ? 'Current bank account' : 'Bank account'}
        help="You need a verified bank account to list, to ship and to be paid."
        actions={
          isEntered &&
          !isChanging && (
            <Button icon="edit" onPress={() => setIsChanging(true)}>
              Change
            </Button>
          )
        }
      >
        <Facts
          facts={[
            {
              label: 'State',
              value: <Badge tone={state.tone}>{state.label}</Badge>,
            },
            ...(setup.reason === null ? [] : [{ label: 'Reason', value: setup.reason }]),
            ...(isKnown
              ? [
                  ...factsOf(setup),
                  { label: 'Entered', value: <DateTime at={setup.submitted_at} look="date" /> },
                ]
              : []),
          ]}
        />
        {(!isEntered || isChanging) && (
          <SetupForm setup={setup} isChange={isKnown} onDone={() => setIsChanging(false)} />
        )}
      </Section>
    </>
  )
}

function SetupForm({
  setup,
  isChange,
  onDone,
}: {
  setup: PayoutSetupRecord
  isChange: boolean
  onDone: () => void
}) {
  const me = useMe().data
  const text = (data: FormData, name: string) => String(data.get(name) ?? '')
  return (
    <Form
      label="Bank account"
      onSubmit={async (data) => {
        await submitSetup({
          holder: text(data, 'holder'),
          iban: text(data, 'iban'),
          ...(isChange ? { password: text(data, 'password') } : {}),
        }).catch(async (error) => {
          // Another member may have entered the first account: the message belongs to a field that a read adds.
          if (isRefusal(error)) await readSetupAgain()
          throw error
        })
        await readSetupAgain()
        notify(
          me?.sandbox
            ? 'The bank account is verified.'
            : `We have sent an e-mail to ${me?.account.email}.`,
        )
        onDone()
      }}
      actions={(isSaving) => (
        <>
          <Button type="submit" look="primary" isPending={isSaving}>
            Save bank account
          </Button>
          {(isChange || setup.unconfirmed_until !== null) && (
            <Button onPress={onDone}>Cancel</Button>
          )}
        </>
      )}
    >
      <TextField
        label="Holder"
        name="holder"
        isRequired
        autoComplete="name"
        maxLength={100}
        defaultValue={setup.holder ?? ''}
      />
      <TextField
        label="IBAN"
        name="iban"
        isRequired
        isMonospaced
        autoComplete="off"
        maxLength={50}
        help="Stored encrypted. Only its last four characters are shown afterwards."
      />
      {isChange && (
        <TextField
          label="Password"
          name="password"
          type="password"
          isRequired
          autoComplete="current-password"
          help="Payouts are held for 48 hours after another IBAN."
        />
      )}
    </Form>
  )
}
