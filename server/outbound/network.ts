import { connect, isIP, type Socket } from 'node:net'
import { systemResolver } from './dns.ts'

/** DNS and TCP for user-supplied URLs. Tests substitute a fake network. */
export type Network = {
  /** The addresses of a name, IPv4 and IPv6. Rejects if there is none. */
  resolve(hostname: string): Promise<string[]>
  /** Opens a TCP connection to the first of these addresses that responds, and to no other. */
  dial(addresses: string[], port: number): Socket
}

/**
 * Time for one address to respond before Node gives it up and tries the next. A connection to another continent can take
 * longer than Node's default of 250 ms. A host that is so far away would be unreachable if its other addresses are, such
 * as the AAAA addresses on a machine without IPv6.
 */
const ATTEMPT_TIMEOUT_MS = 2_000

export const realNetwork: Network = {
  resolve: systemResolver(),

  dial: (addresses, port) =>
    connect({
      host: 'a checked address',
      port,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
      lookup: (_hostname, _options, done) =>
        done(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        ),
    }),
}
