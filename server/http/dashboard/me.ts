import Type, { type Static } from 'typebox'
import { getAccount } from '../../accounts/accounts.ts'
import type { Service } from '../../service.ts'
import { timestamp } from '../../time/timestamp.ts'
import type { App } from '../schema.ts'
import { Data, Nullable, Timestamp } from '../schema.ts'
import { AccountSchema, accountJson, shippingOptionsVersion } from '../shapes/account.ts'

const MeSchema = Type.Object({
  id: Type.Integer({ description: 'The member’s id' }),
  email: Type.String(),
  account: Type.Intersect([
    AccountSchema,
    Type.Object({
      time_zone: Type.String(),
      on_holiday: Type.Boolean(),
      shipping_options_version: Type.String(),
    }),
  ]),
  sandbox: Type.Boolean(),
  buys_labels: Type.Boolean({ description: 'Whether a carrier charges for labels' }),
  sends_mail: Type.Boolean({ description: 'Whether a mail server gets the e-mail' }),
  shop_url: Nullable(Type.String(), {
    description:
      'The public page of the shop; null while buyers don’t see the shop, and if no site has such pages',
  }),
  now: Timestamp({ description: 'The service’s time, which the sandbox can move' }),
})

/** The member who is signed in, their shop, and the service. */
export type Me = Static<typeof MeSchema>

export function meApi(app: App, ctx: Service): void {
  const { sandbox, carrier, smtpUrl, hasMarketplace, marketplaceUrl } = ctx.config
  app.get(
    '/me',
    { schema: { response: { 200: Data(MeSchema, 'The member and their shop') } } },
    async ({ member }) => {
      const account = await getAccount(ctx, member.accountId)
      const { id, email } = member
      const { timeZone: time_zone, onHoliday: on_holiday, isShown } = account
      const shop = {
        ...accountJson(account),
        time_zone,
        on_holiday,
        shipping_options_version: shippingOptionsVersion(account.shippingOptions),
      }
      return {
        data: {
          id,
          email,
          account: shop,
          sandbox,
          buys_labels: carrier === 'sendcloud',
          sends_mail: smtpUrl !== undefined,
          shop_url: hasMarketplace && isShown ? `${marketplaceUrl}/shops/${account.slug}` : null,
          now: timestamp(ctx.now()),
        },
      }
    },
  )
}
