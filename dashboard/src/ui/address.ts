import type { Address } from '../../../server/text/address.ts'

/** The lines of an address on a label. */
export const addressLines = (address: Address): string[] => [
  address.full_name,
  [address.street, address.house_number, address.house_number_suffix].filter(Boolean).join(' '),
  `${address.zip} ${address.city}`,
  address.country.toUpperCase(),
]
