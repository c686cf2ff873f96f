/** An e-mail address with its display name, which may be empty. */
export type Mailbox = { name: string; address: string }

/** Any character but white space, controls, and those that separate addresses from each other and from names. */
const PART = '[^\\s@<>,;\\u0000-\\u001f\\u007f-\\u009f]+'

/** Exactly one address, without a name or line break. The mail server decides everything else. */
export const ADDRESS_PATTERN = `^${PART}@${PART}$`

const ADDRESS = new RegExp(ADDRESS_PATTERN, 'u')

/** Whether the text is exactly one e-mail address. */
export const isAddress = (text: string) => ADDRESS.test(text) && text.isWellFormed()

/** Parses `shop@cards.example` or `Card Shop <shop@cards.example>`; undefined for anything else. */
export function mailbox(text: string): Mailbox | undefined {
  const [, name = '', address = text] = /^([^<>\p{Cc}]*)<([^<>]*)>$/u.exec(text) ?? []
  if (!isAddress(address)) return undefined
  return { name: name.trim().replace(/^"(.*)"$/, '$1'), address }
}
