import { Resolver } from 'node:dns/promises'
import { hostsFile as openHostsFile } from './hosts-file.ts'

/** How long one DNS server has for its answer before the next one, or the same once more, is asked. */
const QUERY_TIMEOUT_MS = 2_000
const ATTEMPTS = 2
/** The whole look-up, however many servers there are: half of what an attempt to deliver has. */
const LOOKUP_TIMEOUT_MS = 5_000

type Options = {
  /** DNS servers as `address:port`; those of the system unless given. */
  servers?: string[]
  hostsFile?: string
  queryTimeoutMs?: number
}

/** Codes are those that `dns.lookup` has: ENOTFOUND, or EAI_AGAIN for what may be otherwise in a while. */
export class DnsError extends Error {
  override name = 'DnsError'
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN'
  constructor(code: DnsError['code'], message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/**
 * Looks names up: `localhost` is this machine, what the hosts file knows is answered from there, the DNS servers are
 * asked for everything else, anew each time (§6.6.5). Answers every address, IPv4 first.
 *
 * Not by `dns.lookup`: that waits in one of two threads of the whole process, so that two names whose servers never
 * answer would hold up all others.
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
    // Whatever anybody else says of it (RFC 6761).
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1']
    return hosts(name) ?? queryServers(hostname, queryTimeoutMs, servers)
  }
}

/** What the servers say when they know that there is nothing, and c-ares when a name can't be one. */
const NO_SUCH_NAME = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

async function queryServers(
  hostname: string,
  queryTimeoutMs: number,
  servers: string[] | undefined,
): Promise<string[]> {
  // One for each look-up, which costs 25 µs: a resolver that is kept learns how fast answers come, and gives up a slow
  // name after half a second among fast ones. It would also go on with the servers that the system had at its start.
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
      // When only one family came, it counts. Whoever lets the other fail to hide a private address from the guard
      // gains nothing: the connection only goes to addresses from here, and the guard sees all of them.
      const addresses = answers.flatMap((answer) =>
        answer.status === 'fulfilled' ? answer.value : [],
      )
      if (addresses.length > 0) return addresses

      const reasons = answers.flatMap((answer) =>
        answer.status === 'rejected' ? answer.reason : [],
      )
      const failure = reasons.find(({ code }) => !NO_SUCH_NAME.has(code))
      if (!failure) throw new DnsError('ENOTFOUND', `${hostname} has no address.`, reasons[0])
      // c-ares goes on by itself where a server is silent or gone, but not where it answers with a failure.
      left = left.slice(1)
      if (isOver || left.length === 0) {
        throw new DnsError('EAI_AGAIN', `${hostname} could not be looked up.`, failure)
      }
    }
  } finally {
    clearTimeout(limit)
  }
}
