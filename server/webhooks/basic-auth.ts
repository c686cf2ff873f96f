/** A name and password in the URL are sent as a browser would. */
export function credentialsIn({
  username,
  password,
}: Pick<URL, 'username' | 'password'>): Record<string, string> {
  if (!username && !password) return {}
  const bytes = Buffer.from(`${decoded(username)}:${decoded(password)}`, 'latin1')
  return { authorization: `Basic ${bytes.toString('base64')}` }
}

/** Each character is one byte, UTF-8 or not. A percent sign that means itself is taken as that. */
const decoded = (part: string) =>
  part.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
