/**
 * Whom an address counts for: an IPv4 address for itself, an IPv6 address for its /64, which is what one customer
 * gets at least. Otherwise one machine could be as many callers as it likes. A client that was gone before its
 * address could be read has none; all of them count together.
 */
export function addressSubject(address: string | undefined): string {
  if (address === undefined) return 'unknown'
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped) return mapped[1]!
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('%', 1)[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? 0 : tail.split(':').length
    while (groups.length + rest < 8) groups.push('0')
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}
