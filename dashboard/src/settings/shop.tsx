import { useState } from 'react'
import type { Me } from '../../../server/http/dashboard/me.ts'
import { changesIn } from '../changes.ts'
import { useMe } from '../shell/me.ts'
import { Button, ExternalLink } from '../ui/button.tsx'
import { unlessDoubleClick } from '../ui/double-click.ts'
import { Select, TextField } from '../ui/fields.tsx'
import { Form } from '../ui/form.tsx'
import { Facts, Section } from '../ui/section.tsx'
import { Loaded } from '../ui/states.tsx'
import { notify } from '../ui/toast.tsx'
import { useAction } from '../ui/use-action.ts'
import { changeShop, setHoliday } from './api.ts'

/** Begins with the shop as it is now, because a form doesn't follow a later read. */
export function ShopTab() {
  const [openedAt] = useState(Date.now)
  const { data, error, refetch, dataUpdatedAt } = useMe(0)
  return (
    <Loaded query={{ data: dataUpdatedAt >= openedAt ? data : undefined, error, refetch }}>
      {(me) => <Shop me={me} />}
    </Loaded>
  )
}

function Shop({ me: { account, shop_url: shopUrl } }: { me: Me }) {
  const { shop_name, time_zone } = account
  // The values that the fields began with, or were saved with: the account may be read again while the form is open.
  const [shown, setShown] = useState({ shop_name, time_zone })
  return (
    <>
      <Section title="Your shop">
        <Form
          label="Your shop"
          submit="Save shop"
          onSubmit={async (data) => {
            const entered = {
              shop_name: String(data.get('shop_name')).trim(),
              time_zone: String(data.get('time_zone')),
            }
            await changeShop(changesIn(shown, entered))
            setShown(entered)
            notify('The shop was saved.')
          }}
        >
          <TextField
            label="Name"
            name="shop_name"
            defaultValue={account.shop_name}
            maxLength={100}
            help="Buyers see it. The address of your shop’s page stays the same."
          />
          <Select
            label="Time zone"
            name="time_zone"
            defaultValue={account.time_zone}
            options={timeZones(account.time_zone)}
            help="Dates in the dashboard and on packing slips, and the days of your figures. Their months are in UTC."
          />
        </Form>
      </Section>
      <Holiday isOn={account.on_holiday} />
      <Section title="Known to the marketplace" help="Ask the marketplace to change these.">
        <Facts
          facts={[
            ...(shopUrl === null
              ? []
              : [
                  {
                    label: 'Page',
                    value: <ExternalLink href={shopUrl}>{account.slug}</ExternalLink>,
                  },
                ]),
            { label: 'E-mail of the shop', value: account.email },
            { label: 'Business', value: account.business ? 'Yes' : 'No, private' },
            { label: 'Tier', value: account.seller_tier },
          ]}
        />
      </Section>
    </>
  )
}

function Holiday({ isOn }: { isOn: boolean }) {
  const change = useAction(async () => {
    await setHoliday(!isOn)
    notify(isOn ? 'Your shop is open again.' : 'Your shop is on holiday.')
  })
  return (
    <Section
      title="Holiday"
      help="On holiday, buyers see neither your shop nor its offers, and cannot order. Your listings and open orders stay as they are."
    >
      <p>{isOn ? 'Your shop is on holiday.' : 'Your shop is open.'}</p>
      <div className="form-actions">
        <Button {...change} onPress={unlessDoubleClick(change.onPress)}>
          {isOn ? 'End the holiday' : 'Begin a holiday'}
        </Button>
      </div>
    </Section>
  )
}

function timeZones(current: string) {
  const zones = new Set(['UTC', current, ...Intl.supportedValuesOf('timeZone')])
  return [...zones].sort().map((value) => ({ value, label: value.replaceAll('_', ' ') }))
}
