import { Resolver } from 'node:dns/promises'
import { hostsFile as openHostsFile } from './hosts-file.ts'

/** Time limit of one query; after it the next server is asked, or the same one again. */
const QUERY_TIMEOUT_MS = 2_000
const ATTEMPTS = 2
/** Time limit of a whole lookup, whatever the number of servers: half of a delivery attempt's. */
const LOOKUP_TIMEOUT_MS = 5_000
/** Addresses per family: a name can have thousands, each of which is checked, and tried if the former ones fail. */
const MAX_ADDRESSES = 8

type Options = {
  /** DNS servers as `address:port`. Default: the system's servers. */
  servers?: string[]
  hostsFile?: string
  queryTimeoutMs?: number
}

/** A failed lookup, with the codes of `dns.lookup`: EAI_AGAIN for a temporary failure, else ENOTFOUND. */
class DnsError extends Error {
  override name = 'DnsError'
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN'
  constructor(code: DnsError['code'], message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/**
 * Returns a resolver that reads `localhost` and the hosts file first, and then queries the DNS servers, without a cache
 * (§6.6.5). It returns IPv4 addresses first, and at most 8 addresses of each family from the servers.
 *
 * It does not use `dns.lookup`, which blocks one of two threads of the process during each lookup: two names whose
 * servers never respond would block all others.
 *
 * @throws DnsError within 5 seconds
 */
export function systemResolver({
  servers,
  hostsFile = '/etc/hosts',
  queryTimeoutMs = QUERY_TIMEOUT_MS,
}: Options = {}): (hostname: string) => Promise<string[]> {
  const hosts = openHostsFile(hostsFile)
  return async (hostname) => {
    const name = hostname.toLowerCase().replace(/\.$/, '')
    // Always the loopback address, whatever a DNS server says (RFC 6761).
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1']
    return hosts(name) ?? queryServers(hostname, queryTimeoutMs, servers)
  }
}

/** Errors that mean that the name has no address, or (EBADNAME) that it is not a valid name. */
const NO_SUCH_NAME = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

async function queryServers(
  hostname: string,
  queryTimeoutMs: number,
  servers: string[] | undefined,
): Promise<string[]> {
  // A new resolver for each lookup, which costs 25 µs: a shared one adapts its timeout to fast responses, and so would
  // abandon a slow name after half a second. It would also keep using the servers that the system had at the start.
  const resolver = new Resolver({
    timeout: queryTimeoutMs,
    maxTimeout: queryTimeoutMs,
    tries: ATTEMPTS,
  })
  if (servers) resolver.setServers(servers)
  let isOver = false
  const limit = setTimeout(() => {
    isOver = true
    resolver.cancel()
  }, LOOKUP_TIMEOUT_MS)
  try {
    for (let left = resolver.getServers(); ; resolver.setServers(left)) {
      const answers = await Promise.allSettled([
        resolver.resolve4(hostname),
        resolver.resolve6(hostname),
      ])
      // One address family is enough. An attacker who makes the other one fail to hide a private address gains nothing:
      // connections only go to the addresses returned here, and all of them are checked.
      const addresses = answers.flatMap((answer) =>
        answer.status === 'fulfilled' ? answer.value.slice(0, MAX_ADDRESSES) : [],
      )
      if (addresses.length > 0) return addresses

      const reasons = answers.flatMap((answer) =>
        answer.status === 'rejected' ? answer.reason : [],
      )
      const failure = reasons.find(({ code }) => !NO_SUCH_NAME.has(code))
      if (!failure) throw new DnsError('ENOTFOUND', `${hostname} has no address.`, reasons[0])
      // c-ares tries the next server by itself if one is silent or unreachable, but not if it responds with a failure.
      left = left.slice(1)
      if (isOver || left.length === 0) {
        throw new DnsError('EAI_AGAIN', `${hostname} could not be looked up.`, failure)
      }
    }
  } finally {
    clearTimeout(limit)
  }
}
