import { electronicFormatIBAN, isSEPACountry, isValidIBAN } from 'ibantools'

/** Countries that joined SEPA in 2024 and 2025, which the list of ibantools 4.5.4 lacks. */
const JOINED_LATER = new Set(['AL', 'MD', 'ME', 'MK', 'RS'])

const isInSepa = (country: string) => isSEPACountry(country) || JOINED_LATER.has(country)

/**
 * Reads an IBAN with its spaces and in any case.
 *
 * @returns the IBAN as banks exchange it; undefined unless checksum and format are valid and the country is in SEPA
 */
export function parseIban(text: string): string | undefined {
  // Texts copied from a bank's page have no-break spaces, and marks of direction. The library knows only U+0020.
  const iban = electronicFormatIBAN(text.replace(/[\s\p{Cf}]+/gu, ''))
  return iban !== null && isValidIBAN(iban) && isInSepa(iban.slice(0, 2)) ? iban : undefined
}
