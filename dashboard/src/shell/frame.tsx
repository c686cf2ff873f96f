import { type ReactNode, useEffect } from 'react'
import { Route, Switch } from 'wouter'
import { useIsConnected } from '../connection.ts'
import { useSession } from '../session.ts'
import { Button, SignInLink } from '../ui/button.tsx'
import { keepHeight } from '../ui/keep-height.ts'
import { NoSuchPage } from '../ui/page-header.tsx'
import { Toasts } from '../ui/toast.tsx'
import { Banner } from './banner.tsx'
import { keepFocus } from './keep-focus.ts'
import type { Page } from './lazy-page.ts'
import { Navigation, type NavigationProps } from './navigation.tsx'
import { PageErrors } from './page-errors.tsx'
import { SearchButton, type SearchDialog } from './search-button.tsx'

type FrameProps = Omit<NavigationProps, 'search'> & {
  /** The dialog behind ⌘K. */
  search: SearchDialog
  /** The notice of a sandbox; undefined outside it. */
  sandboxNotice?: string | undefined
  /** A message that stays while it applies, below those about the connection and the session. */
  banner?: ReactNode
  /** The page, or what stands in its place. */
  content: ReactNode
}

const keepStatusHeight = keepHeight('--status-height')

/** The frame of all pages: navigation, banners, messages. */
export function Frame({ sandboxNotice, banner, content, search, ...navigation }: FrameProps) {
  useEffect(keepFocus, [])
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Navigation {...navigation} search={<SearchButton load={search} />} />
      <div className="content">
        <Banners sandboxNotice={sandboxNotice} banner={banner} />
        <main id="main" tabIndex={-1}>
          {content}
        </main>
      </div>
      <Toasts />
    </div>
  )
}

/** The page at the current address. */
export const CurrentPage = ({ pages }: { pages: readonly Page[] }) => (
  <PageErrors>
    <Switch>
      {pages.map(({ path, below, Page }) => (
        <Route key={path} path={path === '/' ? '/' : `${path}/*?`}>
          {({ '*': rest = '' }: { '*'?: string }) =>
            rest === '' || below?.test(rest.replace(/\/$/, '')) ? <Page /> : <NoSuchPage />
          }
        </Route>
      ))}
      <Route component={NoSuchPage} />
    </Switch>
  </PageErrors>
)

function Banners({ sandboxNotice, banner }: Pick<FrameProps, 'sandboxNotice' | 'banner'>) {
  const isConnected = useIsConnected()
  const session = useSession()
  return (
    <section className="messages" aria-label="Messages of the service">
      {sandboxNotice !== undefined && (
        <Banner>
          <strong>Sandbox.</strong> {sandboxNotice}
        </Banner>
      )}
      <div role="status" ref={keepStatusHeight}>
        {!isConnected && (
          <Banner tone="warn">
            <strong>The connection to the service is lost.</strong> Trying again. Nothing that you
            have typed is lost.
          </Banner>
        )}
        {session === 'ended' && (
          <Banner tone="warn">
            <strong>Your session has ended.</strong> Nothing that you have typed is lost.{' '}
            <SignInLink />
          </Banner>
        )}
        {session === 'of another member' && (
          <Banner tone="warn">
            <strong>You have signed in as another member in another tab.</strong> This page belongs
            to the former member and can’t change anything.{' '}
            <Button size="small" onPress={() => window.location.reload()}>
              Reload the page
            </Button>
          </Banner>
        )}
        {banner}
      </div>
    </section>
  )
}
