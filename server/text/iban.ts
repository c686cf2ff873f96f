import { electronicFormatIBAN, isSEPACountry, isValidIBAN } from 'ibantools'

/**
 * Reads an IBAN with its spaces and in any case.
 *
 * @returns the IBAN as banks exchange it; undefined unless checksum and format are valid and the country is in SEPA
 */
export function parseIban(text: string): string | undefined {
  // Texts copied from a bank's page have no-break spaces, and marks of direction. The library knows only U+0020.
  const iban = electronicFormatIBAN(text.replace(/[\s\p{Cf}]+/gu, ''))
  return iban !== null && isValidIBAN(iban) && isSEPACountry(iban.slice(0, 2)) ? iban : undefined
}
