/**
 * The subject of an address's rate limit: an IPv4 address itself, and the /64 of an IPv6 address, because every customer
 * has at least a /64 and could use a new address for each request. Clients that disconnected before their address was
 * read have none, and share one subject.
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

/**
 * The networks that an address counts for, with the factors of their limits. Providers give a customer up to 256 or 65,536
 * networks of 64 bits. A larger network may have several customers, so no single /64 can use up its limit.
 */
export function addressNetworks(
  address: string | undefined,
): { subject: string; factor: number }[] {
  const subject = addressSubject(address)
  const own = { subject, factor: 1 }
  if (!subject.endsWith('::/64')) return [own]
  const groups = subject.slice(0, -'::/64'.length).split(':')
  const site = groups.slice(0, 3).join(':')
  const subnet = (Number.parseInt(groups[3]!, 16) & 0xff00).toString(16)
  return [
    own,
    { subject: `${site}:${subnet}::/56`, factor: 4 },
    { subject: `${site}::/48`, factor: 16 },
  ]
}
