import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { notify } from '../../ui/toast.tsx'
import { type Account, sendPatch, useMay } from '../api.ts'
import { useSeen } from '../use-seen.ts'

type Asked = 'suspended' | 'enabled'

/** The buttons that suspend an account, and that enable its API access. */
export function ApiAccessActions({ account }: { account: Account }) {
  const [asked, setAsked] = useState<Asked>()
  if (!useMay()('changeAccount')) return null
  const { api_access: access } = account
  return (
    <>
      {access !== 'enabled' && (
        <Button size="small" onPress={() => setAsked('enabled')}>
          {enablingOf(account)}
        </Button>
      )}
      {access !== 'suspended' && (
        <Button look="danger" size="small" onPress={() => setAsked('suspended')}>
          Suspend account
        </Button>
      )}
      {asked && (
        <AccessDialog asked={asked} current={account} onClose={() => setAsked(undefined)} />
      )}
    </>
  )
}

const enablingOf = ({ api_access: access }: Account) =>
  access === 'suspended' ? 'Reactivate account' : 'Enable API access'

function AccessDialog({
  asked,
  current,
  onClose,
}: {
  asked: Asked
  current: Account
  onClose: () => void
}) {
  const [account, attempt] = useSeen(current)
  const { id, shop_name: shop, api_access: access, closed_at } = account
  const change = () =>
    attempt(async () => {
      await sendPatch(`accounts/${id}`, { api_access: asked, closed_at })
      notify(`The API access of ${shop} is ${asked}.`)
    })
  if (asked === 'suspended') {
    return (
      <ConfirmDialog
        title={`Suspend the account of ${shop}`}
        confirm="Suspend account"
        onConfirm={change}
        onClose={onClose}
      >
        <p>
          Buyers no longer see the shop, its offers and its reviews, and nobody can reserve or order
          anything from it. The checkout of a cart that has reserved units is refused too.
        </p>
        <p>
          The shop’s API keys and connected programs are refused until the account is reactivated.
          Members can still sign in, ship their open orders and answer disputes. Webhook endpoints
          still get events with buyers’ names and addresses.
        </p>
        <p>
          Payouts go on: reject the payout setup to hold them. The seller gets an e-mail without the
          reason, and the dashboard says that the shop is suspended.
        </p>
      </ConfirmDialog>
    )
  }
  return (
    <ConfirmDialog
      title={`${access === 'suspended' ? 'Reactivate the account' : 'Enable the API access'} of ${shop}`}
      confirm={enablingOf(account)}
      isDangerous={false}
      onConfirm={change}
      onClose={onClose}
    >
      {closed_at !== null && (
        <p>
          The account is closed. This opens it again, without the listings, keys, webhook endpoints
          and members that the closing removed.
        </p>
      )}
      <p>
        {access === 'suspended' &&
          'Unless the shop is on holiday, buyers see it again and can order. '}
        The shop’s API keys that aren’t revoked and its connected programs work from their next
        request.
      </p>
    </ConfirmDialog>
  )
}
