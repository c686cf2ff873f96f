import { connect, isIP, type Socket } from 'node:net'
import { systemResolver } from './dns.ts'

/** The world outside, as requests to addresses of others reach it. A test puts a pretend internet in its place. */
export type Network = {
  /** Every address of a name, IPv4 and IPv6. Rejects when there is none. */
  resolve(hostname: string): Promise<string[]>
  /** Begins a TCP connection to whichever of these addresses answers; no other is ever tried. */
  dial(addresses: string[], port: number): Socket
}

/** The real one. */
export const realNetwork: Network = {
  resolve: systemResolver(),

  dial: (addresses, port) =>
    connect({
      host: 'a checked address',
      port,
      // Node goes through them as browsers do: one that's dead doesn't hold up the others.
      autoSelectFamily: true,
      lookup: (_hostname, _options, done) =>
        done(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        ),
    }),
}
