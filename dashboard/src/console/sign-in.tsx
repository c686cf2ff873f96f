import { TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Toasts } from '../ui/toast.tsx'
import { session } from './session.ts'

/** Asks for the token, at whatever address: the page at this address follows. */
export const SignIn = () => (
  <main className="console-sign-in">
    <PageHeader title="Console">For the staff of this marketplace.</PageHeader>
    <Form
      label="Sign in"
      submit="Sign in"
      onSubmit={async (data) => {
        await session.begin(String(data.get('token')).trim())
      }}
    >
      <TextField
        name="token"
        type="password"
        label="Staff token"
        help="An admin gives it to you. Sign out before others use this computer: a browser can reopen a closed tab."
        autoComplete="off"
        isMonospaced
      />
    </Form>
    {/* Such as the refusal of a write whose token was revoked. */}
    <Toasts />
  </main>
)
