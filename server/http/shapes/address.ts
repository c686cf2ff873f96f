import Type, { type Static } from 'typebox'
import type { Address } from '../../text/address.ts'
import { COUNTRY, component, FilledText, Nullable, Text } from '../schema.ts'

export const AddressSchema = component(
  'Address',
  Type.Object(
    {
      full_name: Type.String(),
      street: Type.String(),
      house_number: Type.String(),
      house_number_suffix: Nullable(Type.String()),
      zip: Type.String(),
      city: Type.String(),
      country: Type.String({ description: 'ISO country code' }),
      phone: Nullable(Type.String()),
    },
    { description: 'A buyer’s delivery address.' },
  ),
)

/** Puts the fields in the published order: jsonb has an order of its own. */
export const addressJson = (address: Address): Address => ({
  full_name: address.full_name,
  street: address.street,
  house_number: address.house_number,
  house_number_suffix: address.house_number_suffix,
  zip: address.zip,
  city: address.city,
  country: address.country,
  phone: address.phone,
})

export const AddressInput = Type.Object({
  full_name: FilledText({ maxLength: 200 }),
  street: FilledText({ maxLength: 200 }),
  house_number: FilledText({ maxLength: 20 }),
  house_number_suffix: Type.Optional(Nullable(Text({ maxLength: 20 }))),
  zip: FilledText({ maxLength: 20 }),
  city: FilledText({ maxLength: 200 }),
  country: FilledText({ pattern: COUNTRY, description: 'ISO country code' }),
  phone: Type.Optional(Nullable(Text({ maxLength: 50 }))),
})

/** The address of a request as the domain has it: an optional field of blanks becomes null, the country has capitals. */
export const addressOf = (given: Static<typeof AddressInput>): Address => ({
  full_name: given.full_name,
  street: given.street,
  house_number: given.house_number,
  house_number_suffix: filled(given.house_number_suffix),
  zip: given.zip,
  city: given.city,
  country: given.country.toUpperCase(),
  phone: filled(given.phone),
})

const filled = (text: string | null | undefined) => (text?.trim() ? text : null)
