import Type from 'typebox'
import { changeOwnShippingOptions, getAccount } from '../../accounts/accounts.ts'
import { setHoliday } from '../../accounts/holiday.ts'
import type { Service } from '../../service.ts'
import type { App } from '../schema.ts'
import { Data } from '../schema.ts'
import {
  exampleShippingOptions,
  HolidayBody,
  HolidaySchema,
  OwnShippingOptionSchema,
  ownShippingOptionJson,
  ShippingOptionsBody,
  shippingOptions,
} from '../shapes/account.ts'

const OPTIONS = Data(Type.Array(OwnShippingOptionSchema), 'Your shipping options, in their order')
const HOLIDAY = Data(HolidaySchema, 'The holiday mode')

export function shippingOptionRoutes(app: App, ctx: Service): void {
  app.get(
    '/shipping-options',
    {
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'listShippingOptions',
        summary: 'List your shipping options',
        tags: ['Shop'],
        response: { 200: OPTIONS },
        'x-example': { data: exampleShippingOptions },
      },
    },
    async ({ caller }) => {
      const account = await getAccount(ctx, caller.account.id)
      return { data: account.shippingOptions.map(ownShippingOptionJson) }
    },
  )

  app.put(
    '/shipping-options',
    {
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'replaceShippingOptions',
        summary: 'Replace your shipping options',
        description:
          'Buyers see enabled options in this order, and the first one is used for those who choose none. A buyer cannot choose an option whose `countries` or `max_value` do not fit the address or the value of the goods; without an address, only options for all countries fit. Orders keep the option with which they were placed. A new option with the fulfilment `platform` fails with 422 if the marketplace sells no labels.',
        tags: ['Shop'],
        body: ShippingOptionsBody,
        response: { 200: OPTIONS },
        'x-errors': ['validation_error'],
        'x-example': { data: exampleShippingOptions },
      },
    },
    async ({ caller, body }) => {
      const options = shippingOptions(body.shipping_options)
      await changeOwnShippingOptions(ctx, caller.account.id, options)
      return { data: options.map(ownShippingOptionJson) }
    },
  )
}

export function holidayRoutes(app: App, ctx: Service): void {
  app.get(
    '/holiday',
    {
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'getHoliday',
        summary: 'Read whether your shop is on holiday',
        tags: ['Shop'],
        response: { 200: HOLIDAY },
        'x-example': { data: { on: false } },
      },
    },
    async ({ caller }) => {
      const { onHoliday } = await getAccount(ctx, caller.account.id)
      return { data: { on: onHoliday } }
    },
  )

  app.put(
    '/holiday',
    {
      config: { scope: 'listings:write' },
      schema: {
        operationId: 'setHoliday',
        summary: 'Begin or end a holiday of your shop',
        description:
          'On holiday, buyers see neither the shop nor its offers, and nothing can be reserved or ordered. Your listings keep their status, and open orders stay as they are. Once the response arrives, no order is placed until the holiday ends.',
        tags: ['Shop'],
        body: HolidayBody,
        response: { 200: HOLIDAY },
        'x-errors': ['validation_error'],
        'x-example': { data: { on: true } },
      },
    },
    async ({ caller, body: { on } }) => {
      await setHoliday(ctx, caller.account.id, on)
      return { data: { on } }
    },
  )
}
