/**
 * Reads the body of a response. Nothing beyond `maxBytes` is read: leaving the loop closes the connection.
 *
 * @throws the error that `tooLarge` makes for a larger body
 */
export async function readBody(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
