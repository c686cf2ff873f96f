import type { Me } from '../../../server/http/dashboard/me.ts'
import type { ShippingOptionsRecord, ShopChanges } from '../../../server/http/dashboard/settings.ts'
import type { Data } from '../api.ts'
import { get, isConflict, patch, put } from '../client.ts'
import { readAfter } from '../query-client.ts'

export type { ShippingOptionsRecord }
export type ShippingOptionRecord = ShippingOptionsRecord[number]

export const changeShop = (changes: ShopChanges) =>
  readAfter(patch('settings/shop', changes), ['me'])

/** Other members can change the options between the read and the save of an attempt. */
const MAX_ATTEMPTS = 5

/** Changes the current options: other members may have changed them since the page read them. */
export function changeShippingOptions(
  change: (current: ShippingOptionsRecord) => ShippingOptionsRecord,
) {
  const save = async (attempt = 1): Promise<void> => {
    const { account } = (await get<Data<Me>>('me', { isSave: true })).data
    const { shipping_options, shipping_options_version: version } = account
    const body = { shipping_options: change(shipping_options), version }
    await put('settings/shipping-options', body).catch((error) => {
      if (isConflict(error) && attempt < MAX_ATTEMPTS) return save(attempt + 1)
      throw error
    })
  }
  return readAfter(save(), ['me'])
}

export const setHoliday = (on: boolean) => readAfter(put('settings/holiday', { on }), ['me'])

export const changePassword = (passwords: { password: string; new_password: string }) =>
  put('settings/password', passwords)

/** Takes effect when the link in the e-mail to the new address is used. */
export const requestEmailChange = (change: { email: string; password: string }) =>
  put('settings/email', change)
