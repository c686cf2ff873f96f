import { type ReactNode, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { useIsConnected } from '../connection.ts'
import { PAGES } from '../pages.ts'
import { setClock, setTimeZone } from '../ui/format.ts'
import { Icon } from '../ui/icons.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { ErrorState, Loading } from '../ui/states.tsx'
import { Toasts } from '../ui/toast.tsx'
import { useMe } from './me.ts'
import { Navigation } from './navigation.tsx'
import { PageErrors } from './page-errors.tsx'

/** The frame of all pages: navigation, banners, and the page at the current address. */
export function Shell() {
  const me = useMe()
  if (me.data) {
    setTimeZone(me.data.account.time_zone)
    setClock(me.data.now, me.dataUpdatedAt)
  }
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Navigation me={me.data} />
      <div className="content">
        <Banners isSandbox={me.data?.sandbox ?? false} />
        <main id="main" tabIndex={-1}>
          {me.data ? (
            <PageErrors>
              <Suspense fallback={<Loading />}>
                <Switch>
                  {PAGES.map(({ path, Page }) => (
                    <Route key={path} path={path === '/' ? '/' : `${path}/*?`}>
                      <Page />
                    </Route>
                  ))}
                  <Route>
                    <PageHeader title="There is no such page">
                      The address may be old or mistyped.
                    </PageHeader>
                  </Route>
                </Switch>
              </Suspense>
            </PageErrors>
          ) : me.error ? (
            <ErrorState error={me.error} onRetry={() => me.refetch()} />
          ) : (
            <Loading />
          )}
        </main>
      </div>
      <Toasts />
    </div>
  )
}

function Banners({ isSandbox }: { isSandbox: boolean }) {
  const isConnected = useIsConnected()
  return (
    <section aria-label="Messages of the service">
      {isSandbox && (
        <Banner>
          <strong>Sandbox.</strong> Everything here is test data: no money moves and no parcel
          ships.
        </Banner>
      )}
      <div role="status">
        {!isConnected && (
          <Banner tone="warn">
            <strong>The connection to the service is lost.</strong> Trying again. Nothing that you
            have typed is lost.
          </Banner>
        )}
      </div>
    </section>
  )
}

const Banner = ({ tone = 'neutral', children }: { tone?: string; children: ReactNode }) => (
  <div className={`banner ${tone}`}>
    <Icon name={tone === 'warn' ? 'warning' : 'info'} />
    <p>{children}</p>
  </div>
)
