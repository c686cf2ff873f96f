import ipaddr from 'ipaddr.js'

/**
 * The one guard between addresses that others give us (webhook endpoints, photos) and the networks that this
 * machine can reach. Names are never looked up here: `refusalOfUrl` judges what a URL says when it's registered
 * (§4.16.2), `isPublicAddress` what it points to when it's used (§6.6.5).
 */

/** The longest URL that is taken, in code points (§4.16). The caller's schema checks it. */
export const MAX_URL_LENGTH = 2048

/**
 * Why this URL can't be registered, to be put after the field's name ("The url field …"), or undefined when it can:
 * it must be http or https, and its host must not be a private or reserved address in any spelling. A name is
 * accepted whatever it resolves to.
 */
export function refusalOfUrl(text: string): string | undefined {
  const url = webAddress(text)
  if (!url) return 'must be a public http or https URL.'
  const address = literalAddress(url.hostname)
  if (address !== undefined && !isPublicAddress(address)) {
    return 'must not point to a private or reserved address.'
  }
  return undefined
}

/**
 * The URL, when it's http or https. Parsed as a browser would: `http:\\0x7f.1` is http://127.0.0.1/. Converting a
 * host from Unicode takes time quadratic in the length of a label (10 ms for 2,000 characters), so a host that is too
 * long for DNS is refused before it is parsed.
 */
export function webAddress(text: string): URL | undefined {
  if (text.length > 2 * MAX_URL_LENGTH) return undefined
  // The parser drops these three anywhere, and spaces at both ends.
  const host = HOST.exec(text.replace(/[\t\n\r]/g, '').trim())?.[1]
  if (host === undefined || host.length > MAX_HOST_LENGTH) return undefined
  if (host.split('.').some((label) => label.length > MAX_LABEL_LENGTH)) return undefined
  if (host.replace(ASCII, '').length > MAX_NON_ASCII_CHARACTERS) return undefined
  const url = URL.parse(text)
  return url && (url.protocol === 'http:' || url.protocol === 'https:') ? url : undefined
}

const HOST = /^https?:[/\\]*(?:[^/\\?#]*@)?([^/\\?#]*)/i
/** A DNS name of 253 characters, and a port. */
const MAX_HOST_LENGTH = 260
/** A DNS label of 63 characters, and a port. */
const MAX_LABEL_LENGTH = 70
/** Each takes at least one more in ASCII, most take three: a name of 253 has no room for more. */
const MAX_NON_ASCII_CHARACTERS = 126
const ASCII = /[\x00-\x7f]+/g

/**
 * The IP address that stands in a URL instead of a name, or undefined for a name.
 *
 * @param hostname as `URL` normalises it; the brackets of IPv6 may be there or not
 */
export function literalAddress(hostname: string): string | undefined {
  // One dot at the end is gone by now; with more of them URL takes an address for a name.
  const address = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '')
  // No spelling of an address has these; to parse every name would cost as much as to sign a delivery.
  if (/[g-wyz]/i.test(address)) return undefined
  return ipaddr.isValid(address) ? ipaddr.parse(address).toString() : undefined
}

/**
 * Whether an IP address belongs to the public internet: not in a block that the IANA special-purpose registries call
 * not globally reachable, not multicast, not reserved. What isn't an address is not public.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  // On a network without IPv4 the whole IPv4 internet looks like this (DNS64): what's embedded counts.
  if (isIPv6(parsed) && parsed.match(NAT64)) {
    return isPublicAddress(parsed.toByteArray().slice(12).join('.'))
  }
  return !NOT_PUBLIC.some((block) => parsed.kind() === block[0].kind() && parsed.match(block))
}

const isIPv6 = (address: ipaddr.IPv4 | ipaddr.IPv6): address is ipaddr.IPv6 =>
  address.kind() === 'ipv6'

const NAT64 = ipaddr.parseCIDR('64:ff9b::/96')

/**
 * By name: https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry. The few
 * anycast services inside of 192.0.0.0/24 and 2001::/23 that are reachable host no pictures and take no webhooks:
 * those blocks are refused as a whole. AS112 and AMT are globally reachable, so they aren't here.
 */
const NOT_PUBLIC_BY_NAME = {
  'this network': ['0.0.0.0/8'],
  'private use': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  'shared address space': ['100.64.0.0/10'],
  loopback: ['127.0.0.0/8', '::1/128'],
  // Where clouds keep their metadata services.
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  'IETF protocol assignments': ['192.0.0.0/24', '2001::/23'],
  documentation: [
    '192.0.2.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001:db8::/32',
    '3fff::/20',
  ],
  '6to4 relay anycast, deprecated': ['192.88.99.0/24'],
  benchmarking: ['198.18.0.0/15', '2001:2::/48'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  'reserved, and broadcast': ['240.0.0.0/4'],

  unspecified: ['::/128'],
  // Would reach IPv4 addresses by a side door.
  'IPv4-mapped': ['::ffff:0:0/96'],
  'IPv4-compatible, deprecated': ['::/96'],
  'IPv4-translated': ['::ffff:0:0:0/96'],
  'local-use NAT64': ['64:ff9b:1::/48'],
  teredo: ['2001::/32'],
  '6to4': ['2002::/16'],
  'discard-only, and dummy': ['100::/64', '100:0:0:1::/64'],
  ORCHID: ['2001:10::/28'],
  'segment routing': ['5f00::/16'],
  'unique local': ['fc00::/7'],
  'site-local, deprecated': ['fec0::/10'],
  // The internet's IPv6 is 2000::/3; the rest is kept by the IETF for times to come.
  'reserved by the IETF': ['::/3', '4000::/2', '8000::/1'],
}

const NOT_PUBLIC = Object.values(NOT_PUBLIC_BY_NAME)
  .flat()
  .map((block) => ipaddr.parseCIDR(block))
