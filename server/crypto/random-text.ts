import { randomInt } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** So many random letters and digits from the system's generator: about 238 bits in 40 of them. */
export function randomText(characters: number): string {
  let text = ''
  for (let i = 0; i < characters; i++) text += ALPHABET[randomInt(ALPHABET.length)]
  return text
}
