import { Redirect, useLocation } from 'wouter'
import { CurrentPage, Frame } from '../shell/frame.tsx'
import { usePreloaded } from '../shell/lazy-page.ts'
import { Button } from '../ui/button.tsx'
import { List } from '../ui/list.tsx'
import { Empty, ErrorState, Loading } from '../ui/states.tsx'
import { useCaller } from './api.ts'
import { PAGES } from './pages.ts'
import { session, useIsSignedIn } from './session.ts'
import { SignIn } from './sign-in.tsx'

const search = () => import('./search.tsx')

/** The console of the marketplace's staff. */
export const Console = () => (useIsSignedIn() ? <SignedIn /> : <SignIn />)

function SignedIn() {
  const { data: caller, error, refetch } = useCaller()
  usePreloaded(PAGES)
  const pages = PAGES.filter(({ operation }) => caller?.operations.includes(operation))
  const [path] = useLocation()
  return (
    <Frame
      label="Console"
      pages={pages}
      search={search}
      content={
        caller ? (
          path !== '/' ? (
            <CurrentPage pages={pages} />
          ) : pages[0] ? (
            <Redirect to={pages[0].path} replace />
          ) : (
            <Empty title="Your role has no pages here" />
          )
        ) : error ? (
          <ErrorState error={error} onRetry={() => refetch()} />
        ) : (
          <Loading />
        )
      }
    >
      <p className="shop">{caller?.name}</p>
      <p className="help">{caller?.role}</p>
      <List>
        <li>
          <Button look="quiet" icon="signOut" onPress={session.end}>
            Sign out
          </Button>
        </li>
      </List>
    </Frame>
  )
}
