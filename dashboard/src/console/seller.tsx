import { ButtonLink } from '../ui/button.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Facts, Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { DateTime } from '../ui/values.tsx'
import { type Account, useMay, useRecord } from './api.ts'
import { PAGES } from './pages.ts'

/** An account, with links to its orders, listings and deliveries. */
export function SellerPage({ id }: { id: string }) {
  const may = useMay()
  const query = useRecord<Account>(`accounts/${encodeURIComponent(id)}`)
  const others = PAGES.filter(({ path, operation }) => LINKED.includes(path) && may(operation))
  return (
    <>
      <PageHeader
        title={query.data?.shop_name ?? `Seller ${id}`}
        back={{ href: '/sellers', label: 'Sellers' }}
        actions={others.map(({ path, title, icon }) => (
          <ButtonLink key={path} href={`${path}?account_id=${id}`} icon={icon}>
            {title}
          </ButtonLink>
        ))}
      >
        Seller {id}
      </PageHeader>
      <Loaded query={query}>
        {(account) => (
          <Section title="Account">
            <Facts
              facts={[
                { label: 'E-mail', value: account.email },
                { label: 'Address of the shop', value: account.slug },
                { label: 'Business', value: account.business ? 'yes' : 'no' },
                { label: 'Tier', value: account.seller_tier },
                {
                  label: 'Payout setup',
                  value: account.payout_verified ? 'verified' : 'not verified',
                },
                { label: 'API access', value: account.api_access },
                {
                  label: 'Shipping options',
                  value: account.shipping_options.map(({ name }) => name).join(', ') || 'none',
                },
                { label: 'Since', value: <DateTime at={account.created_at} /> },
              ]}
            />
          </Section>
        )}
      </Loaded>
    </>
  )
}

const LINKED = ['/orders', '/listings', '/deliveries']
