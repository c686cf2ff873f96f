import ipaddr from 'ipaddr.js'

/** An address with a port, which some proxies write into X-Forwarded-For (Azure Application Gateway, IIS). */
const WITH_PORT = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/

/**
 * The subject of an address's rate limit: an IPv4 address itself, and the /64 of an IPv6 address, because every customer
 * has at least a /64 and could use a new address for each request. Clients that disconnected before their address was
 * read have none, and share one subject.
 */
export function addressSubject(address = ''): string {
  const [, ipv6, ipv4] = WITH_PORT.exec(address) ?? []
  const text = ipv6 ?? ipv4 ?? address
  if (!ipaddr.isValid(text)) return 'unknown'
  const parsed = ipaddr.process(text)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = parsed.parts.slice(0, 4).map((group) => group.toString(16))
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
