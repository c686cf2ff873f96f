/** Bytes of a response, which are copied to where they are needed. A `Buffer` is one. */
export type Bytes = { readonly length: number; copy(target: Buffer, at: number): unknown }

/** The bytes in a buffer of their own. */
export function bufferOf(bytes: Bytes): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes
  const target = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(target, 0)
  return target
}
