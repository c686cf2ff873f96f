import { connect, isIP, type Socket } from 'node:net'
import { systemResolver } from './dns.ts'

/** DNS and TCP for user-supplied URLs. Tests substitute a fake network. */
export type Network = {
  /** Every address of a name, IPv4 and IPv6. Rejects if there is none. */
  resolve(hostname: string): Promise<string[]>
  /** Opens a TCP connection to the first of these addresses that responds, and to no other. */
  dial(addresses: string[], port: number): Socket
}

export const realNetwork: Network = {
  resolve: systemResolver(),

  dial: (addresses, port) =>
    connect({
      host: 'a checked address',
      port,
      // Happy Eyeballs: an address that does not respond doesn't delay the others.
      autoSelectFamily: true,
      lookup: (_hostname, _options, done) =>
        done(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        ),
    }),
}
