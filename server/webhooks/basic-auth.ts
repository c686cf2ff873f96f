/** The Authorization header for a user name and password in a URL, as a browser sends it. */
export function credentialsIn({
  username,
  password,
}: Pick<URL, 'username' | 'password'>): Record<string, string> {
  if (!username && !password) return {}
  const bytes = Buffer.from(`${decoded(username)}:${decoded(password)}`, 'latin1')
  return { authorization: `Basic ${bytes.toString('base64')}` }
}

/** Percent-decodes to bytes, one per character, valid UTF-8 or not. A `%` without two hex digits stays as it is. */
const decoded = (text: string) =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
