import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { notify } from '../../ui/toast.tsx'
import { type Account, sendPatch, useMay } from '../api.ts'

/** The buttons that suspend an account, and that enable its API access. */
export function ApiAccessActions({ account }: { account: Account }) {
  const [asked, setAsked] = useState<'suspended' | 'enabled'>()
  if (!useMay()('changeAccount')) return null
  const { id, shop_name: shop, api_access: access, closed_at: closedAt } = account
  const enabling = access === 'suspended' ? 'Reactivate account' : 'Enable API access'
  const close = () => setAsked(undefined)
  const change = async () => {
    await sendPatch(`accounts/${id}`, { api_access: asked })
    notify(`The API access of ${shop} is ${asked}.`)
  }
  return (
    <>
      {access !== 'enabled' && (
        <Button size="small" onPress={() => setAsked('enabled')}>
          {enabling}
        </Button>
      )}
      {access !== 'suspended' && (
        <Button look="danger" size="small" onPress={() => setAsked('suspended')}>
          Suspend account
        </Button>
      )}
      {asked === 'suspended' && (
        <ConfirmDialog
          title={`Suspend the account of ${shop}`}
          confirm="Suspend account"
          onConfirm={change}
          onClose={close}
        >
          <p>
            Buyers no longer see the shop, its offers and its reviews, and nobody can reserve or
            order anything from it. The checkout of a cart that has reserved units is refused too.
          </p>
          <p>
            The shop’s API keys and connected programs are refused until the account is reactivated.
            Members can still sign in, ship their open orders and answer disputes. Webhook endpoints
            still get events with buyers’ names and addresses.
          </p>
          <p>
            Payouts go on: reject the payout setup to hold them. The seller gets an e-mail without
            the reason, and the dashboard says that the shop is suspended.
          </p>
        </ConfirmDialog>
      )}
      {asked === 'enabled' && (
        <ConfirmDialog
          title={`${access === 'suspended' ? 'Reactivate the account' : 'Enable the API access'} of ${shop}`}
          confirm={enabling}
          isDangerous={false}
          onConfirm={change}
          onClose={close}
        >
          {closedAt !== null && (
            <p>
              The account is closed. This opens it again, without the listings, keys, webhook
              endpoints and members that the closing removed.
            </p>
          )}
          <p>
            {access === 'suspended' &&
              'Unless the shop is on holiday, buyers see it again and can order. '}
            The shop’s API keys that aren’t revoked and its connected programs work from their next
            request.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
