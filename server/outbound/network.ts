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
 * Time for one address to respond before the next is tried. Node then gives up the former address. Its default of 250 ms
 * is less than a connection to another continent can take, and such a host would be unreachable if its other addresses
 * are: a machine without IPv6 can't reach any AAAA address.
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
