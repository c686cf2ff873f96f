import { useState } from 'react'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import type { IconName } from '../../ui/icons.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Facts, Section } from '../../ui/section.tsx'
import { Loaded } from '../../ui/states.tsx'
import { notify } from '../../ui/toast.tsx'
import { DateTime } from '../../ui/values.tsx'
import { type Account, send, useMay, useRecord } from '../api.ts'
import { ApiAccess } from '../statuses.tsx'
import { ApiAccessActions } from './api-access.tsx'
import { Endpoints } from './endpoints.tsx'
import { Keys } from './keys.tsx'
import { Members } from './members.tsx'

/** Lists that have a filter by seller, with the operations that they begin with. */
const LISTS: { path: string; title: string; icon: IconName; operation: string }[] = [
  { path: '/orders?account_id=', title: 'Orders', icon: 'orders', operation: 'listAllOrders' },
  {
    path: '/orders/disputes?account_id=',
    title: 'Disputes',
    icon: 'warning',
    operation: 'listDisputes',
  },
  {
    path: '/listings?account_id=',
    title: 'Listings',
    icon: 'listings',
    operation: 'listAllListings',
  },
  { path: '/payouts?account_id=', title: 'Payouts', icon: 'payouts', operation: 'listPayouts' },
  {
    path: '/payouts/ledger?account_id=',
    title: 'Ledger',
    icon: 'payouts',
    operation: 'listLedger',
  },
  { path: '/reviews?account_id=', title: 'Reviews', icon: 'star', operation: 'listReviews' },
  {
    path: '/deliveries?account_id=',
    title: 'Deliveries',
    icon: 'webhooks',
    operation: 'listDeliveries',
  },
  { path: '/audit?record=account:', title: 'Changes', icon: 'log', operation: 'listAudit' },
]

/** An account with its members, keys and endpoints, and links to the rest of it. */
export function SellerPage({ id }: { id: string }) {
  const may = useMay()
  const query = useRecord<Account>(`accounts/${encodeURIComponent(id)}`)
  return (
    <>
      <PageHeader
        title={query.data?.shop_name ?? `Seller ${id}`}
        back={{ href: '/sellers', label: 'Sellers' }}
      >
        Seller {id}
      </PageHeader>
      <Loaded query={query}>
        {(account) => (
          <>
            <nav className="page-actions" aria-label="Lists of this seller">
              {LISTS.filter(({ operation }) => may(operation)).map(({ path, title, icon }) => (
                <ButtonLink key={path} href={`${path}${account.id}`} icon={icon}>
                  {title}
                </ButtonLink>
              ))}
            </nav>
            <AccountSection account={account} />
            {/* At most 16, in front of the hundreds of members and keys that a shop can have. */}
            {may('listEndpoints') && <Endpoints accountId={account.id} />}
            {may('listMembers') && <Members account={account} />}
            {may('listKeys') && <Keys accountId={account.id} />}
          </>
        )}
      </Loaded>
    </>
  )
}

function AccountSection({ account }: { account: Account }) {
  const [isClosing, setIsClosing] = useState(false)
  const isAllowed = useMay()('closeAccount')
  return (
    <Section
      title="Account"
      actions={
        <>
          <ApiAccessActions account={account} />
          {isAllowed && account.closed_at === null && (
            <Button look="danger" size="small" onPress={() => setIsClosing(true)}>
              Close account
            </Button>
          )}
        </>
      }
    >
      <Facts
        facts={[
          { label: 'E-mail', value: account.email },
          { label: 'Address of the shop', value: account.slug },
          { label: 'Business', value: account.business ? 'yes' : 'no' },
          { label: 'Tier', value: account.seller_tier },
          { label: 'Payout setup', value: account.payout_verified ? 'verified' : 'not verified' },
          { label: 'API access', value: <ApiAccess {...account} /> },
          {
            label: 'Shipping options',
            value: account.shipping_options.map(({ name }) => name).join(', ') || 'none',
          },
          { label: 'Since', value: <DateTime at={account.created_at} /> },
          ...(account.closed_at
            ? [{ label: 'Closed', value: <DateTime at={account.closed_at} /> }]
            : []),
        ]}
      />
      {isClosing && (
        <ConfirmDialog
          title={`Close the account of ${account.shop_name}`}
          confirm="Close account"
          onConfirm={async () => {
            await send(`accounts/${account.id}/close`)
            notify(`The account of ${account.shop_name} is closed.`)
          }}
          onClose={() => setIsClosing(false)}
        >
          <p>
            All listings are removed, all keys revoked and all webhook endpoints deleted, and no
            member can sign in. Orders, payouts and the ledger stay. The account opens again when
            its API access is enabled or a member is invited, but without all that was removed. It
            can’t be closed while orders are open or money is due.
          </p>
        </ConfirmDialog>
      )}
    </Section>
  )
}
