import Type, { type Static } from 'typebox'
import { changeAccount, changeOwnShippingOptions } from '../../accounts/accounts.ts'
import { setHoliday } from '../../accounts/holiday.ts'
import { PASSWORD_LENGTH } from '../../members/password.ts'
import { changePassword, requestEmailChange } from '../../members/sign-in.ts'
import type { Service } from '../../service.ts'
import type { App } from '../schema.ts'
import { FilledText } from '../schema.ts'
import {
  Email,
  HolidayBody,
  ShippingOptionsBody,
  type ShippingOptionsInput,
  ShopName,
  shippingOptions,
  shippingOptionsVersion,
} from '../shapes/account.ts'
import { limitAttempts, limitEmailChanges } from '../sign-in-limits.ts'

const ShopInput = Type.Partial(
  Type.Object({
    shop_name: ShopName(),
    time_zone: FilledText({ maxLength: 64 }),
  }),
)
const PasswordInput = Type.Object({
  password: FilledText({ maxLength: 1_000 }),
  new_password: FilledText({ minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max }),
})
const EmailInput = Type.Object({
  email: Email(),
  password: FilledText({ maxLength: 1_000 }),
})

const ShippingOptionsChange = Type.Object({
  ...ShippingOptionsBody.properties,
  version: Type.Optional(
    Type.String({
      description:
        '`shipping_options_version` of the list that is replaced. 409 if it is not the current one',
    }),
  ),
})

export type ShopChanges = Static<typeof ShopInput>
export type ShippingOptionsRecord = Static<typeof ShippingOptionsInput>

const saved = { 204: Type.Null() }

/** Changes of the member's shop and sign-in. `/me` has the current state. */
export function settingsApi(app: App, ctx: Service): void {
  app.patch(
    '/settings/shop',
    { schema: { body: ShopInput, response: saved } },
    async ({ member, body }, reply) => {
      const { shop_name: shopName, time_zone: timeZone } = body
      await changeAccount(ctx, member.accountId, { shopName, timeZone })
      return reply.code(204).send(null)
    },
  )

  app.put(
    '/settings/shipping-options',
    { schema: { body: ShippingOptionsChange, response: saved } },
    async ({ member, body: { shipping_options, version } }, reply) => {
      const options = shippingOptions(shipping_options)
      await changeOwnShippingOptions(
        ctx,
        member.accountId,
        options,
        (former) => version === undefined || version === shippingOptionsVersion(former),
      )
      return reply.code(204).send(null)
    },
  )

  app.put(
    '/settings/holiday',
    {
      // The holiday is committed before the wait for running checkouts.
      config: { audit: 'begun and ended' },
      schema: { body: HolidayBody, response: saved },
    },
    async ({ member, body }, reply) => {
      await setHoliday(ctx, member.accountId, body.on)
      return reply.code(204).send(null)
    },
  )

  app.put(
    '/settings/password',
    {
      config: { audit: 'begun and ended' },
      schema: { body: PasswordInput, response: saved },
    },
    async (request, reply) => {
      const { member, body } = request
      const passwords = { current: body.password, next: body.new_password }
      await limitAttempts(ctx, request, member.email, () => changePassword(ctx, member, passwords))
      return reply.code(204).send(null)
    },
  )

  // Takes effect when the link in the e-mail to the new address is used.
  app.put(
    '/settings/email',
    {
      config: { audit: 'begun and ended' },
      schema: { body: EmailInput, response: { 202: Type.Object({}) } },
    },
    async (request, reply) => {
      const { member, body } = request
      await limitEmailChanges(ctx, member.id, body.email, () =>
        limitAttempts(ctx, request, member.email, () => requestEmailChange(ctx, member, body)),
      )
      return reply.code(202).send({})
    },
  )
}
