import { Route, Switch, useLocation } from 'wouter'
import { useMe } from '../shell/me.ts'
import { ButtonLink } from '../ui/button.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { SecretDialog, useSecret } from '../ui/secret.tsx'
import { createKey } from './api.ts'
import { KeyList } from './key-list.tsx'
import { NewKeyDialog } from './new-key.tsx'
import { ProgramList } from './program-list.tsx'
import { SessionList } from './session-list.tsx'
import './keys.css'

export default function KeysPage() {
  const [, navigate] = useLocation()
  const [secret, setSecret] = useSecret<string>()
  return (
    <>
      <PageHeader
        title="Keys"
        tabs={[
          { href: '/keys', label: 'API keys' },
          { href: '/keys/programs', label: 'Connected programs' },
          { href: '/keys/sessions', label: 'Sessions' },
        ]}
        actions={
          <ButtonLink href="/keys/new" look="primary" icon="plus">
            Create a key
          </ButtonLink>
        }
      >
        Programs use keys to act for your shop. People sign in with a password.
      </PageHeader>
      <Access />
      <Switch>
        <Route path="/keys/programs" component={ProgramList} />
        <Route path="/keys/sessions" component={SessionList} />
        <Route component={KeyList} />
      </Switch>
      <Route path="/keys/new">
        <NewKeyDialog
          create={createKey}
          onCreated={(created) => {
            setSecret(created)
            // Back may have closed the dialog meanwhile.
            if (window.location.pathname.endsWith('/keys/new')) navigate('/keys', { replace: true })
          }}
          onClose={() => navigate('/keys', { replace: true })}
        />
      </Route>
      {secret !== undefined && (
        <SecretDialog
          title="The key is created"
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}

/** Keys exist without API access, but every program is refused. */
function Access() {
  const access = useMe().data?.account.api_access
  if (access === undefined || access === 'enabled') return null
  return (
    <div className="notice warn">
      <p>
        {access === 'suspended'
          ? 'API access of your shop is suspended: programs with your keys are refused. Ask the marketplace for the reason.'
          : 'API access of your shop is not enabled yet: programs with your keys are refused. Ask the marketplace to enable it.'}
      </p>
    </div>
  )
}
