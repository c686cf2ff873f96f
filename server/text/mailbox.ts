/** An address, and what it's called. */
export type Mailbox = { name: string; address: string }

/** One address and nothing else: no second one, no name, no line break. What more makes an address the server knows. */
const ADDRESS = /^[^\s@<>,;\p{Cc}\p{Cs}]+@[^\s@<>,;\p{Cc}\p{Cs}]+$/u

export const isAddress = (text: string) => ADDRESS.test(text)

/** Reads `shop@cards.example` or `Card Shop <shop@cards.example>`; undefined when it's neither. */
export function mailbox(text: string): Mailbox | undefined {
  const [, name = '', address = text] = /^([^<>\p{Cc}]*)<([^<>]*)>$/u.exec(text) ?? []
  if (!isAddress(address)) return undefined
  return { name: name.trim().replace(/^"(.*)"$/, '$1'), address }
}
