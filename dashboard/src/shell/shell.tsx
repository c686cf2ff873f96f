import { SERVICE } from '../base.ts'
import { PAGES } from '../pages.ts'
import { Button } from '../ui/button.tsx'
import { setClock, setTimeZone } from '../ui/format.ts'
import { Icon } from '../ui/icons.tsx'
import { List } from '../ui/list.tsx'
import { ErrorState, Loading } from '../ui/states.tsx'
import { CurrentPage, Frame } from './frame.tsx'
import { ImportBanner } from './import-banner.tsx'
import { usePreloaded } from './lazy-page.ts'
import { useMe } from './me.ts'
import { sandboxNotice } from './sandbox-notice.ts'

const search = () => import('../search/search.tsx')

/** The dashboard of the member who is signed in. */
export function Shell() {
  const { data: me, dataUpdatedAt, error, refetch } = useMe()
  usePreloaded(PAGES)
  if (me) {
    setTimeZone(me.account.time_zone)
    setClock(me.now, dataUpdatedAt)
  }
  return (
    <Frame
      label="Dashboard"
      pages={PAGES}
      sandboxNotice={me && sandboxNotice(me)}
      search={search}
      banner={me && <ImportBanner account={me.account} />}
      content={
        me ? (
          <CurrentPage pages={PAGES} />
        ) : error ? (
          <ErrorState error={error} onRetry={() => refetch()} />
        ) : (
          <Loading />
        )
      }
    >
      {me && (
        <>
          <p className="shop" title={me.account.shop_name}>
            {me.account.shop_name}
          </p>
          <p className="help">{me.email}</p>
          <List>
            {me.shop_url !== null && (
              <li>
                <a href={me.shop_url}>
                  <Icon name="external" />
                  View your shop
                </a>
              </li>
            )}
            <li>
              <form method="post" action={`${SERVICE}signout`}>
                <input type="hidden" name="member" value={me.id} />
                <Button type="submit" look="quiet" icon="signOut">
                  Sign out
                </Button>
              </form>
            </li>
          </List>
        </>
      )}
    </Frame>
  )
}
