import type { Bytes } from '../catalog/bytes.ts'

/**
 * The UTF-8 bytes of a text as Latin-1 text, one character for each byte: a response is joined of such parts, and encoded by
 * one copy.
 */
export const bytesAsText = (text: string): string =>
  /[^\x00-\x7f]/.test(text) ? Buffer.from(text).toString('latin1') : text

/** The bytes of such a text, which are copied without a buffer in between. */
export const bytesOf = (text: string): Bytes => ({
  length: text.length,
  copy: (target, at) => target.write(text, at, 'latin1'),
})
