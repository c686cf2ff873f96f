import { domainToASCII, domainToUnicode } from 'node:url'

/** An e-mail address with its display name, which may be empty. */
export type Mailbox = { name: string; address: string }

/** Any character but white space, controls, and those that separate addresses from each other and from names. */
const PART = '[^\\s@<>,;\\u0000-\\u001f\\u007f-\\u009f]+'

/** Exactly one address, without a name or line break. The mail server decides everything else. */
export const ADDRESS_PATTERN = `^${PART}@${PART}$`

const ADDRESS = new RegExp(ADDRESS_PATTERN, 'u')

/** Whether the text is exactly one e-mail address. */
export const isAddress = (text: string) => ADDRESS.test(text) && text.isWellFormed()

/** The longest name in DNS. */
const MAX_DOMAIN = 253

/** The address with the ASCII form (Punycode) of its domain. */
export function withAsciiDomain(address: string): string {
  const begin = address.lastIndexOf('@') + 1
  const domain = address.slice(begin)
  if (/^[\0-\x7f]*$/.test(domain) || domain.length > MAX_DOMAIN) return address
  return address.slice(0, begin) + (domainToASCII(domain) || domain)
}

/** The address as it is, and with both forms of its domain, ASCII (Punycode) and Unicode, which mean one mailbox. */
export function spellingsOf(address: string): string[] {
  const begin = address.lastIndexOf('@') + 1
  const ascii = withAsciiDomain(address)
  // Node would also take `1.2` for the IP address 1.0.0.2.
  const domain = /xn--/i.test(ascii) ? domainToUnicode(ascii.slice(begin)) : ''
  return [...new Set([address, ascii, address.slice(0, begin) + (domain || address.slice(begin))])]
}

/**
 * One text for the spellings of an address that PostgreSQL's `lower` takes for one, which converts each character on its
 * own and `İ` to `i`, and for both forms of its domain.
 */
export const canonicalAddress = (address: string): string =>
  withAsciiDomain(Array.from(address, lowerCase).join(''))

const lowerCase = (character: string) =>
  String.fromCodePoint(character.toLowerCase().codePointAt(0)!)

/** Parses `shop@cards.example` or `Card Shop <shop@cards.example>`; undefined for anything else. */
export function mailbox(text: string): Mailbox | undefined {
  const [, name = '', address = text] = /^([^<>\p{Cc}]*)<([^<>]*)>$/u.exec(text) ?? []
  if (!isAddress(address)) return undefined
  return { name: name.trim().replace(/^"(.*)"$/, '$1'), address }
}
