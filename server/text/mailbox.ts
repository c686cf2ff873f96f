/** An e-mail address with its display name, which may be empty. */
export type Mailbox = { name: string; address: string }

/** Exactly one address, without a name or line break. The mail server decides everything else. */
const ADDRESS = /^[^\s@<>,;\p{Cc}\p{Cs}]+@[^\s@<>,;\p{Cc}\p{Cs}]+$/u

/** Whether the text is exactly one e-mail address. */
export const isAddress = (text: string) => ADDRESS.test(text)

/** Parses `shop@cards.example` or `Card Shop <shop@cards.example>`; undefined for anything else. */
export function mailbox(text: string): Mailbox | undefined {
  const [, name = '', address = text] = /^([^<>\p{Cc}]*)<([^<>]*)>$/u.exec(text) ?? []
  if (!isAddress(address)) return undefined
  return { name: name.trim().replace(/^"(.*)"$/, '$1'), address }
}
