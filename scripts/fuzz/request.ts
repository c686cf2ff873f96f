import type { Operation } from './operations.ts'

/** A well-formed HTTP request in parts, so that a failing request can be shrunk. */
export type Request = {
  method: string
  target: string
  headers: [name: string, value: string][]
  body?: Buffer
  /** The operation it was generated for; a mutated method or target can reach a different one. */
  operation: Operation
  /** Path ids by collection: `/accounts/7/keys/3` has accounts 7 and keys 3. */
  ids: Record<string, string>
  /** The shop whose key it carries. */
  accountId?: number
  sellerKey?: string | undefined
  /** Whether it carries a valid key or token of the operation's API. */
  hasValidKey: boolean
}

/** The bytes on the wire. */
export function bytesOf({ method, target, headers, body }: Request): Buffer {
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost']
  for (const [name, value] of headers) lines.push(`${name}: ${value}`)
  if (body && !names.has('content-length')) lines.push(`Content-Length: ${body.length}`)
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'utf8'), body ?? EMPTY])
}

const EMPTY = Buffer.alloc(0)

/** A shell command that sends exactly these bytes. */
export function commandFor(bytes: Buffer, port: number): string {
  const escaped = bytes
    .toString('latin1')
    .replace(/[^\x20-\x7e]|[\\'%]/g, (character) => ESCAPES[character] ?? octal(character))
  return `printf '${escaped}' | nc 127.0.0.1 ${port}`
}

const octal = (character: string) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`
const ESCAPES: Record<string, string> = { '\r': '\\r', '\n': '\\n', '\\': '\\\\', '%': '%%' }
