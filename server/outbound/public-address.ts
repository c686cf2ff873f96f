import ipaddr from 'ipaddr.js'

/**
 * The protection against server-side request forgery through user-supplied URLs (webhook endpoints, photos). Names are
 * never looked up here: `refusalOfUrl` checks the text of a URL at its registration (§4.16.2), and `isPublicAddress`
 * the addresses that it resolves to at each use (§6.6.5).
 */

/** Maximum length of a URL in code points (§4.16). The caller's schema enforces it. */
export const MAX_URL_LENGTH = 2048

/**
 * The reason why a URL cannot be registered, to follow the field's name ("The url field …"); undefined for a valid one.
 * It must be http or https, and its host must not be a private or reserved address in any notation. A name is valid
 * whatever it resolves to.
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
 * Parses an http or https URL like a browser: `http:\\0x7f.1` is http://127.0.0.1/. Undefined for other texts. The
 * conversion of a Unicode host takes time quadratic in the length of a label (10 ms for 2,000 characters), so a host
 * that is too long for DNS is rejected before it is parsed.
 */
export function webAddress(text: string): URL | undefined {
  if (text.length > 2 * MAX_URL_LENGTH) return undefined
  // The URL parser removes tabs and line breaks everywhere, and spaces at both ends.
  const host = HOST.exec(text.replace(/[\t\n\r]/g, '').trim())?.[1]
  if (host === undefined || host.length > MAX_HOST_LENGTH) return undefined
  if (host.split('.').some((label) => label.length > MAX_LABEL_LENGTH)) return undefined
  if (host.replace(ASCII, '').length > MAX_NON_ASCII_CHARACTERS) return undefined
  const url = URL.parse(text)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined
  return canBeResolved(url.hostname) ? url : undefined
}

/** Whether a host name fits into DNS: at most 253 characters, in labels of 1 to 63. An IP address does. */
function canBeResolved(hostname: string): boolean {
  const name = hostname.replace(/\.+$/, '')
  return name.length <= 253 && name.split('.').every((label) => /^.{1,63}$/.test(label))
}

const HOST = /^https?:[/\\]*(?:[^/\\?#]*@)?([^/\\?#]*)/i
/** A DNS name of 253 characters, and a port. */
const MAX_HOST_LENGTH = 260
/** A DNS label of 63 characters, and a port. */
const MAX_LABEL_LENGTH = 70
/** Each takes at least two ASCII characters in Punycode, so a name of 253 characters cannot hold more. */
const MAX_NON_ASCII_CHARACTERS = 126
const ASCII = /[\x00-\x7f]+/g

/**
 * The IP address in a URL's host; undefined for a name.
 *
 * @param hostname as normalized by `URL`, with or without the brackets of IPv6
 */
export function literalAddress(hostname: string): string | undefined {
  // `URL` removes one trailing dot; with more of them it treats an address as a name.
  const address = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '')
  // No notation of an address has these letters. Parsing every name would cost as much as signing a delivery.
  if (/[g-wyz]/i.test(address)) return undefined
  return ipaddr.isValid(address) ? ipaddr.parse(address).toString() : undefined
}

/**
 * Whether an IP address belongs to the public internet: not multicast, not reserved, and not in a block that the IANA
 * special-purpose registries list as not globally reachable. False for texts that are not addresses.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  // On a network without IPv4, IPv4 hosts have such addresses (DNS64): the embedded IPv4 address decides.
  if (isIPv6(parsed) && parsed.match(NAT64)) {
    return isPublicAddress(parsed.toByteArray().slice(12).join('.'))
  }
  return !NOT_PUBLIC.some((block) => parsed.kind() === block[0].kind() && parsed.match(block))
}

const isIPv6 = (address: ipaddr.IPv4 | ipaddr.IPv6): address is ipaddr.IPv6 =>
  address.kind() === 'ipv6'

const NAT64 = ipaddr.parseCIDR('64:ff9b::/96')

/**
 * Blocks by their names in https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry.
 * 192.0.0.0/24 and 2001::/23 are blocked as a whole: their few reachable anycast services host no photos or webhooks.
 * AS112 and AMT are missing because they are globally reachable.
 */
const NOT_PUBLIC_BY_NAME = {
  'this network': ['0.0.0.0/8'],
  'private use': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  'shared address space': ['100.64.0.0/10'],
  loopback: ['127.0.0.0/8', '::1/128'],
  // Includes the metadata services of cloud providers.
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
  // These embed IPv4 addresses, which may be private.
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
  // Public IPv6 addresses are in 2000::/3; the IETF reserves the rest.
  'reserved by the IETF': ['::/3', '4000::/2', '8000::/1'],
}

const NOT_PUBLIC = Object.values(NOT_PUBLIC_BY_NAME)
  .flat()
  .map((block) => ipaddr.parseCIDR(block))
