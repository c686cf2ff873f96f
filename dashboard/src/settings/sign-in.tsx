import { useState } from 'react'
import type { PASSWORD_LENGTH } from '../../../server/members/password.ts'
import { TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Section } from '../ui/section.tsx'
import { notify } from '../ui/toast.tsx'
import { changePassword, requestEmailChange } from './api.ts'

const MIN_PASSWORD: (typeof PASSWORD_LENGTH)['min'] = 12

export const SignInTab = ({ email }: { email: string }) => (
  <>
    <EmailSection email={email} />
    <PasswordSection email={email} />
  </>
)

function EmailSection({ email }: { email: string }) {
  const [sentTo, setSentTo] = useState<string>()
  return (
    <Section title="E-mail" help={`You sign in with ${email}.`}>
      {sentTo !== undefined && (
        <div className="notice">
          <p>
            We have sent a link to <strong>{sentTo}</strong>. The address changes when you open it
            and confirm, within an hour.
          </p>
        </div>
      )}
      <Form
        key={sentTo}
        label="E-mail"
        submit="Send a link"
        look="secondary"
        onSubmit={async (data) => {
          const change = {
            email: String(data.get('email')).trim(),
            password: text(data, 'password'),
          }
          await requestEmailChange(change)
          setSentTo(change.email)
        }}
      >
        <TextField label="New e-mail address" name="email" inputMode="email" autoComplete="email" />
        <TextField
          label="Your password"
          name="password"
          type="password"
          autoComplete="current-password"
        />
      </Form>
    </Section>
  )
}

function PasswordSection({ email }: { email: string }) {
  const [changes, setChanges] = useState(0)
  return (
    <Section title="Password" help="A new password signs out all other browsers.">
      <Form
        // Empty again after each change.
        key={changes}
        label="Password"
        submit="Change the password"
        look="secondary"
        onSubmit={async (data) => {
          await changePassword({
            password: text(data, 'password'),
            new_password: text(data, 'new_password'),
          })
          setChanges(changes + 1)
          notify('The password was changed.')
        }}
      >
        <input type="hidden" autoComplete="username" value={email} />
        <TextField
          label="Current password"
          name="password"
          type="password"
          autoComplete="current-password"
        />
        <TextField
          label="New password"
          name="new_password"
          type="password"
          autoComplete="new-password"
          help={`At least ${MIN_PASSWORD} characters.`}
        />
      </Form>
    </Section>
  )
}

const text = (data: FormData, name: string) => String(data.get(name) ?? '')
